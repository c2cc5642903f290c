"""A score against panel size: uncalibrated, calibrated with its band, base rate, best k and all.

NLL against labels: all judges and the top k, their difference, and the extrapolated curve.

The two protocols side by side, and what the paper's map does to one-class labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats, Ints
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.style import (
    ALL_JUDGES,
    BAND_OPACITY,
    CHOSEN,
    CURATE_FILL,
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    METRIC_NAMES,
    NEUTRAL,
    RECOMMENDED,
    Look,
    add_base_rate,
    add_series,
    error_bars,
    escaped,
    laid_out,
    mark_all_judges,
    mark_chosen,
    with_opacity,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.panel_curve import PanelCurve
from judgepanel.studies.paper.claim import MAP_NAMES, Claim, apply
from judgepanel.studies.trust.label_budget import NEXT, LabelBudget

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
    if np.isfinite([score.lo, score.hi]).all():
        figure.add_scatter(
            x=np.concatenate([k, k[::-1]]),
            y=np.concatenate([score.hi, score.lo[::-1]]),
            fill="toself",
            fillcolor=with_opacity(INCLUDE, BAND_OPACITY),
            line={"width": 0},
            hoverinfo="skip",
            name="95 % interval" if metric != "ece" else "central 95 % of splits",
        )
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
            figure.add_scatter(
                x=beyond,
                y=tail,
                mode="lines",
                line={"color": look.colour, "width": 1.5, "dash": "dot"},
                name=f"{name}: extrapolated",
                showlegend=p == everyone,
                hovertemplate=f"{name}, extrapolated to %{{x:.0f}} labels: %{{y:.3f}}"
                "<extra></extra>",
            )
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
    if np.isfinite(nll.lo).all() and np.isfinite(nll.hi).all():
        _add_band(figure, x, nll, look, f"{name}: 95 % interval", listed=listed)
    figure.add_scatter(
        x=x,
        y=nll.value,
        **look.drawn(),
        name=name,
        hovertemplate=f"{name}, {what}: %{{y:.3f}}<extra></extra>",
    )


def budget_difference(result: LabelBudget, calibrator: str, panel: str) -> go.Figure:
    """NLL of another panel less that of all judges, against the number of labels."""
    c, p = result.row(calibrator), result.arms.index(panel)
    figure, look = go.Figure(), look_of(result, p)
    delta, together = result.delta[c, p], result.band[c, p]
    if np.isfinite(together.lo).all() and np.isfinite(together.hi).all():
        name = "95 % at all budgets together"
        _add_band(figure, result.labels, together, look, name, listed=True)
    figure.add_scatter(
        x=result.labels,
        y=delta.value,
        **look.drawn(),
        error_y=error_bars(delta, look.colour),
        name=f"{panel}, with 95 % at each budget",
        hovertemplate=f"{panel}, %{{x:.0f}} labels: %{{y:+.3f}}<extra></extra>",
    )
    figure.add_hline(y=0.0, line=DOTTED)
    laid_out(figure, x="labels the panel is fitted on", y="difference in NLL", height=320)
    _log_axis(figure, result.labels)
    return figure


def _add_band(
    figure: go.Figure, x: Floats, band: Interval, look: Look, name: str, *, listed: bool
) -> None:
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([band.hi, band.lo[::-1]]),
        fill="toself",
        fillcolor=with_opacity(look.fill, BAND_OPACITY),
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


LINES = {
    "one_class": (("raw_one_class", "raw"), ("paper_monotone", "monotone"), ("paper", "paper")),
    "honest": (
        ("raw_honest", "raw"),
        ("honest_clipped", "paper"),
        ("honest", "honest"),
    ),
    "together": (("raw_honest", "raw"), ("honest", "honest"), ("joint", "joint")),
}
"""Steps of each figure, and the look of each."""

_LOOKS = {
    "raw": ("raw", NEUTRAL, NEUTRAL, 1.5, "dash", "circle-open"),
    "monotone": ("map kept monotone", INCLUDE, INCLUDE, 1.5, "dash", "square-open"),
    "paper": ("paper's recipe", CURATE_FILL, CURATE_LINE, 3.0, "solid", "diamond"),
    "honest": ("one-coin + beta", INCLUDE, INCLUDE, 3.0, "solid", "circle"),
    "joint": ("joint + beta", CURATE_FILL, CURATE_LINE, 1.5, "solid", "diamond"),
}
_BANDED = ("paper", "honest")
_APART = ("joint",)
"""Tried at few sizes only, so a line between the points would show what nobody has measured."""
_NLL_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 7.0)
_CLOSE_TICKS = (0.2, 0.5)
_P_TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
_LOW, _HIGH = 0.0008, 1.2


def protocol(result: Claim, coding: str) -> go.Figure:
    """NLL against the number of judges kept, on logarithmic axes.

    ``coding`` is ``one_class`` or ``honest``, which share the range of the NLL axis, or
    ``together`` for one-coin and joint.
    """
    lines = [(look, *_line(result, name)) for name, look in LINES[coding] if result.has(name)]
    yardstick = result.row("paper" if coding == "one_class" else "honest_clipped")
    n = int(result.n_judges[yardstick])
    sizes = list(dict.fromkeys(int(k) for k in (1, *result.panels, n) if k <= n))
    low, high = _LOW, max(_HIGH, 1.1 * float(np.nanmax(result.nll.value)))
    if coding == "together":
        low = max(_LOW, 0.9 * min(_lowest(look, nll) for look, _, nll in lines))
    figure = go.Figure()
    ends = np.array([sizes[0], sizes[-1]], dtype=np.float64)
    constant, null = float(result.constant_nll[yardstick]), float(result.null_nll[yardstick])
    figure.add_scatter(
        x=ends,
        y=[constant, constant],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dashdot"},
        name="constant score",
        hovertemplate="constant score: %{y:.4f}<extra></extra>",
    )
    add_base_rate(figure, ends, [null, null], "base rate: %{y:.4f}")
    for line in lines:
        _add(figure, *line)
    laid_out(figure, x="judges kept, most accurate first", y="NLL (nats per item)", height=430)
    figure.update_xaxes(
        type="log",
        tickvals=sizes,
        ticktext=[f"all {n:,}" if k == n else f"{k:,}" for k in sizes],
    )
    ticks = [v for v in _NLL_TICKS if low <= v <= high and (low > _LOW or v not in _CLOSE_TICKS)]
    figure.update_yaxes(
        type="log",
        range=[float(np.log10(low)), float(np.log10(high))],
        tickvals=ticks,
        ticktext=[f"{value:g}" for value in ticks],
        showgrid=True,
    )
    return figure


def _line(result: Claim, name: str) -> tuple[Floats, Interval]:
    """Panel sizes at which a step was tried, and its NLL there."""
    row = result.row(name)
    k = np.append(result.sizes, result.n_judges[row]).astype(np.float64)
    tried = np.isfinite(result.nll.value[row])
    return k[tried], result.nll[row, tried]


def _lowest(look: str, nll: Interval) -> float:
    """The lowest value drawn for a line, with its band if it has one."""
    ends = nll.lo if look in (*_BANDED, *_APART) else nll.value
    return float(np.nanmin(np.append(nll.value, ends)))


def _add(figure: go.Figure, look: str, k: Floats, nll: Interval) -> None:
    name, fill, colour, width, dash, symbol = _LOOKS[look]
    known, apart = bool(np.isfinite(nll.lo).all()), look in _APART
    nll = replace(nll, lo=np.maximum(nll.lo, _LOW))
    if look in _BANDED and known:
        figure.add_scatter(
            x=np.concatenate([k, k[::-1]]),
            y=np.concatenate([nll.hi, nll.lo[::-1]]),
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=with_opacity(fill, BAND_OPACITY),
            hoverinfo="skip",
            showlegend=False,
        )
    bars = {**error_bars(nll, colour), "thickness": width, "width": 5}
    figure.add_scatter(
        x=k,
        y=nll.value,
        mode="markers" if apart else "lines+markers",
        error_y=bars if apart and known else None,
        line={"color": colour, "width": width, "dash": dash},
        marker={"color": fill, "symbol": symbol, "size": 8, "line": {"color": colour, "width": 1}},
        name=name,
        hovertemplate=f"{name}, %{{x:.0f}} judges: %{{y:.4f}}<extra></extra>",
    )


_MAPS = (
    ("paper", "one class: the paper's map", CURATE_LINE, 3.0, "solid"),
    ("paper_monotone", "one class: kept monotone", INCLUDE, 1.5, "dash"),
    ("honest_clipped", "honest labels: the paper's map", INCLUDE, 3.0, "solid"),
)


def fitted_maps(result: Claim) -> go.Figure:
    """What each map makes of raw probabilities from 0.001 to 0.999; a diamond is the constant."""
    odds = np.linspace(-np.log(999.0), np.log(999.0), 121)
    p = 1.0 / (1.0 + np.exp(-odds))
    mapped = {name: apply(params, p) for name, params in zip(MAP_NAMES, result.maps, strict=True)}
    figure = go.Figure()
    figure.add_scatter(
        x=_odds(p),
        y=p,
        mode="lines",
        line=DOTTED,
        name="as it is",
        hoverinfo="skip",
    )
    for name, label, colour, width, dash in _MAPS:
        figure.add_scatter(
            x=_odds(p),
            y=mapped[name],
            customdata=p,
            mode="lines",
            line={"color": colour, "width": width, "dash": dash},
            name=label,
            hovertemplate=f"{label}: %{{customdata:.3f}} becomes %{{y:.3f}}<extra></extra>",
        )
    figure.add_scatter(
        x=[0.0, 0.0],
        y=[0.5, mapped["constant"][len(p) // 2]],
        mode="lines+markers",
        line=DOTTED,
        marker={
            "color": CURATE_FILL,
            "symbol": ["circle-open", "diamond"],
            "size": 11,
            "line": {"color": CURATE_LINE, "width": 1.5},
        },
        name="one class: a constant score",
        hovertemplate="a constant one half becomes %{y:.3f}<extra></extra>",
    )
    laid_out(figure, x="raw probability of label 1", y="after the map")
    figure.update_xaxes(
        tickvals=_odds(np.array(_P_TICKS)).tolist(), ticktext=[f"{p:g}" for p in _P_TICKS]
    )
    figure.update_yaxes(range=[-0.03, 1.03])
    return figure


def _odds(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1.0 - p)))
