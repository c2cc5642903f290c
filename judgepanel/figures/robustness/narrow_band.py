"""Simulated: what pruning costs, against the width of the band of accuracies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL, error_bars, laid_out
from judgepanel.scoring.interval import Interval
from judgepanel.studies.robustness.narrow_band_result import NarrowBand

Floats = NDArray[np.float64]

_LOOKS = (
    (INCLUDE, "circle", "solid"),
    (NEUTRAL, "square", "dot"),
    (CURATE_LINE, "diamond", "dash"),
)


@dataclass(frozen=True, slots=True, eq=False)
class BandLines:
    """``value``, ``lo``, ``hi`` (n_rhos, n_widths) of NLL(pruned) - NLL(all) for one size and
    share; ``own`` is the width of the panel at hand, NaN where unknown.
    """

    widths: Floats
    rhos: Floats
    value: Floats
    lo: Floats
    hi: Floats
    own: float


def prepare_narrow_band(result: NarrowBand, size: int, share: int) -> BandLines:
    """Lines at positions of a size and of a share, with the bounds for all cells together."""
    return BandLines(
        widths=result.widths,
        rhos=result.rhos,
        value=result.delta[:, :, size, share].T,
        lo=result.band_lo[:, :, size, share].T,
        hi=result.band_hi[:, :, size, share].T,
        own=result.own_width,
    )


def plot_narrow_band(lines: BandLines) -> go.Figure:
    """The figure of prepared lines."""
    figure = go.Figure()
    figure.add_hline(y=0.0, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    for i, rho in enumerate(lines.rhos):
        colour, symbol, dash = _LOOKS[i % len(_LOOKS)]
        name = f"latent correlation {rho:g}"
        figure.add_scatter(
            x=lines.widths + 0.004 * (i - (len(lines.rhos) - 1) / 2),
            y=lines.value[i],
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y=error_bars(Interval(lines.value[i], lines.lo[i], lines.hi[i]), colour),
            name=name,
            hovertemplate=f"{name}: %{{y:+.3f}}<extra></extra>",
        )
    if np.isfinite(lines.own):
        figure.add_vline(x=lines.own, line={"color": NEUTRAL, "width": 1, "dash": "dash"})
    return laid_out(
        figure, x="width of the band of accuracies", y="NLL pruned - NLL all (simulated)"
    )


def narrow_band(result: NarrowBand, size: int, share: int) -> go.Figure:
    """What pruning costs (above 0) or saves in simulated panels."""
    return plot_narrow_band(prepare_narrow_band(result, size, share))
