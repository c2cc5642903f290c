"""Candidates of a recommendation: NLL with intervals, and NLL against size.

The method grid as a heat map: a score per cell, tied cells framed, the best one boldly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats
from judgepanel.figures import style
from judgepanel.scoring.interval import Interval

RowStatus = Literal["recommended", "taken instead", "not told apart from it", "worse", "better"]

_LOOKS: dict[RowStatus, tuple[style.Look, int]] = {
    "recommended": (style.RECOMMENDED, 15),
    "taken instead": (style.CHOSEN, 13),
    "not told apart from it": (style.Look(style.NEUTRAL, style.NEUTRAL, "circle-open"), 11),
    "worse": (style.Look(style.CURATE_LINE, style.CURATE_LINE, "circle"), 9),
    "better": (style.Look(style.INCLUDE, style.INCLUDE, "triangle-left"), 11),
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
    standing: RowStatus
    note: str


def forest(rows: Sequence[ForestRow], null: float) -> go.Figure:
    """Candidates from top to bottom against NLL, with the base rate's NLL ``null`` as a line.

    Shape, fill and colour all show the standing of a row.
    """
    figure = go.Figure()
    places = np.arange(len(rows))
    for standing, (look, size) in _LOOKS.items():
        places_of = [place for place, row in enumerate(rows) if row.standing == standing]
        if not places_of:
            continue
        nll = Interval.stacked(rows[place].nll for place in places_of)
        hover = [_hover(rows[place]) for place in places_of]
        mark_of = replace(look, dash="", size=size)
        more = {"text": hover, "error_x": style.error_bars(nll, look.fill)}
        style.add_series(figure, nll.value, places[places_of], mark_of, standing, "%{text}", **more)
    style.add_base_rate(figure, [null, null], [-0.5, len(rows) - 0.5], "base rate: %{x:.3f}")
    style.laid_out(figure, x="NLL (nats per item)", y="", height=110 + _ROW_HEIGHT * len(rows))
    style.label_rows(figure, [_label(row) for row in rows], showgrid=False)
    return figure


def _label(row: ForestRow) -> str:
    label = "<br>".join(wrap(_title(row), _LABEL))
    return f"<b>{label}</b>" if row.standing == "recommended" else label


def _title(row: ForestRow) -> str:
    return ", ".join(style.escaped(part) for part in (row.name, row.note) if part)


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
    look: style.Look,
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
    figure = go.Figure()
    for rows, name, values, drawn in (
        (others, "other candidates", nll.value[others], style.spot(style.NEUTRAL, "circle-open")),
        (best, "nothing smaller is better", nll[best], replace(style.ALL_JUDGES, width=2.0)),
    ):
        names_of = [style.escaped(names[row]) for row in rows.tolist()]
        hover = "%{text}<br>%{x:.4g}: NLL %{y:.3f}"
        spots = replace(drawn, size=8)
        style.add_series(figure, size[rows], values, spots, name, hover, text=names_of)
    place, level, name = chosen
    style.mark(figure, look, place, level, name, f"{style.escaped(name)}: NLL %{{y:.3f}}")
    ends = [float(size.min()), float(size.max())]
    style.add_base_rate(figure, ends, [null, null])
    style.laid_out(figure, x=x, y="NLL (nats per item)", height=360)
    whole = np.unique(size)
    if whole[-1] > _WIDE and (whole == whole.round()).all() and whole[0] >= 1:
        figure.update_xaxes(type="log", tickvals=whole, ticktext=[f"{tick:,.0f}" for tick in whole])
    return figure


_CELL_HEIGHT = 44
_THIN, _THICK = 2, 4
_INSET = 0.06


@dataclass(frozen=True, slots=True, eq=False)
class GridCells:
    """What the heat map draws: aggregators as rows, calibrators as columns, by display name.

    ``score`` (R, C) is of one metric. ``tied`` (R, C) and ``best`` (row and column) are of NLL,
    whatever the metric. ``shade`` (R, C) is in [0, 1], 1 for the best score. ``null`` is the base
    rate's score, None if the metric has none.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    metric: str
    score: Interval
    tied: NDArray[np.bool_]
    best: tuple[int, int]
    shade: Floats
    null: float | None

    def text(self, i: int, j: int) -> str:
        """The text in a cell."""
        return f"{self.score.value[i, j]:{_form(self.metric)}}"

    def colour(self, i: int, j: int) -> str:
        """The hex colour of a cell."""
        return style.mixed(style.PALE, style.DEEP, float(self.shade[i, j]))


def method_grid(cells: GridCells) -> go.Figure:
    """The heat map of the grid, rows from top to bottom."""
    places = list(range(len(cells.columns))), list(range(len(cells.rows)))
    hover = [[_hover_text(cells, i, j) for j in places[0]] for i in places[1]]
    figure = go.Figure(
        go.Heatmap(
            z=cells.shade,
            zmin=0.0,
            zmax=1.0,
            x=places[0],
            y=places[1],
            colorscale=[[0.0, style.PALE], [1.0, style.DEEP]],
            showscale=False,
            xgap=2,
            ygap=2,
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
    )
    if cells.tied.sum() > 1:
        tied = [(int(i), int(j)) for i, j in np.argwhere(cells.tied)]
        _outline(figure, tied, "not told apart from it", _THIN)
    _outline(figure, [cells.best], "lowest NLL", _THICK)
    style.laid_out(figure, x="", y="", height=86 + _CELL_HEIGHT * len(cells.rows))
    notes = []
    for i, j in np.ndindex(cells.score.shape):
        text = cells.text(i, j)
        text = f"<b>{text}</b>" if (i, j) == cells.best else text
        notes.append(style.cell_text(j, i, text, cells.colour(i, j), 12))
    figure.update_layout(
        annotations=notes, legend_traceorder="reversed", xaxis_title=None, yaxis_title=None
    )
    wrapped = [name.replace(" (", "<br>(") for name in cells.columns]
    span = [-0.55, len(cells.columns) - 0.45]
    figure.update_xaxes(tickvals=places[0], ticktext=wrapped, range=span, ticklabeloverflow="allow")
    span = [len(cells.rows) - 0.45, -0.55]
    figure.update_yaxes(tickvals=places[1], ticktext=cells.rows, range=span, showgrid=False)
    return figure


_SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))


def _form(metric: str) -> str:
    return ".1%" if metric == "accuracy" else ".3f"


def _hover_text(cells: GridCells, i: int, j: int) -> str:
    """The hover text of a cell."""
    form = _form(cells.metric)
    _, lo, hi = cells.score[i, j]
    text = (
        f"{cells.rows[i]}, {cells.columns[j]}<br>{style.METRIC_NAMES[cells.metric]}: "
        f"{cells.text(i, j)}"
    )
    if np.isfinite(lo):
        text += f" [{lo:{form}}, {hi:{form}}]"
    if cells.null is not None:
        text += f"<br>base rate alone: {cells.null:{form}}"
    if (i, j) == cells.best:
        text += "<br>lowest NLL"
    elif cells.tied[i, j]:
        text += "<br>not told apart from the lowest NLL"
    return text


def _outline(figure: go.Figure, places: list[tuple[int, int]], name: str, width: int) -> None:
    """Frame cells in black with white edges, which stand out from every cell and in both themes."""
    points: list[tuple[float, float]] = []
    for i, j in places:
        frame = [(j + a * (0.5 - _INSET), i + b * (0.5 - _INSET)) for a, b in _SQUARE]
        points += [*frame, frame[1], (np.nan, np.nan)]  # Repeated, or a corner has a notch.
    x, y = ([point[axis] for point in points] for axis in (0, 1))
    more = {"hoverinfo": "skip", "cliponaxis": False, "showlegend": False}
    for colour, thickness in ((style.WHITE, width + 3), (style.BLACK, width)):
        line = {"color": colour, "width": thickness}
        figure.add_scatter(x=x, y=y, mode="lines", line=line, **more)
    line = {"color": style.NEUTRAL, "width": width}
    marker = {"symbol": "square", "size": 14, "color": style.PALE, "line": line}
    figure.add_scatter(
        x=[None], y=[None], mode="markers", name=name, marker=marker, hoverinfo="skip"
    )
