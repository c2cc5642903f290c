"""What came of the outputs of judges, and what they say in both orders."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    INCLUDE,
    MISSING_OPACITY,
    NEUTRAL,
    WHITE,
    escaped,
    laid_out,
    mixed,
    rank_axis,
    with_opacity,
)
from judgepanel.studies.outputs.position import Positions
from judgepanel.votes.coverage import Coverage
from judgepanel.votes.verdicts import LEVELS


def parse_levels(coverage: Coverage) -> go.Figure:
    """Share of outputs by the form of the verdict, one bar per judge, the least read first."""
    frame = coverage.frame()
    x = np.arange(1, len(frame) + 1)
    names = [escaped(name) for name in frame["judge"]]
    parts: list[tuple[str, pd.Series, str, str]] = [
        (level, frame[level], mixed(INCLUDE, WHITE, _TINTS[level]), _SHAPES.get(level, ""))
        for level in LEVELS
    ]
    tied = frame["tie"]
    rest = frame["outputs"] - frame["read"] - tied
    parts += [
        ("tie", tied, with_opacity(NEUTRAL, MISSING_OPACITY), ""),
        ("not read", rest, CURATE_FILL, "/"),
    ]
    figure = go.Figure()
    for name, counts, colour, pattern in parts:
        if not counts.any():
            continue
        figure.add_bar(
            x=x,
            y=counts / frame["outputs"],
            name=FORM_TITLES.get(name, name),
            marker={
                "color": colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "fgcolor": CURATE_LINE if name == "not read" else INCLUDE,
                    "size": 6,
                    "solidity": 0.3,
                },
            },
            text=names,
            textposition="none",
            customdata=np.column_stack([counts, frame["outputs"]]),
            hovertemplate="%{text}<br>"
            + FORM_TITLES.get(name, name)
            + ": %{customdata[0]:,} of %{customdata[1]:,}<extra></extra>",
        )
    figure.update_layout(barmode="stack", bargap=0.15 if len(frame) < 80 else 0.0)
    laid_out(figure, x="judges, least read first", y="share of outputs", height=320)
    figure.update_layout(legend_traceorder="normal")
    figure.update_yaxes(tickformat=".0%", range=[0, 1])
    rank_axis(figure, len(frame), list(frame["judge"]))
    return figure


FORM_TITLES = {
    "bracket": "[[A]]",
    "field": "JSON field",
    "bold": "**A**",
    "stated": "'A is better'",
    "closing": "named at the end",
    "opening": "named on the first line",
    "letter": "bare last letter",
    "score": "higher score",
}
_TINTS = {
    **dict.fromkeys(("bracket", "field", "bold", "score"), 0.0),
    "stated": 0.4,
    **dict.fromkeys(("closing", "opening", "letter"), 0.7),
}
"""The stricter a form, the darker."""
_SHAPES = {"field": "/", "bold": ".", "opening": "|", "letter": "."}


def both_orders(positions: Positions) -> go.Figure:
    """Self-consistency with its interval, the least consistent first; shape and hover: the lean."""
    frame = positions.frame()
    rank = np.arange(1, len(frame) + 1)
    figure = go.Figure()
    toward = np.where(frame["lean_lo"] > 0, 1, np.where(frame["lean_hi"] < 0, -1, 0))
    for side, name, colour, symbol in (
        (1, "prefers what is shown first", CURATE_LINE, "triangle-left"),
        (-1, "prefers what is shown second", CURATE_LINE, "triangle-right"),
        (0, "no preference shown", INCLUDE, "circle"),
    ):
        rows = np.flatnonzero(toward == side)
        if not len(rows):
            continue
        some = frame.iloc[rows]
        figure.add_scatter(
            x=rank[rows],
            y=some["consistent"],
            mode="markers",
            name=f"{name} ({len(rows)})",
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": some["consistent_hi"] - some["consistent"],
                "arrayminus": some["consistent"] - some["consistent_lo"],
                "color": colour,
                "thickness": 1,
                "width": 0,
            },
            text=[escaped(judge) for judge in some["judge"]],
            customdata=some[["items", "lean", "lean_lo", "lean_hi"]],
            hovertemplate="%{text}<br>the same in both orders on %{y:.1%} of %{customdata[0]} items"
            "<br>lean to the first %{customdata[1]:+.1%} [%{customdata[2]:+.1%}, "
            "%{customdata[3]:+.1%}]<extra></extra>",
        )
    laid_out(figure, x="judges, least consistent first", y="same verdict in both orders")
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    rank_axis(figure, len(frame), list(frame["judge"]))
    return figure
