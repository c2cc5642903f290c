"""Permuted labels: their NLLs at the base rate, the real NLL where it lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    BAND_OPACITY,
    INCLUDE,
    NEUTRAL,
    laid_out,
    with_opacity,
)
from judgepanel.studies.robustness.permutation_result import Permutation

Floats = NDArray[np.float64]

_BINS = 60
_LEAST = 1e-3
_PALE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class PermutedNlls:
    """``count`` (b,) permutations in bins at ``at`` (b,) of one ``width``; the real NLL with its
    interval, NaN until it is known; ``null`` is the mean base rate of the permuted labels.
    """

    at: Floats
    count: NDArray[np.int64]
    width: float
    real: float
    lo: float
    hi: float
    null: float


def prepare_permuted(found: Permutation) -> PermutedNlls:
    """Bins as wide as a sixtieth of all that is drawn, so that a narrow pile can be seen."""
    ends = np.array([found.nll, found.nll_lo, found.nll_hi, *found.permuted_nll])
    ends = ends[np.isfinite(ends)]
    width = max(float(ends.max() - ends.min()) / _BINS, _LEAST) if len(ends) else _LEAST
    place, count = np.unique(np.floor(found.permuted_nll / width), return_counts=True)
    null = float(found.permuted_null.mean()) if len(found.permuted_null) else float("nan")
    return PermutedNlls(
        (place + 0.5) * width, count, width, found.nll, found.nll_lo, found.nll_hi, null
    )


def plot_permuted(shown: PermutedNlls) -> go.Figure:
    """The figure of prepared NLLs."""
    figure = go.Figure()
    figure.add_bar(
        x=shown.at,
        y=shown.count,
        width=shown.width,
        marker={"color": with_opacity(NEUTRAL, _PALE)},
        name="permuted labels",
        hovertemplate="%{y} permutations near NLL %{x:.3f}<extra></extra>",
    )
    top = int(shown.count.max(initial=1))
    if np.isfinite(shown.null):
        _line(figure, shown.null, top, NEUTRAL, "dot", "base rate of permuted labels")
    if np.isfinite(shown.real):
        if np.isfinite(shown.lo):
            figure.add_vrect(
                x0=shown.lo,
                x1=shown.hi,
                fillcolor=with_opacity(INCLUDE, BAND_OPACITY),
                line_width=0,
            )
        _line(figure, shown.real, top, INCLUDE, "solid", "real labels, 95 %")
    laid_out(figure, x="NLL (nats per item)", y="permutations", height=300)
    return figure


def permuted_labels(found: Permutation) -> go.Figure:
    """Real labels among permuted ones."""
    return plot_permuted(prepare_permuted(found))


def _line(figure: go.Figure, x: float, top: int, colour: str, dash: str, name: str) -> None:
    figure.add_scatter(
        x=[x, x],
        y=[0, top],
        mode="lines",
        line={"color": colour, "width": 3, "dash": dash},
        name=name,
        hovertemplate=f"{name}: {x:.3f}<extra></extra>",
    )
