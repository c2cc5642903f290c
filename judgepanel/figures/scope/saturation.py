"""NLL against the share of judges kept, with the band that counts as 'adds nothing'."""

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
    rank_axis,
    with_opacity,
)
from judgepanel.studies.scope.saturation import Saturation, written_change

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SaturationLine:
    """What the figure draws: NLL (n_sizes,) with bounds by number of judges kept, ``words`` on
    what adding the others does, and the band [``low``, ``high``] about the NLL of all.
    """

    sizes: NDArray[np.int64]
    value: Floats
    lo: Floats
    hi: Floats
    words: tuple[str, ...]
    low: float
    high: float


def prepare_saturation(saturation: Saturation) -> SaturationLine:
    """The curve in the order of the panel sizes."""
    words = []
    for position in range(len(saturation.sizes)):
        change = written_change(*saturation.relative(position))
        everyone = position == len(saturation.sizes) - 1
        words.append("all judges" if everyone else f"adding the others: {change}")
    level = float(saturation.nll[-1])
    return SaturationLine(
        sizes=saturation.sizes,
        value=saturation.nll,
        lo=saturation.nll_lo,
        hi=saturation.nll_hi,
        words=tuple(words),
        low=level - saturation.margin,
        high=level + saturation.margin,
    )


def plot_saturation(line: SaturationLine) -> go.Figure:
    """Best judges from left to right."""
    figure = go.Figure()
    if np.isfinite(line.lo).all() and np.isfinite(line.hi).all():
        figure.add_scatter(
            x=np.concatenate([line.sizes, line.sizes[::-1]]),
            y=np.concatenate([line.hi, line.lo[::-1]]),
            fill="toself",
            fillcolor=with_opacity(INCLUDE, BAND_OPACITY),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            name="95 % interval",
        )
    ends = np.array([0, line.sizes[-1] + 1])
    figure.add_scatter(
        x=np.concatenate([ends, ends[::-1]]),
        y=np.array([line.low, line.low, line.high, line.high]),
        fill="toself",
        fillcolor=with_opacity(NEUTRAL, 0.35),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name="within 1 % of all",
    )
    figure.add_scatter(
        x=line.sizes,
        y=line.value,
        mode="lines+markers",
        line={"color": INCLUDE, "width": 3},
        marker={"color": INCLUDE, "size": 8},
        name="best judges kept",
        text=list(line.words),
        hovertemplate="best %{x}: NLL %{y:.3f}<br>%{text}<extra></extra>",
    )
    laid_out(figure, x="judges kept, most accurate first", y="NLL (nats per item)", height=320)
    rank_axis(figure, int(line.sizes[-1]))
    return figure


def saturation_curve(saturation: Saturation) -> go.Figure:
    """NLL against the number of judges kept."""
    return plot_saturation(prepare_saturation(saturation))
