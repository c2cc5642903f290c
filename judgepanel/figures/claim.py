"""The two protocols side by side, and what the paper's map makes of one-class labels."""

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
from judgepanel.studies.claim.claim_result import Claim
from judgepanel.studies.claim.maps import MAP_NAMES, apply

Floats = NDArray[np.float64]

LINES = {
    "one_class": (("raw_one_class", "raw"), ("paper_monotone", "monotone"), ("paper", "paper")),
    "honest": (
        ("raw_honest", "raw"),
        ("honest_clipped", "paper"),
        ("honest", "honest"),
    ),
    "together": (("raw_honest", "raw"), ("honest", "honest"), ("joint", "joint")),
}
"""Steps of each figure, and their looks."""

_LOOKS = {
    "raw": ("raw", NEUTRAL, NEUTRAL, 1.5, "dash", "circle-open"),
    "monotone": ("map kept monotone", INCLUDE, INCLUDE, 1.5, "dash", "square-open"),
    "paper": ("paper's recipe", CURATE_FILL, CURATE_LINE, 3.0, "solid", "diamond"),
    "honest": ("one-coin + beta", INCLUDE, INCLUDE, 3.0, "solid", "circle"),
    "joint": ("joint + beta", CURATE_FILL, CURATE_LINE, 1.5, "solid", "diamond"),
}
_BANDED = ("paper", "honest")
_APART = ("joint",)
"""Tried at few sizes: a line between them would say what nobody has measured."""
_NLL_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 7.0)
_CLOSE_TICKS = (0.2, 0.5)
_P_TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
_LOW, _HIGH = 0.0008, 1.2


@dataclass(frozen=True, slots=True, eq=False)
class ProtocolLine:
    """One step over the panel sizes at which it was tried."""

    look: str
    k: Floats
    value: Floats
    lo: Floats
    hi: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Protocol:
    """What one of the two figures draws; ``ticks`` are sizes with their names, ``range`` the span
    of the axis of NLL, the same for both.
    """

    lines: tuple[ProtocolLine, ...]
    null: float
    constant: float
    ticks: tuple[tuple[int, str], ...]
    range: tuple[float, float]


def prepare_protocol(result: Claim, coding: str) -> Protocol:
    """Lines of the steps under ``one_class`` or ``honest`` coding, or of one-coin and joint
    ``together``; the first two share an axis.
    """
    drawn = [(name, look) for name, look in LINES[coding] if result.has(name)]
    lines = tuple(_line(result, name, look) for name, look in drawn)
    yardstick = result.row("paper" if coding == "one_class" else "honest_clipped")
    n = int(result.n_judges[yardstick])
    sizes = [int(k) for k in (1, *result.panels, n) if k <= n]
    top = max(_HIGH, 1.1 * float(np.nanmax(result.nll)))
    low = _LOW
    if coding == "together":
        low = max(_LOW, 0.9 * min(_lowest(line) for line in lines))
    return Protocol(
        lines,
        float(result.null_nll[yardstick]),
        float(result.constant_nll[yardstick]),
        tuple((k, f"all {n:,}" if k == n else f"{k:,}") for k in dict.fromkeys(sizes)),
        (low, top),
    )


def _lowest(line: ProtocolLine) -> float:
    """The lowest that is drawn of a line: of its band where it has one."""
    ends = line.lo if line.look in (*_BANDED, *_APART) else line.value
    return float(np.nanmin(np.append(line.value, ends)))


def _line(result: Claim, name: str, look: str) -> ProtocolLine:
    row = result.row(name)
    tried = np.isfinite(result.nll[row])
    k = np.append(result.sizes, result.n_judges[row]).astype(np.float64)
    fields = (result.nll[row], result.nll_lo[row], result.nll_hi[row])
    return ProtocolLine(look, k[tried], *(values[tried] for values in fields))


def plot_protocol(steps: Protocol) -> go.Figure:
    """NLL against the number of judges kept, both on logarithmic axes."""
    figure = go.Figure()
    span = np.array([steps.ticks[0][0], steps.ticks[-1][0]], dtype=np.float64)
    for value, name, dash in (
        (steps.constant, "constant score", "dashdot"),
        (steps.null, "base rate", "dot"),
    ):
        figure.add_scatter(
            x=span,
            y=[value, value],
            mode="lines",
            line={"color": NEUTRAL, "width": 1.5, "dash": dash},
            name=name,
            hovertemplate=f"{name}: %{{y:.4f}}<extra></extra>",
        )
    for line in steps.lines:
        _add(figure, line)
    laid_out(figure, x="judges kept, most accurate first", y="NLL (nats per item)", height=430)
    figure.update_xaxes(
        type="log",
        tickvals=[k for k, _ in steps.ticks],
        ticktext=[name for _, name in steps.ticks],
    )
    low, high = steps.range
    ticks = [v for v in _NLL_TICKS if low <= v <= high and (low > _LOW or v not in _CLOSE_TICKS)]
    figure.update_yaxes(
        type="log",
        range=[float(np.log10(low)), float(np.log10(high))],
        tickvals=ticks,
        ticktext=[f"{value:g}" for value in ticks],
        showgrid=True,
    )
    return figure


def protocol(result: Claim, coding: str) -> go.Figure:
    """NLL against k: ``one_class``, ``honest``, or ``together``."""
    return plot_protocol(prepare_protocol(result, coding))


def _add(figure: go.Figure, line: ProtocolLine) -> None:
    name, fill, colour, width, dash, symbol = _LOOKS[line.look]
    if line.look in _BANDED and np.isfinite(line.lo).all():
        figure.add_scatter(
            x=np.concatenate([line.k, line.k[::-1]]),
            y=np.concatenate([line.hi, np.maximum(line.lo, _LOW)[::-1]]),
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=with_opacity(fill, BAND_OPACITY),
            hoverinfo="skip",
            showlegend=False,
        )
    apart = line.look in _APART
    figure.add_scatter(
        x=line.k,
        y=line.value,
        mode="markers" if apart else "lines+markers",
        error_y=_limits(line, colour, width) if apart and np.isfinite(line.lo).all() else None,
        line={"color": colour, "width": width, "dash": dash},
        marker={"color": fill, "symbol": symbol, "size": 8, "line": {"color": colour, "width": 1}},
        name=name,
        hovertemplate=f"{name}, %{{x:.0f}} judges: %{{y:.4f}}<extra></extra>",
    )


def _limits(line: ProtocolLine, colour: str, width: float) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": line.hi - line.value,
        "arrayminus": line.value - np.maximum(line.lo, _LOW),
        "color": colour,
        "thickness": width,
        "width": 5,
    }


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """Raw probabilities ``p`` and what each map of ``MAP_NAMES`` makes of them, by name."""

    p: Floats
    mapped: dict[str, Floats]


def prepare_maps(result: Claim) -> Maps:
    """The fitted maps on an even grid of log-odds between 0.001 and 0.999."""
    odds = np.linspace(-np.log(999.0), np.log(999.0), 121)
    p = 1.0 / (1.0 + np.exp(-odds))
    by_name = {name: apply(params, p) for name, params in zip(MAP_NAMES, result.maps, strict=True)}
    return Maps(p, by_name)


_MAPS = (
    ("paper", "one class: the paper's map", CURATE_LINE, 3.0, "solid"),
    ("paper_monotone", "one class: kept monotone", INCLUDE, 1.5, "dash"),
    ("honest_clipped", "honest labels: the paper's map", INCLUDE, 3.0, "solid"),
)


def plot_maps(maps: Maps) -> go.Figure:
    """Calibrated against raw probability; a diamond for the constant score."""
    figure = go.Figure()
    figure.add_scatter(
        x=_odds(maps.p),
        y=maps.p,
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="as it is",
        hoverinfo="skip",
    )
    for name, label, colour, width, dash in _MAPS:
        figure.add_scatter(
            x=_odds(maps.p),
            y=maps.mapped[name],
            customdata=maps.p,
            mode="lines",
            line={"color": colour, "width": width, "dash": dash},
            name=label,
            hovertemplate=f"{label}: %{{customdata:.3f}} becomes %{{y:.3f}}<extra></extra>",
        )
    middle = len(maps.p) // 2
    figure.add_scatter(
        x=[0.0, 0.0],
        y=[0.5, maps.mapped["constant"][middle]],
        mode="lines+markers",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
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


def fitted_maps(result: Claim) -> go.Figure:
    """What each map makes of a raw probability."""
    return plot_maps(prepare_maps(result))


def _odds(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1.0 - p)))
