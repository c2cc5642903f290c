"""What the pages ask for while nobody has changed a control: their specs, and where they come from.

The report of an analysis shows what has been computed under these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.registry import STUDIES
from judgepanel.kernels.evaluate.panels import VALUED
from judgepanel.studies.budget.fraction_sweep import FRACTION_SWEEP, FractionSweepSpec
from judgepanel.studies.budget.label_budget import LABEL_BUDGET, LabelBudgetSpec
from judgepanel.studies.claim.claim import CLAIM, ClaimSpec
from judgepanel.studies.contract import Spec
from judgepanel.studies.cost.cost import COST, CostSpec
from judgepanel.studies.cost.escalation import ESCALATION, EscalationSpec
from judgepanel.studies.panel.what_if import WHAT_IF
from judgepanel.studies.robustness.slice_transfer import SLICE_TRANSFER, SliceTransferSpec
from judgepanel.studies.robustness.slices import slices_of
from judgepanel.studies.settings import Settings, prepare
from judgepanel.studies.value.value import VALUE, ValueSpec
from judgepanel.ui.controls import OFFERED
from judgepanel.votes import VoteMatrix

BUDGET_PANELS = (3, 5, 10)


def usual_specs(votes: VoteMatrix, settings: Settings) -> Mapping[str, tuple[Spec, ...]]:
    """By study, the specs to look for, the fullest first.

    Left out are the studies that start from a recommendation (:func:`specs_after`), and what
    somebody has ticked by hand.
    """
    found: dict[str, tuple[Spec, ...]] = {
        name: (study.spec(settings=settings),) for name, study in STUDIES.items()
    }
    for study in (VALUE, COST, ESCALATION, WHAT_IF):
        del found[study.name]
    budget = LabelBudgetSpec(settings=settings, calibrators=OFFERED, panels=BUDGET_PANELS)
    feature = first_feature(votes, settings)
    return found | {
        CLAIM.name: (ClaimSpec(settings=settings), ClaimSpec(settings=settings, joint=False)),
        LABEL_BUDGET.name: (budget,),
        FRACTION_SWEEP.name: (sweep_spec(budget),),
        SLICE_TRANSFER.name: (SliceTransferSpec(settings=settings, feature=feature),),
    }


def specs_after(found: Recommendation, settings: Settings) -> Mapping[str, tuple[Spec, ...]]:
    """The same for studies that take the recommended pipeline."""
    spec = RECOMMEND.spec(settings=settings)
    return {
        VALUE.name: (value_spec(spec, found),),
        COST.name: (cost_spec(spec, found),),
        ESCALATION.name: (escalation_spec(spec, found),),
    }


def value_spec(spec: RecommendSpec, found: Recommendation) -> ValueSpec:
    """Judges are valued under the recommended pipeline, or under joint where that is too slow."""
    for aggregator in VALUED:
        if aggregator == found.model.aggregator:
            return ValueSpec(spec.settings, aggregator, found.model.calibrator)
    return ValueSpec(spec.settings)


def cost_spec(spec: RecommendSpec, found: Recommendation) -> CostSpec:
    """Panels are priced under the recommended pipeline."""
    model = found.model
    return CostSpec(spec.settings, model.aggregator, model.calibrator, budget=spec.budget)


def escalation_spec(spec: RecommendSpec, found: Recommendation) -> EscalationSpec:
    """The cheap and the full panel have the recommended pipeline."""
    return EscalationSpec(spec.settings, found.model.aggregator, found.model.calibrator)


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
    return slices_of(prepare(votes, settings), None, 4).feature
