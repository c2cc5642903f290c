"""What was read of judges' outputs, where votes came from those."""

from __future__ import annotations

from judgepanel.figures.outputs import both_orders, parse_levels
from judgepanel.present.blocks import Block, Heading, Table, drawing, paragraphs
from judgepanel.studies.outputs.parse_rate import check_outputs
from judgepanel.studies.outputs.position import positions
from judgepanel.votes.coverage import Coverage
from judgepanel.words.cells import as_columns
from judgepanel.words.outputs import (
    coverage_sentence,
    coverage_table,
    position_sentence,
    position_table,
)
from judgepanel.words.scope import check_sentences


def outputs(coverage: Coverage) -> list[Block]:
    """Coverage, and both orders where judges saw them; no text that a judge wrote."""
    sentence = coverage_sentence(coverage)
    blocks: list[Block] = [Heading("Outputs of the judges")]
    blocks += paragraphs(sentence, check_sentences(check_outputs(coverage)))
    blocks.append(drawing(parse_levels(coverage), f"Share of outputs by form. {sentence}"))
    blocks.append(Table(as_columns(coverage_table(coverage)), "Outputs by judge"))
    result = positions(coverage)
    if result is not None:
        sentence = position_sentence(result)
        blocks += paragraphs(sentence)
        blocks.append(drawing(both_orders(result), f"The same in both orders. {sentence}"))
        blocks.append(Table(as_columns(position_table(result)), "In both orders"))
    return blocks
