"""What a study prints: its answer and its table, as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from judgepanel.decision.recommend import RECOMMEND
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.report.ablation import ablation_text
from judgepanel.report.claim_tables import claim_text
from judgepanel.report.confidence import reliability_text, selective_text
from judgepanel.report.confidence_groups import conformal_text, items_text
from judgepanel.report.cost import cost_text
from judgepanel.report.curators import curators_text
from judgepanel.report.escalation import escalation_text
from judgepanel.report.fraction_sweep import sweep_text
from judgepanel.report.group_change import group_text
from judgepanel.report.judges import judges_text
from judgepanel.report.label_budget import budget_text
from judgepanel.report.methods import design_text, grid_text
from judgepanel.report.permuted import permutation_text
from judgepanel.report.recommendation import (
    certainty_sentence,
    recommendation_sentence,
    rival_sentence,
    tied_sentence,
)
from judgepanel.report.robustness import slice_text, transfer_text
from judgepanel.report.robustness_scores import band_text, distortion_text, weighting_text
from judgepanel.report.robustness_votes import corruption_text, jury_text
from judgepanel.report.scope import scope_text
from judgepanel.report.sentences import curve_sentence, optimism_sentence
from judgepanel.report.tables import candidate_table, comparison_table
from judgepanel.report.value import value_text
from judgepanel.report.variance import variance_text
from judgepanel.report.what_if import what_if_text
from judgepanel.studies.budget.fraction_sweep import FRACTION_SWEEP
from judgepanel.studies.budget.label_budget import LABEL_BUDGET
from judgepanel.studies.claim.claim import CLAIM
from judgepanel.studies.confidence.conformal import CONFORMAL
from judgepanel.studies.confidence.items import ITEMS
from judgepanel.studies.confidence.reliability import RELIABILITY
from judgepanel.studies.confidence.selective import SELECTIVE
from judgepanel.studies.contract import Result, Study
from judgepanel.studies.cost.cost import COST
from judgepanel.studies.cost.escalation import ESCALATION
from judgepanel.studies.curve.panel_curve import PANEL_CURVE, PanelCurve
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

_SHOWN_CANDIDATES = 12


def curve_text(curve: PanelCurve) -> str:
    """Every calibrator's answer and its panels against all judges."""
    lines = [
        f"{curve.n_splits} splits, {curve.n_calibration:.0f} labels calibrate and "
        f"{curve.n_evaluation:.0f} evaluate, orientation {curve.orientation}, protocol "
        f"{curve.protocol}, seed {curve.seed}; null NLL {curve.null_nll:.4f}."
    ]
    for calibrator in curve.calibrators:
        constant = float(curve.constant_nll[curve.row(calibrator)])
        lines.append(f"\n{calibrator}: {curve_sentence(curve, calibrator)}")
        if abs(constant - curve.null_nll) > 0.001:
            lines.append(f"A constant score through the same calibrator gives NLL {constant:.4f}.")
        lines.append(comparison_table(curve, calibrator).to_string(index=False))
        optimism = optimism_sentence(curve, calibrator)
        if optimism:
            lines.append(optimism)
    return "\n".join(lines)


def recommendation_text(found: Recommendation) -> str:
    """The panel, how sure that is, and the best candidates."""
    table = candidate_table(found)
    lines = [
        recommendation_sentence(found),
        certainty_sentence(found),
        *[line for line in (rival_sentence(found), tied_sentence(found)) if line],
        "",
        table.head(_SHOWN_CANDIDATES).to_string(index=False),
    ]
    if len(table) > _SHOWN_CANDIDATES:
        more = len(table) - _SHOWN_CANDIDATES
        lines.append(f"... and {more} more: `study recommend --out X.csv`.")
    return "\n".join(lines)


TEXTS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        PANEL_CURVE.name: curve_text,
        RECOMMEND.name: recommendation_text,
        CURATORS_STUDY.name: curators_text,
        WHAT_IF.name: what_if_text,
        VALUE.name: value_text,
        COST.name: cost_text,
        ESCALATION.name: escalation_text,
        JUDGES.name: judges_text,
        VARIANCE_DECOMPOSITION.name: variance_text,
        METHOD_GRID.name: grid_text,
        PIPELINE_ABLATION.name: ablation_text,
        CALIBRATOR_DESIGN.name: design_text,
        LABEL_BUDGET.name: budget_text,
        SCOPE.name: scope_text,
        GROUP_CHANGE.name: group_text,
        FRACTION_SWEEP.name: sweep_text,
        CLAIM.name: claim_text,
        DIFFICULTY_TRANSFER.name: transfer_text,
        SLICE_TRANSFER.name: slice_text,
        PERMUTATION.name: permutation_text,
        RELIABILITY.name: reliability_text,
        SELECTIVE.name: selective_text,
        CONFORMAL.name: conformal_text,
        ITEMS.name: items_text,
        CORRUPTION.name: corruption_text,
        DISTORTION.name: distortion_text,
        RELIABILITY_WEIGHTING.name: weighting_text,
        NARROW_BAND.name: band_text,
        JURY.name: jury_text,
    }
)
"""Result to text, by the name of its study."""


def result_text(study: Study[Any, Any, Any], result: Result) -> str:
    """A result as text for a terminal; a study without words of its own prints its table."""
    if study.name in TEXTS:
        return TEXTS[study.name](result)
    return result.frame().to_string(index=False)
