"""The transfer matrix: what labels of one kind of item are worth on another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import CURATE_FILL, laid_out, mixed, text_on
from judgepanel.studies.robustness.difficulty_transfer_result import (
    SOURCES,
    TARGETS,
    Cell,
    DifficultyTransfer,
)

Floats = NDArray[np.float64]

_PALE, _DEEP = "#EEF2F7", "#2F5D8C"
_ROW_HEIGHT = 84
_NARROW = 0.1
ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class TransferCells:
    """What the matrix draws: rows are sources, columns targets.

    ``skill`` (n_sources, n_targets) is 1 - NLL / null: below 0 a cell is worse than the base rate
    of its own labels.
    """

    cells: tuple[tuple[Cell, ...], ...]
    skill: Floats

    def colour(self, s: int, t: int) -> str:
        """The hex colour of a cell: deeper is better, orange is worse than the base rate."""
        skill = float(self.skill[s, t])
        return CURATE_FILL if skill < 0.0 else mixed(_PALE, _DEEP, min(skill, 1.0))


def prepare_transfer(result: DifficultyTransfer, calibrator: str, method: str) -> TransferCells:
    """The matrix of one calibrator and one way of carrying it over."""
    cells = tuple(
        tuple(result.cell(calibrator, method, source, target) for target in TARGETS)
        for source in SOURCES
    )
    skill = np.array([[1.0 - cell.nll / cell.null_nll for cell in row] for row in cells])
    return TransferCells(cells, skill)


def plot_transfer(matrix: TransferCells) -> go.Figure:
    """The figure of a prepared matrix."""
    n_s, n_t = matrix.skill.shape
    figure = go.Figure()
    for s, t in np.ndindex(n_s, n_t):
        figure.add_shape(
            type="rect",
            x0=t - 0.485,
            x1=t + 0.485,
            y0=s - 0.475,
            y1=s + 0.475,
            fillcolor=matrix.colour(s, t),
            line={"width": 0},
            layer="below",
        )
    places = [(s, t) for s, t in np.ndindex(n_s, n_t)]
    figure.add_scatter(
        x=[t for _, t in places],
        y=[s for s, _ in places],
        mode="markers",
        marker={"size": 40, "opacity": 0.0},
        text=[_hover_text(matrix.cells[s][t]) for s, t in places],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    laid_out(figure, x="", y="", height=70 + _ROW_HEIGHT * n_s)
    figure.update_layout(
        annotations=[_written(matrix, s, t) for s, t in places], xaxis_title=None, yaxis_title=None
    )
    figure.update_xaxes(
        tickvals=list(range(n_t)),
        ticktext=[f"on {name} items" for name in TARGETS],
        range=[-0.5, n_t - 0.5],
        side="top",
    )
    figure.update_yaxes(
        tickvals=list(range(n_s)),
        ticktext=[f"{name} items<br>labelled" for name in SOURCES],
        range=[n_s - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def transfer_matrix(result: DifficultyTransfer, calibrator: str, method: str) -> go.Figure:
    """NLL from every source to every target."""
    return plot_transfer(prepare_transfer(result, calibrator, method))


def _written(matrix: TransferCells, s: int, t: int) -> dict[str, object]:
    cell = matrix.cells[s][t]
    form = _form(cell.nll_lo, cell.nll_hi)
    lines = [f"<b>{cell.nll:.3f}</b>{_interval(cell.nll_lo, cell.nll_hi, form)}"]
    if cell.source != cell.target and np.isfinite(cell.delta_lo):
        form = "+" + _form(cell.delta_lo, cell.delta_hi)
        lines.append(f"{cell.delta:{form}}{_interval(cell.delta_lo, cell.delta_hi, form)}")
    lines.append(f"base rate {cell.null_nll:.3f}")
    return {
        "x": t,
        "y": s,
        "text": "<br>".join(lines),
        "showarrow": False,
        "font": {"color": text_on(matrix.colour(s, t)), "size": 11},
    }


def _form(lo: float, hi: float) -> str:
    """Two decimals, three for a narrow interval: it must not look empty."""
    return ".3f" if hi - lo < _NARROW else ".2f"


def _interval(lo: float, hi: float, form: str) -> str:
    return f" [{lo:{form}}, {hi:{form}}]" if np.isfinite(lo) and np.isfinite(hi) else ""


def _hover_text(cell: Cell) -> str:
    """A cell in words, for whoever points at it."""
    text = f"{cell.source} items labelled, scored on {cell.target} items<br>NLL {cell.nll:.3f}"
    text += _interval(cell.nll_lo, cell.nll_hi, ".3f")
    text += f"<br>base rate of these labels: {cell.null_nll:.3f}<br>accuracy {cell.accuracy:.1%}"
    if cell.source != cell.target:
        text += f"<br>against as many labels of {cell.target} items: {cell.delta:+.3f}"
        text += _interval(cell.delta_lo, cell.delta_hi, "+.3f")
    if cell.method == "weighted":
        text += f"<br>effective labels: {cell.effective:.0%}"
    return text
