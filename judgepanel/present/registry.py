"""The registry of studies: presentation, page, and default spec of each.

The command line, menu, pages, reports, the list of studies and the job queue read it. A study that
is not registered is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.blocks import Block
from judgepanel.present.decide import (
    cost,
    curators,
    escalation,
    panel_curve,
    recommend,
    value,
    what_if,
)
from judgepanel.present.pipeline import Pipeline, panel_spec, pipeline_of
from judgepanel.present.robustness import (
    corruption,
    distortion,
    jury,
    narrow_band,
    permutation,
    slices,
    transfer,
    weighting,
)
from judgepanel.present.trust import (
    conformal,
    fraction_sweep,
    group_change,
    items,
    label_budget,
    reliability,
    scope,
    selective,
)
from judgepanel.present.understand import (
    calibrator_design,
    claim,
    judges,
    method_grid,
    pipeline_ablation,
    variance_decomposition,
)
from judgepanel.studies.budget.fraction_sweep import FRACTION_SWEEP
from judgepanel.studies.budget.label_budget import LABEL_BUDGET
from judgepanel.studies.claim.claim import CLAIM
from judgepanel.studies.confidence.conformal import CONFORMAL
from judgepanel.studies.confidence.items import ITEMS
from judgepanel.studies.confidence.reliability import RELIABILITY
from judgepanel.studies.confidence.selective import SELECTIVE
from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.cost.cost import COST
from judgepanel.studies.cost.escalation import ESCALATION
from judgepanel.studies.judges.judges import JUDGES
from judgepanel.studies.judges.variance_decomposition import VARIANCE_DECOMPOSITION
from judgepanel.studies.methods.calibrator_design import CALIBRATOR_DESIGN
from judgepanel.studies.methods.method_grid import METHOD_GRID
from judgepanel.studies.methods.pipeline_ablation import PIPELINE_ABLATION
from judgepanel.studies.panel.curators import CURATORS_STUDY
from judgepanel.studies.panel.panel_curve import PANEL_CURVE
from judgepanel.studies.panel.what_if import WHAT_IF
from judgepanel.studies.robustness.corruption import CORRUPTION
from judgepanel.studies.robustness.difficulty_transfer import DIFFICULTY_TRANSFER
from judgepanel.studies.robustness.distortion import DISTORTION
from judgepanel.studies.robustness.jury import JURY
from judgepanel.studies.robustness.narrow_band import NARROW_BAND
from judgepanel.studies.robustness.permutation import PERMUTATION
from judgepanel.studies.robustness.reliability_weighting import RELIABILITY_WEIGHTING
from judgepanel.studies.robustness.slice_transfer import SLICE_TRANSFER
from judgepanel.studies.scope.group_change import GROUP_CHANGE
from judgepanel.studies.scope.scope import SCOPE
from judgepanel.studies.settings import Settings
from judgepanel.studies.value.value import VALUE
from judgepanel.votes import InputError, VoteMatrix

Present = Callable[..., list[Block]]
"""``present(result, spec)`` or ``present(result, spec, view)``: returns a result as blocks."""
DefaultSpecs = Callable[[VoteMatrix, Settings, Pipeline], tuple[Spec, ...]]
"""Returns the specs to look for under a pipeline, the most complete first."""
SpecAfter = Callable[[RecommendSpec, Recommendation], Spec]
"""Returns the spec of a study that needs a recommendation."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard: its file, its menu title, and the question it answers."""

    file: str
    title: str
    question: str
    group: str


CURVE_PAGE = Page("pages/panel_curve.py", "Panel curve", "Keep all judges, or the top k?", "Decide")
RECOMMENDED_PAGE = Page(
    "pages/recommended_panel.py",
    "Recommended panel",
    "Which judges, and which pipeline?",
    "Decide",
)
CONFIDENCE_PAGE = Page(
    "pages/confidence.py", "Confidence", "Can the probabilities be believed?", "Trust"
)
BUDGET_PAGE = Page("pages/label_budget.py", "Label budget", "How many labels do we need?", "Trust")
SCOPE_PAGE = Page("pages/scope.py", "Scope", "Is the recommendation safe here?", "Trust")
ROBUSTNESS_PAGE = Page("pages/robustness.py", "Robustness", "What would break it?", "Trust")
COVERAGE_PAGE = Page(
    "pages/coverage.py", "Coverage", "Did we read what the judges wrote?", "Understand"
)
JUDGES_PAGE = Page("pages/judges.py", "Judges", "Who adds what?", "Understand")
METHODS_PAGE = Page(
    "pages/methods.py", "Methods", "Which aggregator, and which calibrator?", "Understand"
)
CLAIM_PAGE = Page(
    "pages/claim.py", "The claim", "Does the paper's reversal hold here?", "Understand"
)
PAGES = (
    CURVE_PAGE,
    RECOMMENDED_PAGE,
    CONFIDENCE_PAGE,
    BUDGET_PAGE,
    SCOPE_PAGE,
    ROBUSTNESS_PAGE,
    COVERAGE_PAGE,
    JUDGES_PAGE,
    METHODS_PAGE,
    CLAIM_PAGE,
)
"""Pages in menu order; Start precedes them, Coverage has no study."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A study, its presentation, and the page that shows it.

    ``default`` returns the specs that pages request initially, by default those with the settings
    of the analysis alone; ``after`` the spec of a study that needs a recommendation. A study with
    neither (``by_hand``) is computed only on request. ``single`` is why a study shows one pipeline
    where an average is recommended, empty if it shows the average or no pipeline of the analysis.
    """

    study: Study[Any, Any, Any]
    page: Page
    present: Present
    default: DefaultSpecs | None = None
    after: SpecAfter | None = None
    by_hand: bool = False
    single: str = ""

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    def specs(
        self, votes: VoteMatrix, settings: Settings, recommendation: Recommendation | None = None
    ) -> tuple[Spec, ...]:
        """Return the specs to look for, recommended pipeline first, the most complete first."""
        if self.by_hand:
            return ()
        if self.after is not None:
            if recommendation is None:
                return ()
            return (self.after(RecommendSpec(settings=settings), recommendation),)
        pipelines = dict.fromkeys((pipeline_of(recommendation), Pipeline()))
        specs = (self.under(votes, settings, pipeline) for pipeline in pipelines)
        return tuple(dict.fromkeys(chain.from_iterable(specs)))

    def under(self, votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> tuple[Spec, ...]:
        """Return the specs under one pipeline, the most complete first."""
        if self.default is None:
            return (self.study.spec(settings=settings),)
        return self.default(votes, settings, pipeline)


ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Entry(PANEL_CURVE, CURVE_PAGE, panel_curve.present),
            Entry(RECOMMEND, RECOMMENDED_PAGE, recommend.present, recommend.default_specs),
            Entry(
                VALUE,
                RECOMMENDED_PAGE,
                value.present,
                after=value.value_spec,
                single="every judge left out would need recommendations of its own",
            ),
            Entry(
                COST,
                RECOMMENDED_PAGE,
                cost.present,
                after=cost.cost_spec,
                single="every budget would need recommendations of its own",
            ),
            Entry(
                ESCALATION,
                RECOMMENDED_PAGE,
                escalation.present,
                after=escalation.escalation_spec,
                single="every fold on which a threshold is chosen would need recommendations of "
                "its own",
            ),
            Entry(
                CURATORS_STUDY,
                RECOMMENDED_PAGE,
                curators.present,
                curators.default_specs,
                single="every way of choosing would need recommendations of its own",
            ),
            Entry(WHAT_IF, RECOMMENDED_PAGE, what_if.present, by_hand=True),
            Entry(RELIABILITY, CONFIDENCE_PAGE, reliability.present, panel_spec(RELIABILITY.spec)),
            Entry(SELECTIVE, CONFIDENCE_PAGE, selective.present, panel_spec(SELECTIVE.spec)),
            Entry(CONFORMAL, CONFIDENCE_PAGE, conformal.present, panel_spec(CONFORMAL.spec)),
            Entry(ITEMS, CONFIDENCE_PAGE, items.present, panel_spec(ITEMS.spec)),
            Entry(LABEL_BUDGET, BUDGET_PAGE, label_budget.present, label_budget.default_specs),
            Entry(
                FRACTION_SWEEP, BUDGET_PAGE, fraction_sweep.present, fraction_sweep.default_specs
            ),
            Entry(SCOPE, SCOPE_PAGE, scope.present, scope.default_specs),
            Entry(GROUP_CHANGE, SCOPE_PAGE, group_change.present, group_change.default_specs),
            Entry(DIFFICULTY_TRANSFER, ROBUSTNESS_PAGE, transfer.present, transfer.default_specs),
            Entry(SLICE_TRANSFER, ROBUSTNESS_PAGE, slices.present, slices.default_specs),
            Entry(
                PERMUTATION,
                ROBUSTNESS_PAGE,
                permutation.present,
                permutation.default_specs,
                single="every permutation would need recommendations of its own",
            ),
            Entry(CORRUPTION, ROBUSTNESS_PAGE, corruption.present, corruption.default_specs),
            Entry(
                DISTORTION,
                ROBUSTNESS_PAGE,
                distortion.present,
                distortion.default_specs,
                single="an average has no single score to distort",
            ),
            Entry(RELIABILITY_WEIGHTING, ROBUSTNESS_PAGE, weighting.present),
            Entry(JURY, ROBUSTNESS_PAGE, jury.present),
            Entry(
                NARROW_BAND,
                ROBUSTNESS_PAGE,
                narrow_band.present,
                single="its judges are simulated",
            ),
            Entry(JUDGES, JUDGES_PAGE, judges.present),
            Entry(VARIANCE_DECOMPOSITION, JUDGES_PAGE, variance_decomposition.present),
            Entry(METHOD_GRID, METHODS_PAGE, method_grid.present),
            Entry(PIPELINE_ABLATION, METHODS_PAGE, pipeline_ablation.present),
            Entry(CALIBRATOR_DESIGN, METHODS_PAGE, calibrator_design.present),
            Entry(CLAIM, CLAIM_PAGE, claim.present, claim.default_specs),
        )
    }
)
"""Studies by name, in the order of the pages and of their sections."""
STUDIES: Mapping[str, Study[Any, Any, Any]] = MappingProxyType(
    {name: entry.study for name, entry in ENTRIES.items()}
)


def entries_of(page: Page) -> tuple[Entry, ...]:
    """Return the studies of a page, in order."""
    return tuple(entry for entry in ENTRIES.values() if entry.page == page)


def default_specs(
    votes: VoteMatrix, settings: Settings, recommendation: Recommendation | None = None
) -> dict[str, tuple[Spec, ...]]:
    """Return the specs to look for by study, those under the recommended pipeline first."""
    specs = {name: entry.specs(votes, settings, recommendation) for name, entry in ENTRIES.items()}
    return {name: some for name, some in specs.items() if some}


def study_named(name: str) -> Study[Any, Any, Any]:
    """Return the study of this name; InputError lists the known ones."""
    if name not in STUDIES:
        raise InputError("unknown study", value=name, allowed=", ".join(STUDIES))
    return STUDIES[name]
