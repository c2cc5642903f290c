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


def prepare_permuted(result: Permutation) -> PermutedNlls:
    """Bins as wide as a sixtieth of all that is drawn, so that a narrow pile can be seen."""
    ends = np.array([result.nll, result.nll_lo, result.nll_hi, *result.permuted_nll])
    ends = ends[np.isfinite(ends)]
    width = max(float(ends.max() - ends.min()) / _BINS, _LEAST) if len(ends) else _LEAST
    place, count = np.unique(np.floor(result.permuted_nll / width), return_counts=True)
    null = float(result.permuted_null.mean()) if len(result.permuted_null) else float("nan")
    return PermutedNlls(
        (place + 0.5) * width, count, width, result.nll, result.nll_lo, result.nll_hi, null
    )


def plot_permuted(permuted_nlls: PermutedNlls) -> go.Figure:
    """The figure of prepared NLLs."""
    figure = go.Figure()
    figure.add_bar(
        x=permuted_nlls.at,
        y=permuted_nlls.count,
        width=permuted_nlls.width,
        marker={"color": with_opacity(NEUTRAL, _PALE)},
        name="permuted labels",
        hovertemplate="%{y} permutations near NLL %{x:.3f}<extra></extra>",
    )
    top = int(permuted_nlls.count.max(initial=1))
    if np.isfinite(permuted_nlls.null):
        _line(figure, permuted_nlls.null, top, NEUTRAL, "dot", "base rate of permuted labels")
    if np.isfinite(permuted_nlls.real):
        if np.isfinite(permuted_nlls.lo):
            figure.add_vrect(
                x0=permuted_nlls.lo,
                x1=permuted_nlls.hi,
                fillcolor=with_opacity(INCLUDE, BAND_OPACITY),
                line_width=0,
            )
        _line(figure, permuted_nlls.real, top, INCLUDE, "solid", "real labels, 95 %")
    laid_out(figure, x="NLL (nats per item)", y="permutations", height=300)
    return figure


def permuted_labels(result: Permutation) -> go.Figure:
    """Real labels among permuted ones."""
    return plot_permuted(prepare_permuted(result))


def _line(figure: go.Figure, x: float, top: int, colour: str, dash: str, name: str) -> None:
    figure.add_scatter(
        x=[x, x],
        y=[0, top],
        mode="lines",
        line={"color": colour, "width": 3, "dash": dash},
        name=name,
        hovertemplate=f"{name}: {x:.3f}<extra></extra>",
    )
