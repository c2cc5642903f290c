"""The default pipeline of studies that use a single pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.aggregate.aggregation import Aggregator, cross_fits, of_votes
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.studies.contest.recommended import AVERAGE, PanelAggregator
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix

OFFERED: tuple[Calibrator, ...] = ("beta", "temperature", "none")
"""Calibrators that pages offer; the first is the paper's default."""
REFITTED = 20
"""Maximum splits of a study that fits a cross-fitted aggregator, or the recommended average, many
times per split."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline on the best ``panel`` judges, None for all; defaults to the paper's.

    ``recommended`` if it is the heaviest member of the recommended average: studies that support
    the average use it. ``alone`` if that average has no other member.
    """

    aggregator: Aggregator = "one_coin"
    calibrator: Calibrator = "beta"
    panel: int | None = None
    recommended: bool = field(default=False, compare=False)
    alone: bool = field(default=False, compare=False)

    @property
    def of_panel(self) -> PanelAggregator:
        """The aggregator of studies that can show the recommended average itself."""
        return AVERAGE if self.recommended else self.aggregator


def pipeline_of(recommendation: Recommendation | None) -> Pipeline:
    """Return the heaviest recommended pipeline; the paper's default without a recommendation."""
    if recommendation is None:
        return Pipeline()
    main = recommendation.model.main
    everyone = len(main.judges) == recommendation.n_judges
    panel = None if everyone else len(main.judges)
    return Pipeline(
        of_votes(main.aggregator),
        main.calibrator,
        panel,
        recommended=True,
        alone=not recommendation.averages,
    )


def affordable_splits(settings: Settings, aggregator: PanelAggregator) -> Settings:
    """Return settings with fewer splits for aggregators that need many fits per split."""
    if aggregator != AVERAGE and not cross_fits(aggregator):
        return settings
    return replace(settings, splits=min(settings.most_splits, REFITTED))


def panel_spec(kind: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Return a function for the default specs of a study of one panel.

    They use the recommended average if there is one.
    """

    def specs(votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> tuple[Any, ...]:
        if pipeline.recommended:
            return (kind(settings=settings, aggregator=AVERAGE),)
        return (
            kind(
                settings=settings,
                aggregator=pipeline.aggregator,
                calibrator=pipeline.calibrator,
                panel=pipeline.panel,
            ),
        )

    return specs
