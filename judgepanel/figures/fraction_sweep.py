"""NLL against the share of the items that calibrates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.label_budget import (
    EVERYONE,
    SMALLER,
    BudgetLine,
    add_line,
    add_null,
)
from judgepanel.figures.style import NEUTRAL, laid_out
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep

Floats = NDArray[np.float64]

_APART = 18.0


@dataclass(frozen=True, slots=True, eq=False)
class ShareLines:
    """Lines over the shares, in per cent; ``labels`` calibrate there and ``evaluated`` are scored.

    ``enough`` is the share that is enough for all judges, NaN where that is unknown.
    """

    shares: Floats
    labels: Floats
    evaluated: Floats
    everyone: BudgetLine
    other: BudgetLine | None
    null: Floats
    enough: float


def prepare_fraction_sweep(
    result: FractionSweep, calibrator: str, panel: str | None = None
) -> ShareLines:
    """Lines of all judges and of one panel (``top-5``) under one calibrator."""
    c, last = result.row(calibrator), len(result.panels) - 1

    def line(p: int) -> BudgetLine:
        return BudgetLine(
            name=result.arms[p],
            value=result.nll[c, p],
            lo=result.nll_lo[c, p],
            hi=result.nll_hi[c, p],
            extrapolated=np.zeros(0),
            look=EVERYONE if p == last else SMALLER,
        )

    needed = result.needed_for(calibrator, result.arms[last])
    return ShareLines(
        shares=100.0 * result.shares,
        labels=result.labels,
        evaluated=result.evaluated,
        everyone=line(last),
        other=None if panel is None else line(result.arms.index(panel)),
        null=result.null_nll,
        enough=float("nan") if needed is None else 100.0 * needed.share,
    )


def plot_fraction_sweep(lines: ShareLines) -> go.Figure:
    """The figure of prepared lines; a tick says the share and how many labels that is."""
    figure = go.Figure()
    add_null(figure, lines.shares, lines.null, "base rate with %{x:.0f} %: %{y:.3f}")
    counts = np.stack([lines.labels, lines.evaluated], axis=1)
    what = "%{x:.0f} % (%{customdata[0]:,.0f} calibrate, %{customdata[1]:,.0f} evaluate)"
    for line in (lines.other, lines.everyone):
        if line is not None:
            add_line(figure, lines.shares, line, "%", listed=line is lines.everyone, what=what)
            figure.data[-1].customdata = counts
    if np.isfinite(lines.enough):
        figure.add_vline(x=lines.enough, line={"color": NEUTRAL, "width": 1, "dash": "dash"})
    laid_out(
        figure,
        x="share that calibrates, and its labels",
        y="NLL (nats per item)",
        height=340,
    )
    ticks = _apart(lines.shares)
    figure.update_xaxes(
        tickvals=lines.shares[ticks],
        ticktext=[
            f"{share:g} %<br>{n:,.0f}"
            for share, n in zip(lines.shares[ticks], lines.labels[ticks], strict=True)
        ],
        tickangle=0,
    )
    return figure


def fraction_sweep(result: FractionSweep, calibrator: str, panel: str | None = None) -> go.Figure:
    """NLL against the calibration share."""
    return plot_fraction_sweep(prepare_fraction_sweep(result, calibrator, panel))


def _apart(shares: Floats) -> list[int]:
    """Positions of shares, the largest first, far enough apart for their labels on a phone."""
    positions = [len(shares) - 1]
    for position in range(len(shares) - 2, -1, -1):
        if shares[positions[-1]] - shares[position] >= _APART:
            positions.append(position)
    return positions[::-1]
