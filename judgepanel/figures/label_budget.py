"""NLL against labels: all judges and the top k, their difference, and the extrapolated curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats
from judgepanel.figures.style import (
    ALL_JUDGES,
    CHOSEN,
    DOTTED,
    NEUTRAL,
    Look,
    add_band,
    add_base_rate,
    add_series,
    laid_out,
    with_opacity,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.trust.label_budget import NEXT, LabelBudget

_TICKS = tuple(m * 10**e for e in range(1, 7) for m in (1, 2, 5))
_NARROW = 1.25
_BEYOND = 0.08
_MISS = 0.05
"""Relative miss of the last level above which a fitted curve is not extrapolated."""


SECOND = Look("#2F7D5B", "#2F7D5B", "square", "dashdot")


def label_budget(result: LabelBudget, calibrator: str, panels: Sequence[str] = ()) -> go.Figure:
    """NLL against the number of labels: all judges and these panels (``top-5``).

    Extrapolation is shaded and dotted.
    """
    c, everyone = result.row(calibrator), len(result.panels) - 1
    last = float(result.labels[-1])
    beyond = np.geomspace(last, max(float(result.have), last) + NEXT, 30)
    figure = go.Figure()
    add_base_rate(figure, result.labels, result.null_nll, "base rate of %{x:.0f} labels: %{y:.3f}")
    for p in (*map(result.arms.index, panels), everyone):
        name, look = result.arms[p], ALL_JUDGES if p == everyone else look_of(result, p)
        what, listed = "%{x:.0f} labels", p == everyone
        add_line(figure, result.labels, result.nll[c, p], name, look, what, listed=listed)
        tail = result.fitted(c, p, beyond)
        if _goes_on(tail, float(result.nll.value[c, p, -1])):
            faint = Look(look.fill, look.colour, "", "dot", 1.5)
            hover = f"{name}, extrapolated to %{{x:.0f}} labels: %{{y:.3f}}"
            more = f"{name}: extrapolated"
            add_series(figure, beyond, tail, faint, more, hover, showlegend=p == everyone)
            if p == everyone:
                figure.add_vrect(
                    x0=beyond[0],
                    x1=beyond[-1],
                    fillcolor=with_opacity(NEUTRAL, _BEYOND),
                    line_width=0,
                    layer="below",
                )
    mark = {"color": NEUTRAL, "width": 1, "dash": "dash"}
    needed = result.needed_for(calibrator, result.arms[everyone])
    if needed is not None and np.isfinite(result.quoted(needed)):
        figure.add_vline(x=result.quoted(needed), line=mark)
    if result.target is not None:
        figure.add_hline(y=result.target, line=mark)
    laid_out(figure, x="labels the panel is fitted on", y="NLL (nats per item)")
    _log_axis(figure, np.append(result.labels, beyond))
    return figure


def _goes_on(tail: Floats, level: float) -> bool:
    """Whether a fitted curve continues from where the levels end."""
    return bool(np.isfinite(tail).all() and abs(float(tail[0]) - level) <= _MISS * level)


def look_of(result: LabelBudget, p: int) -> Look:
    """The look of a panel that is compared with all judges."""
    return CHOSEN if result.beside is None or p else SECOND


def add_line(
    figure: go.Figure, x: Floats, nll: Interval, name: str, look: Look, what: str, *, listed: bool
) -> None:
    """Add a panel's scores (n,) with their band; ``what`` describes the x value in hover text.

    Only one band of a figure goes into the legend, or a phone has no room for the plot.
    """
    add_band(figure, x, nll, look.fill, name=f"{name}: 95 % interval", showlegend=listed)
    add_series(figure, x, nll.value, look, name, f"{name}, {what}: %{{y:.3f}}")


def budget_difference(result: LabelBudget, calibrator: str, panel: str) -> go.Figure:
    """NLL of another panel less that of all judges, against the number of labels."""
    c, p = result.row(calibrator), result.arms.index(panel)
    figure, look = go.Figure(), look_of(result, p)
    labels = result.labels
    name = "95 % at all budgets together"
    add_band(figure, labels, result.band[c, p], look.fill, name=name, showlegend=True)
    name, hover = f"{panel}, with 95 % at each budget", f"{panel}, %{{x:.0f}} labels: %{{y:+.3f}}"
    add_series(figure, labels, result.delta[c, p], look, name, hover)
    figure.add_hline(y=0.0, line=DOTTED)
    laid_out(figure, x="labels the panel is fitted on", y="difference in NLL", height=320)
    _log_axis(figure, result.labels)
    return figure


def _log_axis(figure: go.Figure, values: Floats) -> None:
    low, high = float(values.min()), float(values.max())
    ticks = [tick for tick in _TICKS if low / _NARROW <= tick <= high * _NARROW] or [round(low)]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])
