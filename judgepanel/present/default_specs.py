"""The specs of studies while nobody has changed a control.

Pages, reports and notebooks start from these; the registry says which study takes which.
"""

from __future__ import annotations

from dataclasses import replace

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.panels import VALUED
from judgepanel.studies.budget.fraction_sweep import FractionSweepSpec
from judgepanel.studies.budget.label_budget import LabelBudgetSpec
from judgepanel.studies.claim.claim import ClaimSpec
from judgepanel.studies.cost.cost import CostSpec
from judgepanel.studies.cost.escalation import EscalationSpec
from judgepanel.studies.robustness.slice_transfer import SliceTransferSpec
from judgepanel.studies.robustness.slices import slices_of
from judgepanel.studies.settings import Settings, grouped_votes, prepare
from judgepanel.studies.value.value import ValueSpec
from judgepanel.votes import VoteMatrix

OFFERED: tuple[Calibrator, ...] = ("beta", "temperature", "none")
"""Calibrators that pages offer; the first is shown first."""
BUDGET_PANELS = (3, 5, 10)


def claim_specs(votes: VoteMatrix, settings: Settings) -> tuple[ClaimSpec, ...]:
    """With joint beside one-coin, or without it where only that has been computed."""
    return ClaimSpec(settings=settings), ClaimSpec(settings=settings, joint=False)


def budget_specs(votes: VoteMatrix, settings: Settings) -> tuple[LabelBudgetSpec, ...]:
    """The calibrators and panels that the page offers."""
    spec = LabelBudgetSpec(settings=settings, calibrators=OFFERED, panels=BUDGET_PANELS)
    return (spec,)


def sweep_specs(votes: VoteMatrix, settings: Settings) -> tuple[FractionSweepSpec, ...]:
    """Shares of the items for the panels of the label budget."""
    return tuple(sweep_spec(budget) for budget in budget_specs(votes, settings))


def slice_specs(votes: VoteMatrix, settings: Settings) -> tuple[SliceTransferSpec, ...]:
    """Slices by the first feature that has several."""
    return (SliceTransferSpec(settings=settings, feature=first_feature(votes, settings)),)


def value_spec(spec: RecommendSpec, recommendation: Recommendation) -> ValueSpec:
    """Judges are valued under the heaviest recommended pipeline, or joint if that is too slow."""
    for aggregator in VALUED:
        if aggregator == recommendation.model.main.aggregator:
            return ValueSpec(spec.settings, aggregator, recommendation.model.main.calibrator)
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
