"""Votes and their inspection as a notebook shows them."""

from __future__ import annotations

import plotly.graph_objects as go

from judgepanel.api.show import blocks_html, on_white
from judgepanel.api.votes import Inspection, Votes, check_lines
from judgepanel.figures.judges.judges import coverage_strip
from judgepanel.present.blocks import Answer, Block, Paragraph, Table
from judgepanel.present.study import caveats
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.tables import accuracy_table


def votes_html(votes: Votes) -> str:
    """Votes and what is odd about them."""
    return blocks_html([Answer(votes_sentence(votes.matrix)), *caveats(votes.warnings)])


def inspection_html(inspection: Inspection) -> str:
    """The checks of the items, and the table of judges."""
    blocks: list[Block] = [Answer(inspection.size())]
    blocks += [Paragraph(" ".join(check_lines(check)).strip()) for check in inspection.checks]
    blocks.append(Table(accuracy_table(inspection.judges), "Every judge, most accurate first."))
    return blocks_html([*blocks, *caveats(inspection.warnings)])


def inspection_figure(inspection: Inspection) -> go.Figure:
    """Share of items with a right, a wrong or no verdict of every judge."""
    return on_white(coverage_strip(inspection.judges))
