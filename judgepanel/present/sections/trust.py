"""Confidence, label budget and scope."""

from __future__ import annotations

from judgepanel.figures.scope.parse_rate import parse_rates
from judgepanel.figures.scope.saturation import saturation_curve
from judgepanel.figures.scope.with_and_without import group_figure, switch_figure
from judgepanel.present.blocks import Answer, Block, Table, drawing, paragraphs
from judgepanel.report.group_change import group_sentence, group_table, members_sentence
from judgepanel.report.scope import (
    curve_note,
    filter_sentence,
    parse_table,
    scope_sentence,
    switch_table,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES
from judgepanel.studies.scope.group_change_result import GroupChange
from judgepanel.studies.scope.scope_result import Scope


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
