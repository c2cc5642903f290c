"""Results, votes and inspections as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from judgepanel.figures.judges import coverage_strip
from judgepanel.present.blocks import Answer, Block, Figure, Paragraph, Table, flat
from judgepanel.present.study import caveats
from judgepanel.render.html import IN_NOTEBOOK, fragment
from judgepanel.votes import InputError
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.tables import accuracy_table

if TYPE_CHECKING:
    from judgepanel.api.votes import Inspection, Votes


def first_figure(blocks: Iterable[Block], name: str) -> go.Figure:
    """The first figure among the blocks of a study.

    Raises
    ------
    InputError
        There is nothing to draw.
    """
    for block in flat(blocks):
        if isinstance(block, Figure):
            return on_white(block.figure)
    remedy = "its frame() and summary() say what there is"
    raise InputError(f"the study {name} has nothing to draw on these votes", remedy=remedy)


def on_white(figure: go.Figure) -> go.Figure:
    """A copy of a figure that is readable in light and dark notebooks."""
    return go.Figure(figure).update_layout(template="plotly_white")


def blocks_html(blocks: Iterable[Block]) -> str:
    """Blocks as escaped HTML for a notebook; ``plot()`` gives the figures."""
    return f'<div class="judgepanel"><style>{IN_NOTEBOOK}</style>{fragment(blocks)}</div>'


def votes_html(votes: Votes) -> str:
    """The size of the votes and the warnings about them, as HTML."""
    return blocks_html([Answer(votes_sentence(votes.matrix)), *caveats(votes.warnings)])


def inspection_html(inspection: Inspection) -> str:
    """The checks of the items and the table of judges, as HTML."""
    blocks: list[Block] = [Answer(inspection.size())]
    blocks += [Paragraph(" ".join(lines).strip()) for lines in inspection.check_lines()]
    blocks.append(Table(accuracy_table(inspection.frame()), "Every judge, most accurate first."))
    blocks.append(Paragraph(inspection.agreement_line()))
    return blocks_html([*blocks, *caveats(inspection.warnings)])


def inspection_figure(inspection: Inspection) -> go.Figure:
    """Shares of items with a correct, an incorrect or a missing verdict, per judge."""
    return on_white(coverage_strip(inspection.judges))
