"""A score against panel size: uncalibrated, calibrated with its band, base rate, best k and all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats, Ints
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.style import (
    ALL_JUDGES,
    CURATE_LINE,
    INCLUDE,
    METRIC_NAMES,
    NEUTRAL,
    RECOMMENDED,
    Look,
    add_band,
    add_base_rate,
    add_series,
    error_bars,
    escaped,
    laid_out,
    mark_all_judges,
    mark_chosen,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.panel_curve import PanelCurve

_MARKED_SIZES = 20


def panel_curve(
    curve: PanelCurve,
    calibrator: str,
    metric: str = "nll",
    recommendation: Recommendation | None = None,
    pipeline: str = "",
) -> go.Figure:
    """A score (``nll``, ``brier``, ``ece``, ``accuracy``) against the number of judges kept.

    With a ``recommendation``, the NLL of the recommended panel and of panels under its main
    pipeline, named ``pipeline``, are drawn as well.
    """
    row, k = curve.row(calibrator), curve.k
    every: Interval = getattr(curve, metric)
    score = every[row]
    has_raw = "none" in curve.calibrators and calibrator != "none"
    raw = every.value[curve.row("none")] if has_raw else None
    ceiling = _ceiling(score, raw, curve.null_nll) if metric == "nll" else None
    figure = go.Figure()
    band_name = "95 % interval" if metric != "ece" else "central 95 % of splits"
    add_band(figure, k, score, INCLUDE, name=band_name)
    if raw is not None:
        name = "uncalibrated" if ceiling is None else f"uncalibrated (up to {raw.max():.2f})"
        look = Look(NEUTRAL, NEUTRAL, "", "dash", 1.5)
        add_series(figure, k, raw, look, name, "top-%{x} uncalibrated: %{y:.3f}")
    add_series(
        figure,
        k,
        score.value,
        replace(ALL_JUDGES, size=7),
        "uncalibrated" if calibrator == "none" else f"calibrated ({calibrator})",
        "top-%{x}: %{y:.3f}<br>%{customdata}",
        mode=_mode(k),
        customdata=[f"{ordinal(n)} judge added: {escaped(curve.ranking[n - 1])}" for n in k],
    )
    if metric == "nll":
        add_base_rate(figure, [k[0], k[-1]], [curve.null_nll, curve.null_nll])
    _add_marks(figure, k, score.value, highest=metric == "accuracy")
    if metric == "nll" and recommendation is not None:
        _add_recommended(figure, recommendation, (curve.aggregator, calibrator), pipeline)
    figure = laid_out(figure, x="judges kept, best first", y=METRIC_NAMES[metric])
    _set_ticks(figure, int(k[-1]))
    if metric == "accuracy":
        figure.update_yaxes(tickformat=".0%")
    if ceiling is not None:
        figure.update_yaxes(range=[0.0, ceiling])
    return figure


def _add_recommended(
    figure: go.Figure, recommendation: Recommendation, drawn: tuple[str, str], name: str
) -> None:
    """Add the recommended panel, and panels under its main pipeline unless that is drawn."""
    main = recommendation.model.main
    pipeline = (main.aggregator, main.calibrator)
    rows = recommendation.panels(*pipeline)
    if drawn != pipeline and len(rows) > 1:
        nll = [float(row.nll.value) for row in rows]
        names = [row.panel for row in rows]
        look = Look(CURATE_LINE, CURATE_LINE, "triangle-up-open", "dashdot", 1.5, 8)
        add_series(
            figure, [row.k for row in rows], nll, look, name, "%{text}: %{y:.3f}", text=names
        )
    size, level = len(recommendation.model.judges), Interval.stacked([recommendation.nll])
    known = bool(np.isfinite([level.lo, level.hi]).all())
    look = replace(RECOMMENDED, dash="", size=15)
    hover = f"recommended, {size:,} judges: %{{y:.3f}}"
    error = error_bars(level, RECOMMENDED.fill) if known else None
    add_series(figure, [size], level.value, look, "recommended panel", hover, error_y=error)


def ordinal(k: int) -> str:
    """The ordinal of a number: 1st, 2nd, 3rd, 4th, 11th."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{'th' if k % 100 in (11, 12, 13) else suffix}"


def _mode(k: Ints) -> str:
    """Marks and lines if only some sizes are known, since the line between them is a guess."""
    if len(k) == 1:
        return "markers"
    return "lines+markers" if len(k) <= _MARKED_SIZES and k[-1] - k[0] >= len(k) else "lines"


def _ceiling(score: Interval, raw: Floats | None, null: float) -> float | None:
    """Upper end of the axis if the raw score is so high that all else looks flat, else None."""
    if raw is None:
        return None
    rest = max(null, float(np.nanmax(np.append(score.hi, score.value))))
    return 1.5 * rest if raw.max() > 2.0 * rest else None


def _set_ticks(figure: go.Figure, n: int) -> None:
    """Label every size up to 12 judges; beyond that use a log axis."""
    if n <= 12:
        figure.update_xaxes(tickvals=list(range(1, n + 1)))
        return
    ticks = [k for k in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if k < n * 0.65]
    ticks.append(n)
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{k:,}" for k in ticks])


def _add_marks(figure: go.Figure, k: Ints, value: Floats, *, highest: bool) -> None:
    """Mark the best panel in hindsight with a diamond and all judges with a square."""
    best, last = int(value.argmax() if highest else value.argmin()), len(k) - 1
    if best != last:
        name = f"best in hindsight (k = {k[best]:,})"
        hover = f"best in hindsight, top-{k[best]}: %{{y:.3f}}"
        mark_chosen(figure, k[best], value[best], name, hover)
    name = f"all {k[-1]:,}" + ", best in hindsight" * (best == last)
    mark_all_judges(figure, k[last], value[last], name, f"{name}: %{{y:.3f}}")
