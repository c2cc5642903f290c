"""Groups side by side: coverage of sets against their level, or accuracy against confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import DOTTED, INCLUDE, NEUTRAL, error_bars, escaped, laid_out
from judgepanel.scoring.interval import Interval

_ROW = 46
_HEAD = 130
_APART = 0.14


def groups_figure(
    groups: Sequence[str], marks: Mapping[str, Interval], x: str, level: float | None = None
) -> go.Figure:
    """Two kinds of marks per group, with values (n,); the first group is on top.

    ``groups`` are untrusted names (n,); ``level`` is where the marks should be, None if nowhere.
    """
    figure = go.Figure()
    names = [escaped(name) for name in groups]
    places = np.arange(len(groups), dtype=np.float64)
    looks = ((NEUTRAL, "diamond", -_APART), (INCLUDE, "circle", _APART))
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
