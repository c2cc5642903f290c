"""The method grid as a heat map: a score per cell, tied cells framed, the best one boldly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.figures.style import BLACK, METRIC_NAMES, NEUTRAL, WHITE, laid_out, mixed, text_on
from judgepanel.scoring.interval import Interval

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
        tied = [(int(i), int(j)) for i, j in np.argwhere(cells.tied)]
        _outline(figure, tied, "not told apart from it", _THIN)
    _outline(figure, [cells.best], "lowest NLL", _THICK)
    laid_out(figure, x="", y="", height=86 + _ROW_HEIGHT * len(cells.rows))
    figure.update_layout(
        annotations=_values(cells),
        legend_traceorder="reversed",
        xaxis_title=None,
        yaxis_title=None,
    )
    wrapped = [name.replace(" (", "<br>(") for name in cells.columns]
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


def _outline(figure: go.Figure, places: list[tuple[int, int]], name: str, width: int) -> None:
    """Frame cells in black with white edges, which stand out from every cell and in both themes."""
    points: list[tuple[float, float]] = []
    for i, j in places:
        frame = [(j + a * (0.5 - _INSET), i + b * (0.5 - _INSET)) for a, b in _SQUARE]
        points += [*frame, frame[1], (np.nan, np.nan)]  # Repeated, or a corner has a notch.
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
