"""The method grid as a heat map: a score per cell, tied cells outlined, the best one framed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import BLACK, METRIC_NAMES, NEUTRAL, WHITE, laid_out, mixed, text_on
from judgepanel.scoring.interval import Interval

Floats = NDArray[np.float64]
Point = tuple[float, float]
Loop = list[Point]

_PALE, _DEEP = "#EEF2F7", "#2F5D8C"
_ROW_HEIGHT = 44
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
        return mixed(_PALE, _DEEP, float(self.shade[i, j]))


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
            colorscale=[[0.0, _PALE], [1.0, _DEEP]],
            showscale=False,
            xgap=2,
            ygap=2,
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
    )
    if cells.tied.sum() > 1:
        _outline(figure, loops(cells.tied), "not told apart from it", _THIN)
    i, j = cells.best
    frame = [[(j + a * (0.5 - _INSET), i + b * (0.5 - _INSET)) for a, b in _SQUARE]]
    _outline(figure, frame, "lowest NLL", _THICK)
    laid_out(figure, x="", y="", height=86 + _ROW_HEIGHT * len(cells.rows))
    figure.update_layout(
        annotations=_values(cells),
        legend_traceorder="reversed",
        xaxis_title=None,
        yaxis_title=None,
    )
    wrapped = [name.replace(", ", ",<br>") for name in cells.columns]
    figure.update_xaxes(
        tickvals=places[0],
        ticktext=wrapped,
        range=[-0.55, len(cells.columns) - 0.45],
        ticklabeloverflow="allow",
    )
    figure.update_yaxes(
        tickvals=places[1],
        ticktext=cells.rows,
        range=[len(cells.rows) - 0.45, -0.55],
        showgrid=False,
    )
    return figure


def loops(mask: NDArray[np.bool_]) -> list[Loop]:
    """Closed outlines (x, y) of the cells in a mask (R, C); cell (i, j) is centred on x = j, y = i.

    Edges run around each cell in one direction, edges shared by two cells cancel, and the rest is
    chained. Cells that touch only at a corner have separate outlines.
    """
    edges: dict[Point, list[Point]] = {}
    for i, j in np.argwhere(mask):
        corners = [(j + 0.5 * a, i + 0.5 * b) for a, b in _SQUARE[:4]]
        for (di, dj), k in zip(((-1, 0), (0, 1), (1, 0), (0, -1)), range(4), strict=True):
            a, b = i + di, j + dj
            if not (0 <= a < mask.shape[0] and 0 <= b < mask.shape[1] and mask[a, b]):
                edges.setdefault(corners[k], []).append(corners[(k + 1) % 4])
    result: list[Loop] = []
    while edges:
        start = next(iter(edges))
        loop = [start, _next(edges, [start])]
        while loop[-1] != start:
            loop.append(_next(edges, loop))
        result.append(loop)
    return result


def _next(edges: dict[Point, list[Point]], loop: Loop) -> Point:
    """Remove and return the edge that continues a loop; where cells touch, of the same cell."""
    ends = edges[loop[-1]]
    place = 0
    if len(ends) > 1 and len(loop) > 1:
        (x0, y0), (x1, y1) = loop[-2:]
        place = ends.index((x1 - (y1 - y0), y1 + (x1 - x0)))
    end = ends.pop(place)
    if not ends:
        del edges[loop[-1]]
    return end


_SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))


def _form(metric: str) -> str:
    return ".1%" if metric == "accuracy" else ".3f"


def _hover_text(cells: GridCells, i: int, j: int) -> str:
    """The hover text of a cell."""
    form = _form(cells.metric)
    _, lo, hi = cells.score[i, j]
    text = (
        f"{cells.rows[i]}, {cells.columns[j]}<br>{METRIC_NAMES[cells.metric]}: {cells.text(i, j)}"
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


def _values(cells: GridCells) -> list[dict[str, object]]:
    """The values as annotations, set all at once, since each call of plotly is slow."""
    return [
        {
            "x": j,
            "y": i,
            "text": ("<b>{}</b>" if (i, j) == cells.best else "{}").format(cells.text(i, j)),
            "showarrow": False,
            "font": {"color": text_on(cells.colour(i, j)), "size": 12},
        }
        for i, j in np.ndindex(cells.score.shape)
    ]


def _outline(figure: go.Figure, outlines: list[Loop], name: str, width: int) -> None:
    """Draw black lines with white edges, which stand out from every cell and in both themes."""
    points: Loop = []
    for loop in outlines:
        points += [*loop, loop[1], (np.nan, np.nan)]  # Repeated, or a corner has a notch.
    for colour, thickness in ((WHITE, width + 3), (BLACK, width)):
        figure.add_scatter(
            x=[x for x, _ in points],
            y=[y for _, y in points],
            mode="lines",
            line={"color": colour, "width": thickness},
            hoverinfo="skip",
            cliponaxis=False,
            showlegend=False,
        )
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=name,
        marker={
            "symbol": "square",
            "size": 14,
            "color": _PALE,
            "line": {"color": NEUTRAL, "width": width},
        },
        hoverinfo="skip",
    )
