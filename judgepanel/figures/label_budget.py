"""NLL against labels: all judges and the top k, their difference, and the curve beyond the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    BAND_OPACITY,
    CURATE_FILL,
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    laid_out,
    with_opacity,
)
from judgepanel.studies.budget.label_budget_result import NEXT, LabelBudget

Floats = NDArray[np.float64]

_TICKS = tuple(m * 10**e for e in range(1, 7) for m in (1, 2, 5))
_NARROW = 1.25
_BEYOND = 0.08
_MISS = 0.05
"""A curve that misses the last level by more, as a share of it, is not drawn beyond it."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a panel is told apart, in colour, marker and dash."""

    fill: str
    colour: str
    symbol: str
    dash: str


EVERYONE = Look(INCLUDE, INCLUDE, "circle", "solid")
SMALLER = Look(CURATE_FILL, CURATE_LINE, "diamond", "dash")
SECOND = Look("#2F7D5B", "#2F7D5B", "square", "dashdot")


@dataclass(frozen=True, slots=True, eq=False)
class BudgetLine:
    """One panel: scores over the labels, and its fitted curve at ``beyond`` (empty without)."""

    name: str
    value: Floats
    lo: Floats
    hi: Floats
    extrapolated: Floats
    look: Look


@dataclass(frozen=True, slots=True, eq=False)
class BudgetLines:
    """What the figure draws; ``others`` are the panels beside all judges.

    ``beyond`` are numbers of labels from the largest budget on; ``needed`` is how many all judges
    need to come near the plateau, NaN where that is unknown; ``target`` an NLL to reach, or None.
    """

    labels: Floats
    beyond: Floats
    everyone: BudgetLine
    others: tuple[BudgetLine, ...]
    null: Floats
    needed: float
    target: float | None


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceBand:
    """NLL(top-k) - NLL(all) over the labels, pointwise interval and simultaneous band."""

    labels: Floats
    name: str
    reference: str
    value: Floats
    lo: Floats
    hi: Floats
    band_lo: Floats
    band_hi: Floats
    look: Look


def prepare_label_budget(
    result: LabelBudget, calibrator: str, panels: Sequence[str] = ()
) -> BudgetLines:
    """Lines of all judges and of these panels (``top-5``) under one calibrator."""
    c = result.row(calibrator)
    last = float(result.labels[-1])
    beyond = np.geomspace(last, max(float(result.have), last) + NEXT, 30)
    everyone = len(result.panels) - 1

    def line(p: int) -> BudgetLine:
        tail = result.fitted(c, p, beyond)
        level = float(result.nll[c, p, -1])
        extrapolates = np.isfinite(tail).all() and abs(float(tail[0]) - level) <= _MISS * level
        return BudgetLine(
            name=result.arms[p],
            value=result.nll[c, p],
            lo=result.nll_lo[c, p],
            hi=result.nll_hi[c, p],
            extrapolated=tail if extrapolates else np.zeros(0),
            look=EVERYONE if p == everyone else look_of(result, p),
        )

    need = result.needed_for(calibrator, result.arms[everyone])
    return BudgetLines(
        labels=result.labels,
        beyond=beyond,
        everyone=line(everyone),
        others=tuple(line(result.arms.index(panel)) for panel in panels),
        null=result.null_nll,
        needed=float("nan") if need is None else result.quoted(need),
        target=result.target,
    )


def look_of(result: LabelBudget, p: int) -> Look:
    """The look of a panel that is held against all judges."""
    return SMALLER if result.aggregator_of(p) == result.aggregator else SECOND


def plot_label_budget(lines: BudgetLines) -> go.Figure:
    """The figure of prepared lines; what lies beyond the data is shaded and dotted."""
    figure = go.Figure()
    add_null(figure, lines.labels, lines.null, "base rate of %{x:.0f} labels: %{y:.3f}")
    for other in lines.others:
        add_line(figure, lines.labels, other, "labels", listed=False)
        _add_tail(figure, lines, other)
    add_line(figure, lines.labels, lines.everyone, "labels", listed=True)
    _add_tail(figure, lines, lines.everyone)
    if len(lines.everyone.extrapolated):
        figure.add_vrect(
            x0=lines.beyond[0],
            x1=lines.beyond[-1],
            fillcolor=with_opacity(NEUTRAL, _BEYOND),
            line_width=0,
            layer="below",
        )
    if np.isfinite(lines.needed):
        figure.add_vline(x=lines.needed, line={"color": NEUTRAL, "width": 1, "dash": "dash"})
    if lines.target is not None:
        figure.add_hline(y=lines.target, line={"color": NEUTRAL, "width": 1, "dash": "dash"})
    laid_out(figure, x="labels the panel is fitted on", y="NLL (nats per item)")
    _log_axis(figure, np.append(lines.labels, lines.beyond))
    return figure


def label_budget(result: LabelBudget, calibrator: str, panels: Sequence[str] = ()) -> go.Figure:
    """NLL against the number of labels."""
    return plot_label_budget(prepare_label_budget(result, calibrator, panels))


def add_null(figure: go.Figure, x: Floats, null: Floats, hover: str) -> None:
    """The base rate's NLL, which every other line is to be held against."""
    figure.add_scatter(
        x=x,
        y=null,
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
        hovertemplate=hover + "<extra></extra>",
    )


def add_line(
    figure: go.Figure, x: Floats, line: BudgetLine, unit: str, *, listed: bool, what: str = ""
) -> None:
    """A panel's scores with their band; one band is listed, or a phone has no room to draw."""
    look = line.look
    if np.isfinite(line.lo).all() and np.isfinite(line.hi).all():
        add_band(
            figure, x, line.lo, line.hi, look.fill, f"{line.name}: 95 % interval", listed=listed
        )
    figure.add_scatter(
        x=x,
        y=line.value,
        mode="lines+markers",
        line={"color": look.colour, "width": 3, "dash": look.dash},
        marker={
            "color": look.fill,
            "symbol": look.symbol,
            "size": 9,
            "line": {"color": look.colour, "width": 1},
        },
        name=line.name,
        hovertemplate=f"{line.name}, {what or '%{x:.0f} ' + unit}: %{{y:.3f}}<extra></extra>",
    )


def _add_tail(figure: go.Figure, lines: BudgetLines, line: BudgetLine) -> None:
    if not len(line.extrapolated):
        return
    figure.add_scatter(
        x=lines.beyond,
        y=line.extrapolated,
        mode="lines",
        line={"color": line.look.colour, "width": 1.5, "dash": "dot"},
        name=f"{line.name}: extrapolated",
        showlegend=line is lines.everyone,
        hovertemplate=f"{line.name}, extrapolated to %{{x:.0f}} labels: %{{y:.3f}}<extra></extra>",
    )


def prepare_difference(result: LabelBudget, calibrator: str, panel: str) -> DifferenceBand:
    """The difference of one panel from all judges under one calibrator."""
    c, p = result.row(calibrator), result.arms.index(panel)
    return DifferenceBand(
        labels=result.labels,
        name=panel,
        reference=result.arms[-1],
        value=result.delta[c, p],
        lo=result.delta_lo[c, p],
        hi=result.delta_hi[c, p],
        band_lo=result.band_lo[c, p],
        band_hi=result.band_hi[c, p],
        look=look_of(result, p),
    )


def plot_difference(band: DifferenceBand) -> go.Figure:
    """The figure of a prepared difference."""
    figure, look = go.Figure(), band.look
    if np.isfinite(band.band_lo).all() and np.isfinite(band.band_hi).all():
        name = "95 % at all budgets together"
        add_band(figure, band.labels, band.band_lo, band.band_hi, look.fill, name)
    figure.add_scatter(
        x=band.labels,
        y=band.value,
        mode="lines+markers",
        line={"color": look.colour, "width": 3, "dash": look.dash},
        marker={
            "color": look.fill,
            "symbol": look.symbol,
            "size": 9,
            "line": {"color": look.colour, "width": 1},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(band.hi - band.value),
            "arrayminus": np.nan_to_num(band.value - band.lo),
            "color": look.colour,
            "thickness": 1.2,
            "width": 4,
        },
        name=f"{band.name}, with 95 % at each budget",
        hovertemplate=f"{band.name}, %{{x:.0f}} labels: %{{y:+.3f}}<extra></extra>",
    )
    figure.add_hline(y=0.0, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    laid_out(
        figure,
        x="labels the panel is fitted on",
        y="difference in NLL",
        height=320,
    )
    _log_axis(figure, band.labels)
    return figure


def budget_difference(result: LabelBudget, calibrator: str, panel: str) -> go.Figure:
    """What another panel costs (above 0) or saves, against the number of labels."""
    return plot_difference(prepare_difference(result, calibrator, panel))


def add_band(
    figure: go.Figure,
    x: Floats,
    lo: Floats,
    hi: Floats,
    fill: str,
    name: str,
    *,
    listed: bool = True,
) -> None:
    """A band between two lines."""
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([hi, lo[::-1]]),
        fill="toself",
        fillcolor=with_opacity(fill, BAND_OPACITY),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name=name,
        showlegend=listed,
    )


def _log_axis(figure: go.Figure, values: Floats) -> None:
    low, high = float(values.min()), float(values.max())
    ticks = [tick for tick in _TICKS if low / _NARROW <= tick <= high * _NARROW] or [round(low)]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])
