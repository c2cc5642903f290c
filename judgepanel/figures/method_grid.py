"""The method grid as a heat map: every cell its score, tied cells outlined, the best one marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.panel_curve import METRIC_NAMES
from judgepanel.figures.style import CURATE_LINE, INCLUDE, laid_out
from judgepanel.studies.method_grid import MethodGrid

Floats = NDArray[np.float64]

_PALE = "#EEF2F7"
_ROW_HEIGHT = 44
_TEXT_AT_LEAST = 0.5
_DARK, _LIGHT = "#0F1720", "#FFFFFF"


@dataclass(frozen=True, slots=True, eq=False)
class GridCells:
    """What the heat map draws: rows are aggregators, columns calibrators, best row first.

    ``value``, ``lo`` and ``hi`` (R, C) are of one metric; ``tied`` (R, C) and ``best`` (row and
    column) are of NLL, whatever is drawn; ``shade`` in [0, 1] is 1 for the best value.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    value: Floats
    lo: Floats
    hi: Floats
    tied: NDArray[np.bool_]
    best: tuple[int, int]
    shade: Floats


def prepare_method_grid(grid: MethodGrid, metric: str = "nll") -> GridCells:
    """Cells of one metric (``nll``, ``brier``, ``ece``, ``accuracy``), aggregators by lowest NLL.

    Colour saturates at the null for NLL, so that one bad cell does not bleach all others.
    """
    order = np.argsort(grid.nll.min(axis=1), kind="stable")
    value = getattr(grid, metric)[order]
    worst, best = value.max(), value.min()
    if metric == "nll":
        worst = min(worst, max(grid.null_nll, best))
    if metric == "accuracy":
        worst, best = best, worst
    width = best - worst
    shade = np.clip((value - worst) / width, 0.0, 1.0) if width else np.ones_like(value)
    row = int(np.flatnonzero(order == grid.best[0])[0])
    return GridCells(
        rows=tuple(grid.aggregators[i] for i in order),
        columns=grid.calibrators,
        value=value,
        lo=getattr(grid, f"{metric}_lo")[order],
        hi=getattr(grid, f"{metric}_hi")[order],
        tied=grid.tied[order],
        best=(row, grid.best[1]),
        shade=shade,
    )


def plot_method_grid(
    cells: GridCells,
    *,
    metric: str = "nll",
    aggregator_names: Mapping[str, str],
    calibrator_names: Mapping[str, str],
) -> go.Figure:
    """The heat map of prepared cells; ``*_names`` are what people call them."""
    rows = [aggregator_names[name] for name in cells.rows]
    columns = [calibrator_names[name] for name in cells.columns]
    hover = [
        [
            f"{rows[i]}, {columns[j]}<br>{METRIC_NAMES[metric]}: {_said(cells, metric, i, j)}"
            + ("<br>lowest NLL" if (i, j) == cells.best else "")
            + ("<br>tied with the lowest NLL" if cells.tied[i, j] and (i, j) != cells.best else "")
            for j in range(len(columns))
        ]
        for i in range(len(rows))
    ]
    figure = go.Figure(
        go.Heatmap(
            z=cells.shade,
            zmin=0.0,
            zmax=1.0,
            x=list(range(len(columns))),
            y=list(range(len(rows))),
            colorscale=[[0.0, _PALE], [1.0, INCLUDE]],
            showscale=False,
            xgap=2,
            ygap=2,
            text=hover,
            hovertemplate="%{text}<extra></extra>",
        )
    )
    _write_values(figure, cells, metric)
    _outline_ties(figure, cells)
    laid_out(figure, x="calibrator", y="", height=120 + _ROW_HEIGHT * len(rows))
    figure.update_xaxes(
        tickvals=list(range(len(columns))), ticktext=columns, tickangle=-30, showgrid=False
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=rows,
        autorange="reversed",
        showgrid=False,
    )
    return figure


def method_grid(
    grid: MethodGrid,
    metric: str = "nll",
    *,
    aggregator_names: Mapping[str, str],
    calibrator_names: Mapping[str, str],
) -> go.Figure:
    """Every cell of the grid; see :func:`prepare_method_grid`."""
    return plot_method_grid(
        prepare_method_grid(grid, metric),
        metric=metric,
        aggregator_names=aggregator_names,
        calibrator_names=calibrator_names,
    )


def _said(cells: GridCells, metric: str, i: int, j: int) -> str:
    form = ".1%" if metric == "accuracy" else ".3f"
    text = f"{cells.value[i, j]:{form}}"
    if np.isfinite(cells.lo[i, j]):
        text += f" [{cells.lo[i, j]:{form}}, {cells.hi[i, j]:{form}}]"
    return text


def _write_values(figure: go.Figure, cells: GridCells, metric: str) -> None:
    form = ".1%" if metric == "accuracy" else ".3f"
    for i, j in np.ndindex(cells.value.shape):
        mark = "<b>{}</b>" if (i, j) == cells.best else "{}"
        figure.add_annotation(
            x=j,
            y=i,
            text=mark.format(f"{cells.value[i, j]:{form}}"),
            showarrow=False,
            font={
                "color": _LIGHT if cells.shade[i, j] >= _TEXT_AT_LEAST else _DARK,
                "size": 12,
            },
        )


def _outline_ties(figure: go.Figure, cells: GridCells) -> None:
    """Tied cells get a frame, the best one a thick one; both are named in the legend."""
    for i, j in np.argwhere(cells.tied):
        best = (int(i), int(j)) == cells.best
        figure.add_shape(
            type="rect",
            x0=j - 0.47,
            x1=j + 0.47,
            y0=i - 0.45,
            y1=i + 0.45,
            line={
                "color": CURATE_LINE,
                "width": 4 if best else 2,
                "dash": "solid" if best else "dot",
            },
        )
    for name, width, dash in (("lowest NLL", 4, "solid"), ("tied with it", 2, "dot")):
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            name=name,
            line={"color": CURATE_LINE, "width": width, "dash": dash},
            hoverinfo="skip",
        )
