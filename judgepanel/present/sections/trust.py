"""Confidence, label budget and scope."""

from __future__ import annotations

from judgepanel.figures.confidence.groups import coverage_figure, strata_figure
from judgepanel.figures.confidence.reliability import reliability_figure
from judgepanel.figures.confidence.selective import selective_figure
from judgepanel.figures.fraction_sweep import fraction_sweep
from judgepanel.figures.label_budget import budget_difference, label_budget
from judgepanel.figures.scope.parse_rate import parse_rates
from judgepanel.figures.scope.saturation import saturation_curve
from judgepanel.figures.scope.with_and_without import group_figure, switch_figure
from judgepanel.present.blocks import Answer, Block, Table, drawing, paragraphs
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
from judgepanel.report.sentences import AGGREGATOR_NAMES, first_calibrator
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep
from judgepanel.studies.budget.label_budget_result import LabelBudget
from judgepanel.studies.compare import arm_name
from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items_result import Items
from judgepanel.studies.confidence.reliability_result import Reliability
from judgepanel.studies.confidence.selective_result import Selective
from judgepanel.studies.scope.group_change_result import GroupChange
from judgepanel.studies.scope.scope_result import Scope

_PANEL = arm_name(5)
_ITEMS = 10


def reliability(found: Reliability) -> list[Block]:
    bins = found.ece_bins[0]
    return [
        Answer(reliability_sentence(found)),
        drawing(reliability_figure(found, str(bins)), "before and after calibration"),
        *paragraphs(error_sentence(found, bins), slope_sentence(found)),
        Table(bins_table(found, str(bins)), "Every bin."),
        Table(measures_table(found), "Before and after."),
    ]


def selective(found: Selective) -> list[Block]:
    return [
        Answer(selective_sentence(found)),
        drawing(selective_figure(found), "answering only where the panel is sure"),
        Table(selective_table(found)),
    ]


def conformal(found: Conformal) -> list[Block]:
    level = len(found.levels) - 1
    return [
        Answer(conformal_sentence(found, level)),
        drawing(coverage_figure(found, level, "difficulty"), "share of sets with the label"),
        *paragraphs(groups_sentence(found, level, "difficulty")),
        Table(kinds_table(found, level)),
        Table(coverage_table(found, level, "difficulty")),
    ]


def items(found: Items) -> list[Block]:
    worst = found.worst(_ITEMS)
    return [
        Answer(items_sentence(found)),
        drawing(strata_figure(found, "difficulty"), "stated confidence and share right"),
        Table(strata_table(found, "difficulty")),
        *([Table(item_table(found, worst), "Worst misses.")] if len(worst) else []),
    ]


def budget(found: LabelBudget) -> list[Block]:
    calibrator = first_calibrator(found.calibrators)
    others = [_PANEL] if _PANEL in found.arms[:-1] else []
    blocks: list[Block] = [
        Answer(budget_sentence(found, calibrator)),
        drawing(label_budget(found, calibrator, others), "panels on more and more labels"),
        *paragraphs(next_sentence(found, calibrator), target_sentence(found, calibrator)),
    ]
    for arm in others:
        blocks += paragraphs(joint_sentence(found, calibrator, arm))
        blocks.append(drawing(budget_difference(found, calibrator, arm), f"{arm} less all judges"))
    table = budget_table(found, calibrator, others[0] if others else None)
    blocks.append(Table(table, "Every budget."))
    if found.needed:
        blocks.append(Table(needed_table(found), "Labels needed."))
    return blocks


def sweep(found: FractionSweep) -> list[Block]:
    calibrator = first_calibrator(found.calibrators)
    arm = _PANEL if _PANEL in found.arms[:-1] else None
    return [
        Answer(share_sentence(found, calibrator)),
        drawing(fraction_sweep(found, calibrator, arm), "every share of the items"),
        *paragraphs(why_sentence(found, calibrator)),
        Table(share_table(found, calibrator, arm)),
    ]


def scope(found: Scope) -> list[Block]:
    """The checks themselves stand at the head of the report."""
    blocks: list[Block] = [Answer(scope_sentence(found))]
    if not found.sparse:
        blocks.append(drawing(parse_rates(found), "items with a verdict"))
    blocks.append(Table(parse_table(found), "What could be read of each judge."))
    if found.saturation is not None:
        blocks.append(drawing(saturation_curve(found.saturation), "the best share of the judges"))
        blocks += paragraphs(curve_note(found))
    if found.switch:
        figure = switch_figure(found.switch, found.null_nll, AGGREGATOR_NAMES)
        blocks.append(drawing(figure, "with and without judges that miss votes"))
        blocks.append(Table(switch_table(found), "Every aggregator."))
    return [*blocks, *paragraphs(filter_sentence(found))]


def group(found: GroupChange) -> list[Block]:
    blocks: list[Block] = [Answer(group_sentence(found, found.arms[0].aggregator))]
    blocks += paragraphs(members_sentence(found))
    if found.members:
        figure = group_figure(found, AGGREGATOR_NAMES)
        blocks += [drawing(figure, "with the group and without it"), Table(group_table(found))]
    return blocks
