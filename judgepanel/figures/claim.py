"""The two protocols side by side, and what the paper's map does to one-class labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats
from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    NEUTRAL,
    Look,
    add_band,
    add_base_rate,
    add_series,
    laid_out,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.paper.claim import MAP_NAMES, Claim, apply

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
    "raw": ("raw", Look(NEUTRAL, NEUTRAL, "circle-open", "dash", 1.5, 8)),
    "monotone": ("map kept monotone", Look(INCLUDE, INCLUDE, "square-open", "dash", 1.5, 8)),
    "paper": ("paper's recipe", Look(CURATE_FILL, CURATE_LINE, "diamond", size=8)),
    "honest": ("one-coin + beta", Look(INCLUDE, INCLUDE, "circle", size=8)),
    "joint": ("joint + beta", Look(CURATE_FILL, CURATE_LINE, "diamond", "", size=8)),
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
    look = Look(NEUTRAL, NEUTRAL, "", "dashdot", 1.5)
    hover = "constant score: %{y:.4f}"
    add_series(figure, ends, [constant, constant], look, "constant score", hover)
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
    name, drawn = _LOOKS[look]
    nll = replace(nll, lo=np.maximum(nll.lo, _LOW))
    if look in _BANDED:
        add_band(figure, k, nll, drawn.fill, showlegend=False)
    known = look in _APART and np.isfinite(nll.lo).all()
    hover = f"{name}, %{{x:.0f}} judges: %{{y:.4f}}"
    add_series(figure, k, nll if known else nll.value, drawn, name, hover)


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
        look, hover = Look(colour, colour, "", dash, width), "%{customdata:.3f} becomes %{y:.3f}"
        add_series(figure, _odds(p), mapped[name], look, label, f"{label}: {hover}", customdata=p)
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
