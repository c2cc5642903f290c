"""NLL against size: all candidates, and a line through those that nothing smaller beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    INCLUDE,
    NEUTRAL,
    add_base_rate,
    error_bars,
    escaped,
    laid_out,
    mark_chosen,
)
from judgepanel.scoring.interval import Interval

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_WIDE = 12
"""Largest size for a linear axis."""


def frontier(size: Floats, nll: Floats) -> Bools:
    """Which points (n,) no other point beats: none is as small and lower, or smaller and as low.

    The first of equal points stands for all. O(n log n).
    """
    order = np.lexsort((np.arange(len(size)), nll, size))
    lowest = np.minimum.accumulate(np.concatenate([[np.inf], nll[order]]))[:-1]
    result = np.zeros(len(size), dtype=bool)
    result[order] = nll[order] < lowest
    return result


def pareto(
    size: Floats,
    nll: Interval,
    names: Sequence[str],
    *,
    chosen: tuple[float, float, str],
    null: float,
    x: str,
) -> go.Figure:
    """NLL against size for points (n,); ``chosen`` is the size, NLL and name of one more point.

    Points on the frontier have intervals and are joined. ``x`` is the title of the size axis.
    """
    best = np.flatnonzero(frontier(size, nll.value))
    best = best[np.argsort(size[best], kind="stable")]
    others = np.setdiff1d(np.arange(len(size)), best)
    plain: dict[str, object] = {"mode": "markers", "marker": _marker(NEUTRAL, "circle-open")}
    joined: dict[str, object] = {
        "mode": "lines+markers",
        "marker": _marker(INCLUDE, "circle"),
        "line": {"color": INCLUDE, "width": 2},
        "error_y": error_bars(nll[best], INCLUDE),
    }
    figure = go.Figure()
    for rows, name, look in (
        (others, "other candidates", plain),
        (best, "nothing smaller is better", joined),
    ):
        figure.add_scatter(
            x=size[rows],
            y=nll.value[rows],
            name=name,
            text=[escaped(names[row]) for row in rows.tolist()],
            hovertemplate="%{text}<br>%{x:.4g}: NLL %{y:.3f}<extra></extra>",
            **look,
        )
    place, level, name = chosen
    mark_chosen(figure, place, level, name, f"{escaped(name)}: NLL %{{y:.3f}}")
    ends = [float(size.min()), float(size.max())]
    add_base_rate(figure, ends, [null, null])
    laid_out(figure, x=x, y="NLL (nats per item)", height=360)
    whole = np.unique(size)
    if whole[-1] > _WIDE and (whole == whole.round()).all() and whole[0] >= 1:
        figure.update_xaxes(type="log", tickvals=whole, ticktext=[f"{tick:,.0f}" for tick in whole])
    return figure


def _marker(colour: str, symbol: str) -> dict[str, object]:
    return {"color": colour, "symbol": symbol, "size": 8}
