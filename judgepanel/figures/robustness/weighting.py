"""What it changes when some comparisons count for more, against the margin of no effect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    BAND_OPACITY,
    INCLUDE,
    NEUTRAL,
    error_bars,
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.robustness.weighting_result import ReliabilityWeighting

Floats = NDArray[np.float64]

_ROW = 32
_LABEL = 24


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """``value``, ``lo``, ``hi`` (n,) of NLL(weighted) - NLL(unweighted), one a row of ``names``;
    effects within ``margin`` count as none.
    """

    names: tuple[str, ...]
    value: Floats
    lo: Floats
    hi: Floats
    margin: float


def prepare_weighting(result: ReliabilityWeighting, names: tuple[str, ...]) -> Effects:
    """Effects in the order of the signals, under the names given."""
    return Effects(names, result.delta, result.lo, result.hi, result.margin)


def plot_weighting(effects: Effects) -> go.Figure:
    """The figure of prepared effects: one row per signal, first on top."""
    figure = go.Figure()
    n = len(effects.names)
    rows = np.arange(n)[::-1]
    figure.add_vrect(
        x0=-effects.margin,
        x1=effects.margin,
        fillcolor=with_opacity(NEUTRAL, BAND_OPACITY),
        line={"width": 0},
    )
    figure.add_vline(x=0.0, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.add_scatter(
        x=effects.value,
        y=rows,
        mode="markers",
        marker={"color": INCLUDE, "size": 9},
        error_x=error_bars(Interval(effects.value, effects.lo, effects.hi), INCLUDE),
        text=[escaped(name) for name in effects.names],
        hovertemplate="%{text}: %{x:+.4f}<extra></extra>",
        showlegend=False,
    )
    laid_out(figure, x="change of the NLL", y="", height=_ROW * n + 90)
    figure.update_yaxes(
        tickvals=rows,
        ticktext=[escaped(name, _LABEL) for name in effects.names],
        range=[-0.6, n - 0.4],
    )
    return figure


def weighting(result: ReliabilityWeighting, names: tuple[str, ...]) -> go.Figure:
    """Effects of all signals with 95 % intervals; the band is the margin of no effect."""
    return plot_weighting(prepare_weighting(result, names))
