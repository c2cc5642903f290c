"""Estimates as dots with intervals: NLL of panels in rows, and groups side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    NEUTRAL,
    add_base_rate,
    error_bars,
    escaped,
    laid_out,
)
from judgepanel.scoring.interval import Interval

_STYLES = ((INCLUDE, "circle", 11), (CURATE_LINE, "diamond-open", 9), (NEUTRAL, "square-open", 8))
MOST_PANELS = len(_STYLES)
_APART = 0.2
_ROW_HEIGHT = 58
_LABEL = 18
"""Characters per line of a label, so that narrow screens keep room for the dots."""
_ROW = 46
_HEAD = 130
_GROUPS_APART = 0.14


def dots(rows: Sequence[str], panels: Mapping[str, Interval], null: float) -> go.Figure:
    """Dots from top to bottom against NLL, with the base rate's NLL ``null`` as a line.

    ``panels``, at most ``MOST_PANELS``, have shape (n_rows,) each; error bars need known intervals.
    """
    figure = go.Figure()
    places = np.arange(len(rows))
    for i, ((name, nll), style) in enumerate(zip(panels.items(), _STYLES, strict=False)):
        colour, symbol, size = style
        known = bool(np.isfinite([nll.lo, nll.hi]).all())
        spans = [f" [{lo:.3f}, {hi:.3f}]" if known else "" for _, lo, hi in zip(*nll, strict=True)]
        figure.add_scatter(
            x=nll.value,
            y=places + _APART * (i - (len(panels) - 1) / 2),
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
            error_x=error_bars(nll, colour) if known else None,
            text=[
                f"{row}<br>{name}: {value:.3f}{span}"
                for row, value, span in zip(rows, nll.value, spans, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    add_base_rate(figure, [null, null], [-0.5, len(rows) - 0.5], "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=110 + _ROW_HEIGHT * len(rows))
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(
        tickvals=places,
        ticktext=["<br>".join(wrap(row, _LABEL)) for row in rows],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def groups_figure(
    groups: Sequence[str], marks: Mapping[str, Interval], x: str, level: float | None = None
) -> go.Figure:
    """Two kinds of marks per group, with values (n,); the first group is on top.

    ``groups`` are untrusted names (n,); ``level`` is where the marks should be, None if nowhere.
    """
    figure = go.Figure()
    names = [escaped(name) for name in groups]
    places = np.arange(len(groups), dtype=np.float64)
    looks = ((NEUTRAL, "diamond", -_GROUPS_APART), (INCLUDE, "circle", _GROUPS_APART))
    for (name, values), (colour, symbol, shift) in zip(marks.items(), looks, strict=True):
        figure.add_scatter(
            x=values.value,
            y=places + shift,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 10},
            error_x=error_bars(values, colour) | {"thickness": 1.4, "width": 5},
            name=name,
            text=names,
            hovertemplate="%{text}, " + name + ": %{x:.1%}<extra></extra>",
        )
    if level is not None:
        figure.add_vline(x=level, line=DOTTED)
    laid_out(figure, x=x, y="", height=_HEAD + _ROW * len(groups))
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(
        tickvals=places,
        ticktext=[escaped(name, 28) for name in groups],
        range=[len(places) - 0.5, -0.5],
        title=None,
    )
    return figure
