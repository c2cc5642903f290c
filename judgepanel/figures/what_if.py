"""A panel picked by hand against another: both levels, and the difference."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL, laid_out
from judgepanel.studies.panel.what_if_result import WhatIf

_HEIGHT = 190


@dataclass(frozen=True, slots=True)
class Level:
    """NLL of one panel with its interval."""

    name: str
    nll: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Levels:
    """Rows from top to bottom, and the base rate."""

    rows: tuple[Level, ...]
    null: float


def prepare_what_if(result: WhatIf) -> Levels:
    """The panel that is kept, then the one compared with."""
    rows = tuple(
        Level(f"{name} ({len(panel.judges):,})", panel.nll, panel.lo, panel.hi)
        for name, panel in (("these judges", result.kept), ("compared with", result.against))
    )
    return Levels(rows, result.null_nll)


def plot_what_if(levels: Levels) -> go.Figure:
    """NLL from left to right, panels from top to bottom, the base rate as a line."""
    figure = go.Figure()
    styles = ((CURATE_LINE, "diamond"), (INCLUDE, "circle"))
    for place, (row, (colour, symbol)) in enumerate(zip(levels.rows, styles, strict=True)):
        figure.add_scatter(
            x=[row.nll],
            y=[place],
            mode="markers",
            name=row.name,
            marker={"color": colour, "symbol": symbol, "size": 11},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row.hi - row.nll],
                "arrayminus": [row.nll - row.lo],
                "color": colour,
                "thickness": 1.5,
                "width": 4,
            },
            hovertemplate=f"{row.name}: {row.nll:.3f} [{row.lo:.3f}, {row.hi:.3f}]<extra></extra>",
            showlegend=False,
        )
    figure.add_scatter(
        x=[levels.null, levels.null],
        y=[-0.6, len(levels.rows) - 0.4],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
        hovertemplate="base rate alone: %{x:.3f}<extra></extra>",
    )
    laid_out(figure, x="NLL (nats per item)", y="", height=_HEIGHT)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(
        tickvals=list(range(len(levels.rows))),
        ticktext=[level.name for level in levels.rows],
        range=[len(levels.rows) - 0.4, -0.6],
        showgrid=False,
    )
    return figure


def what_if(result: WhatIf) -> go.Figure:
    """Both panels of a comparison by hand."""
    return plot_what_if(prepare_what_if(result))
