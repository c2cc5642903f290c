"""Accuracy against the share answered, and where the stated confidences lie on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import BAND_OPACITY, INCLUDE, NEUTRAL, laid_out, with_opacity
from judgepanel.studies.confidence.probabilities import CALIBRATED, RAW
from judgepanel.studies.confidence.reliability_result import FEW_ITEMS
from judgepanel.studies.confidence.selective_result import Selective

Floats = NDArray[np.float64]

_CLOSE = 0.08
_LEFT = 0.4


@dataclass(frozen=True, slots=True, eq=False)
class SelectiveLines:
    """What the figure draws: accuracy (n,) at ``shares`` (n,), with a band after calibration.

    ``at`` (m,) and ``at_right`` (m,) are the share answered and the accuracy at the confidences in
    ``names``; ``everything`` is the accuracy of answering all items.
    """

    shares: Floats
    before: Floats
    after: Floats
    lo: Floats
    hi: Floats
    at: Floats
    at_right: Floats
    names: tuple[str, ...]
    everything: float


def prepare_selective(result: Selective) -> SelectiveLines:
    """Both curves; marks of few items, or that would lie on each other, are left out."""
    order = np.argsort(-result.share[CALIBRATED], kind="stable")
    labelled: list[int] = []
    for i in order.tolist():
        share = float(result.share[CALIBRATED, i])
        if result.items[CALIBRATED, i] >= FEW_ITEMS and (
            not labelled or float(result.share[CALIBRATED, labelled[-1]]) - share > _CLOSE
        ):
            labelled.append(i)
    return SelectiveLines(
        shares=result.shares,
        before=result.curve[RAW],
        after=result.curve[CALIBRATED],
        lo=result.curve_lo[CALIBRATED],
        hi=result.curve_hi[CALIBRATED],
        at=result.share[CALIBRATED, labelled],
        at_right=result.right[CALIBRATED, labelled],
        names=tuple(f"{100 * result.confidences[i]:g} % sure" for i in labelled),
        everything=float(result.accuracy[CALIBRATED]),
    )


def plot_selective(lines: SelectiveLines) -> go.Figure:
    """The figure of prepared curves."""
    figure = go.Figure()
    if np.isfinite(lines.lo).all() and np.isfinite(lines.hi).all():
        figure.add_scatter(
            x=np.concatenate([lines.shares, lines.shares[::-1]]),
            y=np.concatenate([lines.hi, lines.lo[::-1]]),
            fill="toself",
            fillcolor=with_opacity(INCLUDE, BAND_OPACITY),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            name="95 % interval",
        )
    figure.add_hline(y=lines.everything, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    figure.add_scatter(
        x=lines.shares,
        y=lines.before,
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dash"},
        name="before",
        hovertemplate="before, surest %{x:.0%}: right %{y:.1%}<extra></extra>",
    )
    figure.add_scatter(
        x=lines.shares,
        y=lines.after,
        mode="lines",
        line={"color": INCLUDE, "width": 3},
        name="after calibration",
        hovertemplate="surest %{x:.0%}: right %{y:.1%}<extra></extra>",
    )
    figure.add_scatter(
        x=lines.at,
        y=lines.at_right,
        mode="markers+text",
        marker={"color": INCLUDE, "size": 9, "symbol": "circle"},
        text=list(lines.names),
        textposition=_beside(lines.at),
        name="stated confidence",
        hovertemplate="%{text}: answers %{x:.1%}, right %{y:.1%}<extra></extra>",
        cliponaxis=False,
    )
    laid_out(figure, x="share of items answered, surest first", y="share of answers right")
    figure.update_xaxes(tickformat=".0%", range=[0.0, 1.02])
    figure.update_yaxes(tickformat=".0%")
    return figure


def _beside(at: Floats) -> list[str]:
    """Names of marks near the left edge stand on their right, clear of the axis."""
    return ["bottom right" if share < _LEFT else "bottom left" for share in at]


def selective_figure(result: Selective) -> go.Figure:
    """Accuracy against the share answered."""
    return plot_selective(prepare_selective(result))
