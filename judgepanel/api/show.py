"""How a notebook shows a result: the blocks of its study, as every renderer has them."""

from __future__ import annotations

from collections.abc import Iterable

import plotly.graph_objects as go

from judgepanel.present.blocks import Block, Figure, flat
from judgepanel.render.html import fragment
from judgepanel.render.style import IN_NOTEBOOK
from judgepanel.votes import InputError


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
    raise InputError(
        f"the study {name} has nothing to draw on these votes",
        remedy="its frame() and summary() say what there is",
    )


def on_white(figure: go.Figure) -> go.Figure:
    """A figure that can be read in a light and in a dark notebook."""
    return go.Figure(figure).update_layout(template="plotly_white")


def blocks_html(blocks: Iterable[Block]) -> str:
    """Blocks for a notebook, escaped; ``plot()`` has the figures."""
    return f'<div class="judgepanel"><style>{IN_NOTEBOOK}</style>{fragment(blocks)}</div>'
