"""Every study by name: what the command line, the menu and the job queue offer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from judgepanel.decision.recommend import RECOMMEND
from judgepanel.studies.budget.fraction_sweep import FRACTION_SWEEP
from judgepanel.studies.budget.label_budget import LABEL_BUDGET
from judgepanel.studies.claim.claim import CLAIM
from judgepanel.studies.confidence.conformal import CONFORMAL
from judgepanel.studies.confidence.items import ITEMS
from judgepanel.studies.confidence.reliability import RELIABILITY
from judgepanel.studies.confidence.selective import SELECTIVE
from judgepanel.studies.contract import Study
from judgepanel.studies.cost.cost import COST
from judgepanel.studies.cost.escalation import ESCALATION
from judgepanel.studies.curve.panel_curve import PANEL_CURVE
from judgepanel.studies.judges.judges import JUDGES
from judgepanel.studies.judges.variance_decomposition import VARIANCE_DECOMPOSITION
from judgepanel.studies.methods.calibrator_design import CALIBRATOR_DESIGN
from judgepanel.studies.methods.method_grid import METHOD_GRID
from judgepanel.studies.methods.pipeline_ablation import PIPELINE_ABLATION
from judgepanel.studies.panel.curators import CURATORS_STUDY
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
from judgepanel.studies.value.value import VALUE
from judgepanel.votes import InputError

STUDIES: Mapping[str, Study[Any, Any, Any]] = MappingProxyType(
    {
        study.name: study
        for study in (
            PANEL_CURVE,
            RECOMMEND,
            CURATORS_STUDY,
            WHAT_IF,
            VALUE,
            COST,
            ESCALATION,
            JUDGES,
            VARIANCE_DECOMPOSITION,
            METHOD_GRID,
            PIPELINE_ABLATION,
            CALIBRATOR_DESIGN,
            LABEL_BUDGET,
            SCOPE,
            GROUP_CHANGE,
            FRACTION_SWEEP,
            CLAIM,
            RELIABILITY,
            SELECTIVE,
            CONFORMAL,
            ITEMS,
            DIFFICULTY_TRANSFER,
            SLICE_TRANSFER,
            PERMUTATION,
            CORRUPTION,
            DISTORTION,
            RELIABILITY_WEIGHTING,
            NARROW_BAND,
            JURY,
        )
    }
)


def study_named(name: str) -> Study[Any, Any, Any]:
    """The study of this name; InputError lists the known ones."""
    if name not in STUDIES:
        raise InputError("unknown study", value=name, allowed=", ".join(STUDIES))
    return STUDIES[name]
