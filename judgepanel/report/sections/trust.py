"""Confidence, label budget and scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from judgepanel.figures.confidence.groups import coverage_figure, strata_figure
from judgepanel.figures.confidence.reliability import reliability_figure
from judgepanel.figures.confidence.selective import selective_figure
from judgepanel.figures.fraction_sweep import fraction_sweep
from judgepanel.figures.label_budget import budget_difference, label_budget
from judgepanel.figures.scope.parse_rate import parse_rates
from judgepanel.figures.scope.saturation import saturation_curve
from judgepanel.figures.scope.with_and_without import group_figure, switch_figure
from judgepanel.report.confidence import (
    bins_table,
    error_sentence,
    measures_table,
    reliability_sentence,
    selective_sentence,
    selective_table,
    slope_sentence,
)
from judgepanel.report.confidence_groups import (
    conformal_sentence,
    coverage_table,
    groups_sentence,
    item_table,
    items_sentence,
    kinds_table,
    strata_table,
)
from judgepanel.report.document import Block
from judgepanel.report.fraction_sweep import share_sentence, share_table, why_sentence
from judgepanel.report.group_change import group_sentence, group_table, members_sentence
from judgepanel.report.label_budget import (
    budget_sentence,
    budget_table,
    joint_sentence,
    needed_table,
    next_sentence,
    target_sentence,
)
from judgepanel.report.scope import (
    curve_note,
    filter_sentence,
    parse_table,
    scope_sentence,
    switch_table,
)
from judgepanel.report.sections.blocks import answer, drawing, rows, said, shown_calibrator
from judgepanel.report.sentences import AGGREGATOR_NAMES
from judgepanel.studies.budget.fraction_sweep import FRACTION_SWEEP
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep
from judgepanel.studies.budget.label_budget import LABEL_BUDGET
from judgepanel.studies.budget.label_budget_result import LabelBudget
from judgepanel.studies.compare import arm_name
from judgepanel.studies.confidence.conformal import CONFORMAL
from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items import ITEMS
from judgepanel.studies.confidence.items_result import Items
from judgepanel.studies.confidence.reliability import RELIABILITY
from judgepanel.studies.confidence.reliability_result import Reliability
from judgepanel.studies.confidence.selective import SELECTIVE
from judgepanel.studies.confidence.selective_result import Selective
from judgepanel.studies.scope.group_change import GROUP_CHANGE
from judgepanel.studies.scope.group_change_result import GroupChange
from judgepanel.studies.scope.scope import SCOPE
from judgepanel.studies.scope.scope_result import Scope

_PANEL = arm_name(5)
_ITEMS = 10


def _reliability(found: Reliability) -> list[Block]:
    bins = found.ece_bins[0]
    return [
        answer(found, reliability_sentence(found)),
        drawing(reliability_figure(found, str(bins)), "before and after calibration"),
        *said(error_sentence(found, bins), slope_sentence(found)),
        rows(bins_table(found, str(bins)), "Every bin."),
        rows(measures_table(found), "Before and after."),
    ]


def _selective(found: Selective) -> list[Block]:
    return [
        answer(found, selective_sentence(found)),
        drawing(selective_figure(found), "answering only where the panel is sure"),
        rows(selective_table(found)),
    ]


def _conformal(found: Conformal) -> list[Block]:
    level = len(found.levels) - 1
    return [
        answer(found, conformal_sentence(found, level)),
        drawing(coverage_figure(found, level, "difficulty"), "share of sets with the label"),
        *said(groups_sentence(found, level, "difficulty")),
        rows(kinds_table(found, level)),
        rows(coverage_table(found, level, "difficulty")),
    ]


def _items(found: Items) -> list[Block]:
    worst = found.worst(_ITEMS)
    return [
        answer(found, items_sentence(found)),
        drawing(strata_figure(found, "difficulty"), "stated confidence and share right"),
        rows(strata_table(found, "difficulty")),
        *([rows(item_table(found, worst), "Worst misses.")] if len(worst) else []),
    ]


def _budget(found: LabelBudget) -> list[Block]:
    calibrator = shown_calibrator(found)
    others = [_PANEL] if _PANEL in found.arms[:-1] else []
    blocks: list[Block] = [
        answer(found, budget_sentence(found, calibrator)),
        drawing(label_budget(found, calibrator, others), "panels on more and more labels"),
        *said(next_sentence(found, calibrator), target_sentence(found, calibrator)),
    ]
    for arm in others:
        blocks += said(joint_sentence(found, calibrator, arm))
        blocks.append(drawing(budget_difference(found, calibrator, arm), f"{arm} less all judges"))
    table = budget_table(found, calibrator, others[0] if others else None)
    blocks.append(rows(table, "Every budget."))
    if found.needed:
        blocks.append(rows(needed_table(found), "Labels needed."))
    return blocks


def _sweep(found: FractionSweep) -> list[Block]:
    calibrator = shown_calibrator(found)
    arm = _PANEL if _PANEL in found.arms[:-1] else None
    return [
        answer(found, share_sentence(found, calibrator)),
        drawing(fraction_sweep(found, calibrator, arm), "every share of the items"),
        *said(why_sentence(found, calibrator)),
        rows(share_table(found, calibrator, arm)),
    ]


def _scope(found: Scope) -> list[Block]:
    """The checks themselves stand at the head of the report."""
    blocks: list[Block] = [answer(found, scope_sentence(found))]
    if not found.sparse:
        blocks.append(drawing(parse_rates(found), "items with a verdict"))
    blocks.append(rows(parse_table(found), "What could be read of each judge."))
    if found.saturation is not None:
        blocks.append(drawing(saturation_curve(found.saturation), "the best share of the judges"))
        blocks += said(curve_note(found))
    if found.switch:
        figure = switch_figure(found.switch, found.null_nll, AGGREGATOR_NAMES)
        blocks.append(drawing(figure, "with and without judges that miss votes"))
        blocks.append(rows(switch_table(found), "Every aggregator."))
    return [*blocks, *said(filter_sentence(found))]


def _group(found: GroupChange) -> list[Block]:
    blocks: list[Block] = [answer(found, group_sentence(found, found.arms[0].aggregator))]
    blocks += said(members_sentence(found))
    if found.members:
        figure = group_figure(found, AGGREGATOR_NAMES)
        blocks += [drawing(figure, "with the group and without it"), rows(group_table(found))]
    return blocks


TRUST: Mapping[str, Callable[[Any], list[Block]]] = {
    RELIABILITY.name: _reliability,
    SELECTIVE.name: _selective,
    CONFORMAL.name: _conformal,
    ITEMS.name: _items,
    LABEL_BUDGET.name: _budget,
    FRACTION_SWEEP.name: _sweep,
    SCOPE.name: _scope,
    GROUP_CHANGE.name: _group,
}
