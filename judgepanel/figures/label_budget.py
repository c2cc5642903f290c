"""NLL against labels: all judges and the top k, their difference, and the curve beyond the data."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, eq=False)
class BudgetLine:
    """One panel: scores over the labels, and its fitted curve at ``beyond`` (empty without)."""

    name: str
    value: Floats
    lo: Floats
    hi: Floats
    extrapolated: Floats


@dataclass(frozen=True, slots=True, eq=False)
class BudgetLines:
    """What the figure draws; ``other`` is None where there is no panel beside all judges.

    ``beyond`` are numbers of labels from the largest budget on; ``needed`` is how many all judges
    need to come near the plateau, NaN where that is unknown.
    """

    labels: Floats
    beyond: Floats
    everyone: BudgetLine
    other: BudgetLine | None
    null: Floats
    needed: float


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


def prepare_label_budget(result: LabelBudget, calibrator: str, panel: str | None) -> BudgetLines:
    """Lines of all judges and of one panel (``top-5``) under one calibrator."""
    c = result.row(calibrator)
    last = float(result.labels[-1])
    beyond = np.geomspace(last, max(float(result.n_items), last) + NEXT, 30)

    def line(p: int) -> BudgetLine:
        tail = result.fitted(c, p, beyond)
        return BudgetLine(
            name=result.arms[p],
            value=result.nll[c, p],
            lo=result.nll_lo[c, p],
            hi=result.nll_hi[c, p],
            extrapolated=tail if np.isfinite(tail).all() else np.zeros(0),
        )

    everyone = len(result.panels) - 1
    found = result.needed_for(calibrator, result.arms[everyone])
    return BudgetLines(
        labels=result.labels,
        beyond=beyond,
        everyone=line(everyone),
        other=None if panel is None else line(result.arms.index(panel)),
        null=result.null_nll,
        needed=float("nan") if found is None else found.n,
    )


def plot_label_budget(lines: BudgetLines) -> go.Figure:
    """The figure of prepared lines."""
    figure = go.Figure()
    figure.add_scatter(
        x=lines.labels,
        y=lines.null,
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
        hovertemplate="base rate of %{x:.0f} labels: %{y:.3f}<extra></extra>",
    )
    if lines.other is not None:
        _add_line(figure, lines, lines.other, CURATE_FILL, CURATE_LINE, "diamond", "dash")
    _add_line(figure, lines, lines.everyone, INCLUDE, INCLUDE, "circle", "solid")
    if np.isfinite(lines.needed):
        figure.add_vline(x=lines.needed, line={"color": NEUTRAL, "width": 1, "dash": "dash"})
    laid_out(figure, x="labels the panel is fitted on", y="NLL (nats per item)")
    _log_axis(figure, np.append(lines.labels, lines.beyond))
    return figure


def label_budget(result: LabelBudget, calibrator: str, panel: str | None) -> go.Figure:
    """NLL against the number of labels."""
    return plot_label_budget(prepare_label_budget(result, calibrator, panel))


def _add_line(
    figure: go.Figure,
    lines: BudgetLines,
    one: BudgetLine,
    fill: str,
    colour: str,
    symbol: str,
    dash: str,
) -> None:
    listed = one is lines.everyone  # one entry a kind: a long legend leaves a phone no figure
    if np.isfinite(one.lo).all() and np.isfinite(one.hi).all():
        name = f"{one.name}: 95 % interval"
        _add_band(figure, lines.labels, one.lo, one.hi, fill, name, listed=listed)
    figure.add_scatter(
        x=lines.labels,
        y=one.value,
        mode="lines+markers",
        line={"color": colour, "width": 3, "dash": dash},
        marker={"color": fill, "symbol": symbol, "size": 9, "line": {"color": colour, "width": 1}},
        name=one.name,
        hovertemplate=f"{one.name}, %{{x:.0f}} labels: %{{y:.3f}}<extra></extra>",
    )
    if len(one.extrapolated):
        figure.add_scatter(
            x=lines.beyond,
            y=one.extrapolated,
            mode="lines",
            line={"color": colour, "width": 1.5, "dash": "dot"},
            name=f"{one.name}: extrapolated",
            showlegend=listed,
            hovertemplate=f"{one.name}, extrapolated to %{{x:.0f}} labels: %{{y:.3f}}"
            "<extra></extra>",
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
    )


def plot_difference(band: DifferenceBand) -> go.Figure:
    """The figure of a prepared difference."""
    figure = go.Figure()
    if np.isfinite(band.band_lo).all() and np.isfinite(band.band_hi).all():
        _add_band(
            figure,
            band.labels,
            band.band_lo,
            band.band_hi,
            CURATE_FILL,
            "95 % at all budgets together",
        )
    figure.add_scatter(
        x=band.labels,
        y=band.value,
        mode="lines+markers",
        line={"color": CURATE_LINE, "width": 3, "dash": "dash"},
        marker={
            "color": CURATE_FILL,
            "symbol": "diamond",
            "size": 9,
            "line": {"color": CURATE_LINE, "width": 1},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(band.hi - band.value),
            "arrayminus": np.nan_to_num(band.value - band.lo),
            "color": CURATE_LINE,
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
        y=f"NLL of {band.name} - NLL of {band.reference}",
        height=320,
    )
    _log_axis(figure, band.labels)
    return figure


def budget_difference(result: LabelBudget, calibrator: str, panel: str) -> go.Figure:
    """What a smaller panel costs (above 0) or saves, against the number of labels."""
    return plot_difference(prepare_difference(result, calibrator, panel))


def _add_band(
    figure: go.Figure,
    x: Floats,
    lo: Floats,
    hi: Floats,
    fill: str,
    name: str,
    *,
    listed: bool = True,
) -> None:
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
