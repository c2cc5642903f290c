"""The pipeline that studies of one pipeline are shown under while nobody has changed a control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.aggregate.aggregation import Aggregator, cross_fits
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.studies.contest.averaged import AVERAGE
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix

OFFERED: tuple[Calibrator, ...] = ("beta", "temperature", "none")
"""Calibrators that pages offer; the first is that of the paper's default."""
REFITTED = 20
"""Most splits of a study that fits a cross-fitted aggregator many times in each of them."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline on the best ``panel`` judges, None for all: the paper's default.

    ``recommended`` where it is the heaviest member of the recommended average: studies that can
    show the average itself do.
    """

    aggregator: Aggregator = "one_coin"
    calibrator: Calibrator = "beta"
    panel: int | None = None
    recommended: bool = field(default=False, compare=False)


def pipeline_of(recommendation: Recommendation | None) -> Pipeline:
    """The heaviest recommended pipeline; the paper's default without a recommendation."""
    if recommendation is None:
        return Pipeline()
    main = recommendation.model.main
    everyone = len(main.judges) == recommendation.n_judges
    panel = None if everyone else len(main.judges)
    return Pipeline(main.aggregator, main.calibrator, panel, recommended=True)


def affordable_splits(settings: Settings, aggregator: Aggregator) -> Settings:
    """Fewer splits, where an aggregator is fitted many times in each of them."""
    if not cross_fits(aggregator):
        return settings
    return replace(settings, splits=min(settings.splits, REFITTED))


def panel_spec(kind: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """The specs of a study of one panel: the recommended average, where there is one."""

    def specs(votes: VoteMatrix, settings: Settings, shown: Pipeline) -> tuple[Any, ...]:
        if shown.recommended:
            return (kind(settings=settings, aggregator=AVERAGE),)
        return (
            kind(
                settings=settings,
                aggregator=shown.aggregator,
                calibrator=shown.calibrator,
                panel=shown.panel,
            ),
        )

    return specs
