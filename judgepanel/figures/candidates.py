"""Candidates of a recommendation: NLL with intervals, and NLL against size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Bools, Floats
from judgepanel.figures.style import (
    CHOSEN,
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    RECOMMENDED,
    Look,
    add_base_rate,
    error_bars,
    escaped,
    laid_out,
    mark,
)
from judgepanel.scoring.interval import Interval

Standing = Literal["recommended", "taken instead", "not told apart from it", "worse", "better"]

_LOOKS: dict[Standing, tuple[Look, int]] = {
    "recommended": (RECOMMENDED, 15),
    "taken instead": (CHOSEN, 13),
    "not told apart from it": (Look(NEUTRAL, NEUTRAL, "circle-open"), 11),
    "worse": (Look(CURATE_LINE, CURATE_LINE, "circle"), 9),
    "better": (Look(INCLUDE, INCLUDE, "triangle-left"), 11),
}
_ROW_HEIGHT = 47
_LABEL = 29
"""Characters per line of a label, so that narrow screens keep room for the dots."""
_WIDE = 12
"""Largest size for a linear axis."""


@dataclass(frozen=True, slots=True, eq=False)
class ForestRow:
    """A candidate: its name, NLL, standing against the recommended one, and a note, often ''."""

    name: str
    nll: Interval
    standing: Standing
    note: str


def forest(rows: Sequence[ForestRow], null: float) -> go.Figure:
    """Candidates from top to bottom against NLL, with the base rate's NLL ``null`` as a line.

    Shape, fill and colour all show the standing of a row.
    """
    figure = go.Figure()
    places = np.arange(len(rows))
    for standing, (look, size) in _LOOKS.items():
        of = [place for place, row in enumerate(rows) if row.standing == standing]
        if not of:
            continue
        nll = Interval.stacked(rows[place].nll for place in of)
        figure.add_scatter(
            x=nll.value,
            y=places[of],
            mode="markers",
            name=standing,
            marker=look.marker(size),
            error_x=error_bars(nll, look.fill),
            text=[_hover(rows[place]) for place in of],
            hovertemplate="%{text}<extra></extra>",
        )
    add_base_rate(figure, [null, null], [-0.5, len(rows) - 0.5], "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=110 + _ROW_HEIGHT * len(rows))
    figure.update_yaxes(
        tickvals=places,
        ticktext=[_label(row) for row in rows],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def _label(row: ForestRow) -> str:
    label = "<br>".join(wrap(_title(row), _LABEL))
    return f"<b>{label}</b>" if row.standing == "recommended" else label


def _title(row: ForestRow) -> str:
    return ", ".join(escaped(part) for part in (row.name, row.note) if part)


def _hover(row: ForestRow) -> str:
    value, lo, hi = row.nll
    return f"{_title(row)}<br>NLL {value:.3f} [{lo:.3f}, {hi:.3f}], {row.standing}"


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
    look: Look,
    null: float,
    x: str,
) -> go.Figure:
    """NLL against size for points (n,), and for one that was chosen.

    ``chosen`` is its size, NLL and name, ``look`` its mark. Points on the frontier have intervals
    and are joined. ``x`` is the title of the size axis.
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
    for rows, name, drawn in (
        (others, "other candidates", plain),
        (best, "nothing smaller is better", joined),
    ):
        figure.add_scatter(
            x=size[rows],
            y=nll.value[rows],
            name=name,
            text=[escaped(names[row]) for row in rows.tolist()],
            hovertemplate="%{text}<br>%{x:.4g}: NLL %{y:.3f}<extra></extra>",
            **drawn,
        )
    place, level, name = chosen
    mark(figure, look, place, level, name, f"{escaped(name)}: NLL %{{y:.3f}}")
    ends = [float(size.min()), float(size.max())]
    add_base_rate(figure, ends, [null, null])
    laid_out(figure, x=x, y="NLL (nats per item)", height=360)
    whole = np.unique(size)
    if whole[-1] > _WIDE and (whole == whole.round()).all() and whole[0] >= 1:
        figure.update_xaxes(type="log", tickvals=whole, ticktext=[f"{tick:,.0f}" for tick in whole])
    return figure


def _marker(colour: str, symbol: str) -> dict[str, object]:
    return {"color": colour, "symbol": symbol, "size": 8}
