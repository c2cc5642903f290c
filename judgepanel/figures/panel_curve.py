"""A score against panel size: raw, calibrated with its band, null, best k and all."""

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
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.studies.curve.panel_curve import PanelCurve

Floats = NDArray[np.float64]

_MARKED_SIZES = 20

METRIC_NAMES = {
    "nll": "NLL (nats per item)",
    "brier": "Brier score",
    "ece": "expected calibration error",
    "accuracy": "accuracy",
}


@dataclass(frozen=True, slots=True, eq=False)
class CurveLines:
    """What the figure draws: arrays over ``k``; ``raw`` None when the raw score is the line."""

    k: NDArray[np.int64]
    value: Floats
    lo: Floats
    hi: Floats
    raw: Floats | None
    null: float | None
    best: int
    judge: tuple[str, ...]


def prepare_panel_curve(curve: PanelCurve, calibrator: str, metric: str = "nll") -> CurveLines:
    """Lines of one calibrator and metric (``nll``, ``brier``, ``ece``, ``accuracy``)."""
    row = curve.row(calibrator)
    values = getattr(curve, metric)
    has_raw = "none" in curve.calibrators and calibrator != "none"
    value = values[row]
    best = int(value.argmax() if metric == "accuracy" else value.argmin())
    return CurveLines(
        k=curve.k,
        value=value,
        lo=getattr(curve, f"{metric}_lo")[row],
        hi=getattr(curve, f"{metric}_hi")[row],
        raw=values[curve.row("none")] if has_raw else None,
        null=curve.null_nll if metric == "nll" else None,
        best=best,
        judge=tuple(curve.ranking[k - 1] for k in curve.k),
    )


def plot_panel_curve(lines: CurveLines, *, calibrator: str, metric: str = "nll") -> go.Figure:
    """The figure of prepared lines."""
    figure = go.Figure()
    ceiling = _ceiling(lines)
    banded = np.isfinite(lines.lo).all() and np.isfinite(lines.hi).all()
    if banded:
        figure.add_scatter(
            x=np.concatenate([lines.k, lines.k[::-1]]),
            y=np.concatenate([lines.hi, lines.lo[::-1]]),
            fill="toself",
            fillcolor=with_opacity(INCLUDE, BAND_OPACITY),
            line={"width": 0},
            hoverinfo="skip",
            name="95 % interval" if metric != "ece" else "central 95 % of splits",
        )
    if lines.raw is not None:
        figure.add_scatter(
            x=lines.k,
            y=lines.raw,
            mode="lines",
            line={"color": NEUTRAL, "width": 1.5, "dash": "dash"},
            name="raw" if ceiling is None else f"raw (up to {lines.raw.max():.2f})",
            hovertemplate="top-%{x} raw: %{y:.3f}<extra></extra>",
        )
    added = [
        f"{ordinal(k)} judge added: {escaped(name)}"
        for k, name in zip(lines.k, lines.judge, strict=True)
    ]
    figure.add_scatter(
        x=lines.k,
        y=lines.value,
        mode=_mode(lines.k),
        line={"color": INCLUDE, "width": 3},
        marker={"color": INCLUDE, "size": 7},
        name="raw" if calibrator == "none" else f"calibrated ({calibrator})",
        customdata=added,
        hovertemplate="top-%{x}: %{y:.3f}<br>%{customdata}<extra></extra>",
    )
    if lines.null is not None:
        _add_null(figure, lines)
    _add_marks(figure, lines)
    figure = laid_out(figure, x="judges kept, best first", y=METRIC_NAMES[metric])
    _set_ticks(figure, int(lines.k[-1]))
    if metric == "accuracy":
        figure.update_yaxes(tickformat=".0%")
    if ceiling is not None:
        figure.update_yaxes(range=[0.0, ceiling])
    return figure


def panel_curve(curve: PanelCurve, calibrator: str, metric: str = "nll") -> go.Figure:
    """Score against the number of judges kept."""
    lines = prepare_panel_curve(curve, calibrator, metric)
    return plot_panel_curve(lines, calibrator=calibrator, metric=metric)


def ordinal(k: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th ..."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{'th' if k % 100 in (11, 12, 13) else suffix}"


def _mode(k: NDArray[np.int64]) -> str:
    """Where few sizes of many are known, each is marked: between them the line is a guess."""
    if len(k) == 1:
        return "markers"
    return "lines+markers" if len(k) <= _MARKED_SIZES and k[-1] - k[0] >= len(k) else "lines"


def _ceiling(lines: CurveLines) -> float | None:
    """Where the axis ends when the raw score is so far off that all else would be flat."""
    if lines.raw is None or lines.null is None:
        return None
    rest = max(lines.null, float(np.nanmax(np.append(lines.hi, lines.value))))
    return 1.5 * rest if lines.raw.max() > 2.0 * rest else None


def _set_ticks(figure: go.Figure, n: int) -> None:
    """Every size up to 12 judges; beyond, a log axis."""
    if n <= 12:
        figure.update_xaxes(tickvals=list(range(1, n + 1)))
        return
    ticks = [k for k in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if k < n * 0.65]
    ticks.append(n)
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{k:,}" for k in ticks])


def _add_null(figure: go.Figure, lines: CurveLines) -> None:
    figure.add_scatter(
        x=[lines.k[0], lines.k[-1]],
        y=[lines.null, lines.null],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
        hovertemplate="base rate alone: %{y:.3f}<extra></extra>",
    )


def _add_marks(figure: go.Figure, lines: CurveLines) -> None:
    at_the_end = lines.best == len(lines.k) - 1
    if not at_the_end:
        _add_best(figure, lines)
    name = f"all {lines.k[-1]:,}" + (", best in hindsight" if at_the_end else "")
    figure.add_scatter(
        x=[lines.k[-1]],
        y=[lines.value[-1]],
        mode="markers",
        marker={
            "symbol": "square",
            "size": 12,
            "color": INCLUDE,
            "line": {"color": "#FFFFFF", "width": 1},
        },
        name=name,
        hovertemplate=f"{name}: %{{y:.3f}}<extra></extra>",
    )


def _add_best(figure: go.Figure, lines: CurveLines) -> None:
    figure.add_scatter(
        x=[lines.k[lines.best]],
        y=[lines.value[lines.best]],
        mode="markers",
        marker={
            "symbol": "diamond",
            "size": 12,
            "color": CURATE_FILL,
            "line": {"color": CURATE_LINE, "width": 1.5},
        },
        name=f"best in hindsight (k = {lines.k[lines.best]:,})",
        hovertemplate=f"best in hindsight, top-{lines.k[lines.best]}: %{{y:.3f}}<extra></extra>",
    )
