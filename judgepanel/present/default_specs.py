"""The specs of studies while nobody has changed a control.

Pages, reports and notebooks start from these; the registry says which study takes which. Where a
recommendation is known, preliminary or whole, studies of one pipeline take its heaviest one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.aggregate.aggregation import Aggregator, cross_fits
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.panels import VALUED
from judgepanel.present.trust.label_budget import FIRST_PANEL
from judgepanel.studies.budget.fraction_sweep import FractionSweepSpec
from judgepanel.studies.budget.label_budget import LabelBudgetSpec
from judgepanel.studies.claim.claim import ClaimSpec
from judgepanel.studies.cost.cost import CostSpec
from judgepanel.studies.cost.escalation import EscalationSpec
from judgepanel.studies.panel.curators import CuratorsSpec
from judgepanel.studies.robustness.corruption import CorruptionSpec
from judgepanel.studies.robustness.difficulty_transfer import DifficultyTransferSpec
from judgepanel.studies.robustness.distortion import DistortionSpec
from judgepanel.studies.robustness.permutation import PermutationSpec
from judgepanel.studies.robustness.slice_transfer import SliceTransferSpec
from judgepanel.studies.robustness.slices import slices_of
from judgepanel.studies.scope.scope import ScopeSpec
from judgepanel.studies.settings import Settings, grouped_votes, prepare
from judgepanel.studies.value.value import ValueSpec
from judgepanel.votes import VoteMatrix

OFFERED: tuple[Calibrator, ...] = ("beta", "temperature", "none")
"""Calibrators that pages offer; the first is that of the paper's default."""
CARRIED: tuple[Calibrator, ...] = ("beta", "platt")
"""Calibrators that are carried over from easy to hard items, beside the recommended one."""
BUDGET_PANELS = (3, 5, 10)
REFITTED = 20
"""Most splits of a study that fits a cross-fitted aggregator many times in each of them."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline on the best ``panel`` judges, None for all: the paper's default."""

    aggregator: Aggregator = "one_coin"
    calibrator: Calibrator = "beta"
    panel: int | None = None


def pipeline_of(recommendation: Recommendation | None) -> Pipeline:
    """The heaviest recommended pipeline; the paper's default without a recommendation."""
    if recommendation is None:
        return Pipeline()
    main = recommendation.model.main
    everyone = len(main.judges) == recommendation.n_judges
    return Pipeline(main.aggregator, main.calibrator, None if everyone else len(main.judges))


def affordable_splits(settings: Settings, aggregator: Aggregator) -> Settings:
    """Fewer splits, where an aggregator is fitted many times in each of them."""
    if not cross_fits(aggregator):
        return settings
    return replace(settings, splits=min(settings.splits, REFITTED))


def panel_spec(kind: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """The specs of a study of one panel."""

    def specs(votes: VoteMatrix, settings: Settings, shown: Pipeline) -> tuple[Any, ...]:
        return (
            kind(
                settings=settings,
                aggregator=shown.aggregator,
                calibrator=shown.calibrator,
                panel=shown.panel,
            ),
        )

    return specs


def scope_specs(votes: VoteMatrix, settings: Settings, shown: Pipeline) -> tuple[ScopeSpec, ...]:
    """The pipeline in use."""
    return (ScopeSpec(settings=settings, aggregator=shown.aggregator, calibrator=shown.calibrator),)


def transfer_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[DifficultyTransferSpec, ...]:
    """Its calibrator is carried over, and those that the paper carries over."""
    return (
        DifficultyTransferSpec(
            settings=affordable_splits(settings, shown.aggregator),
            aggregator=shown.aggregator,
            calibrators=carried(shown.calibrator),
        ),
    )


def carried(calibrator: Calibrator) -> tuple[Calibrator, ...]:
    """Calibrators that are carried over, the one in use first."""
    return tuple(dict.fromkeys((calibrator, *CARRIED)))


def corruption_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[CorruptionSpec, ...]:
    """Votes of the pipeline in use are damaged."""
    return (
        CorruptionSpec(
            settings=affordable_splits(settings, shown.aggregator),
            aggregator=shown.aggregator,
            calibrator=shown.calibrator,
        ),
    )


def permutation_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[PermutationSpec, ...]:
    """The pipeline in use, or the paper's default where thousands of fits would take too long."""
    if cross_fits(shown.aggregator):
        return (PermutationSpec(settings=settings),)
    return (
        PermutationSpec(
            settings=settings, aggregator=shown.aggregator, calibrator=shown.calibrator
        ),
    )


def distortion_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[DistortionSpec, ...]:
    """The score of the aggregator in use is distorted, and all calibrators repair it."""
    return (DistortionSpec(settings=settings, aggregator=shown.aggregator),)


def recommend_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[RecommendSpec, ...]:
    """The recommendation that all pages show; none under the paper's protocol."""
    return (RecommendSpec(settings=settings),) if settings.protocol == "honest" else ()


def curator_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[CuratorsSpec, ...]:
    """Ways of choosing judges under the paper's default; none under its protocol."""
    return (CuratorsSpec(settings=settings),) if settings.protocol == "honest" else ()


def claim_specs(votes: VoteMatrix, settings: Settings, shown: Pipeline) -> tuple[ClaimSpec, ...]:
    """With joint beside one-coin, or without it where only that has been computed."""
    return ClaimSpec(settings=settings), ClaimSpec(settings=settings, joint=False)


def budget_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[LabelBudgetSpec, ...]:
    """The calibrators and panels that the page offers."""
    return (budget_spec(settings, shown.aggregator),)


def budget_spec(
    settings: Settings,
    aggregator: Aggregator,
    panel: int = FIRST_PANEL,
    beside: Aggregator | None = None,
) -> LabelBudgetSpec:
    """All panels that are offered at once, or one where they cost a fit each."""
    return LabelBudgetSpec(
        settings=affordable_splits(settings, aggregator),
        aggregator=aggregator,
        calibrators=OFFERED,
        panels=(panel,) if cross_fits(aggregator) else BUDGET_PANELS,
        beside=beside,
    )


def sweep_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[FractionSweepSpec, ...]:
    """Shares of the items for the panels of the label budget."""
    return tuple(sweep_spec(budget) for budget in budget_specs(votes, settings, shown))


def slice_specs(
    votes: VoteMatrix, settings: Settings, shown: Pipeline
) -> tuple[SliceTransferSpec, ...]:
    """Slices by the first feature that has several."""
    return (slice_spec(settings, shown, first_feature(votes, settings)),)


def slice_spec(settings: Settings, shown: Pipeline, feature: str | None) -> SliceTransferSpec:
    """Slices by a feature, under the pipeline in use."""
    return SliceTransferSpec(
        settings=affordable_splits(settings, shown.aggregator),
        feature=feature,
        aggregator=shown.aggregator,
        calibrator=shown.calibrator,
    )


def value_spec(spec: RecommendSpec, recommendation: Recommendation) -> ValueSpec:
    """Judges are valued under the heaviest recommended pipeline, or joint if that is too slow.

    No preference changes what judges are worth.
    """
    heaviest = recommendation.heaviest
    for aggregator in VALUED:
        if aggregator == heaviest.aggregator:
            return ValueSpec(spec.settings, aggregator, heaviest.calibrator)
    return ValueSpec(spec.settings)


def cost_spec(spec: RecommendSpec, recommendation: Recommendation) -> CostSpec:
    """Panels are priced under the heaviest recommended pipeline."""
    model = recommendation.model.main
    return CostSpec(spec.settings, model.aggregator, model.calibrator, budget=spec.budget)


def escalation_spec(spec: RecommendSpec, recommendation: Recommendation) -> EscalationSpec:
    """The cheap and the full panel have the heaviest recommended pipeline."""
    model = recommendation.model.main
    return EscalationSpec(spec.settings, model.aggregator, model.calibrator)


def sweep_spec(budget: LabelBudgetSpec) -> FractionSweepSpec:
    """Shares of the items for the panels of a label budget; that of the settings plays no part."""
    return FractionSweepSpec(
        settings=replace(budget.settings, fraction=Settings().fraction),
        aggregator=budget.aggregator,
        calibrators=budget.calibrators,
        panels=budget.panels,
    )


def first_feature(votes: VoteMatrix, settings: Settings) -> str | None:
    """The feature that is sliced by until another is chosen."""
    return slices_of(prepare(grouped_votes(votes, settings), settings), None, 4).feature
