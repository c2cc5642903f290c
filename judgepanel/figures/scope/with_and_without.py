"""A panel with some judges and without them, one row per aggregator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL, laid_out
from judgepanel.studies.scope.compatibility import SwitchArm
from judgepanel.studies.scope.group_change_result import GroupChange

Floats = NDArray[np.float64]

_APART = 0.16
_ROW_HEIGHT = 56


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """One kind of panel: NLL (n_rows,) with bounds, NaN where there is none."""

    name: str
    value: Floats
    lo: Floats
    hi: Floats


@dataclass(frozen=True, slots=True, eq=False)
class PairedDots:
    """Rows are aggregators; ``without`` is None where nobody is left out."""

    rows: tuple[str, ...]
    whole: Dots
    without: Dots | None
    null: float


def prepare_switch(
    arms: tuple[SwitchArm, ...], null: float, names: Mapping[str, str]
) -> PairedDots:
    """P3's aggregators; the level without the partly missing has no interval of its own."""
    rest = np.array([arm.nll_without for arm in arms])
    unknown = np.full(len(arms), np.nan)
    return PairedDots(
        rows=tuple(names[arm.aggregator] for arm in arms),
        whole=Dots(
            "all judges",
            *(np.array([getattr(arm, field) for arm in arms]) for field in ("nll", "lo", "hi")),
        ),
        without=Dots("without those that miss votes", rest, unknown, unknown)
        if np.isfinite(rest).all()
        else None,
        null=null,
    )


def prepare_group(result: GroupChange, names: Mapping[str, str]) -> PairedDots:
    """A group's aggregators."""

    def dots(name: str, kind: str) -> Dots:
        fields = (f"nll_{kind}", f"nll_{kind}_lo", f"nll_{kind}_hi")
        return Dots(
            name, *(np.array([getattr(arm, field) for arm in result.arms]) for field in fields)
        )

    return PairedDots(
        rows=tuple(names[arm.aggregator] for arm in result.arms),
        whole=dots("with the group", "with"),
        without=dots("without it", "without"),
        null=result.null_nll,
    )


def plot_paired(dots: PairedDots) -> go.Figure:
    """Aggregators from top to bottom, NLL from left to right, the base rate as a line."""
    figure = go.Figure()
    places = np.arange(len(dots.rows))
    kinds = [dots.whole] + ([dots.without] if dots.without is not None else [])
    styles = ((INCLUDE, "circle", 11), (CURATE_LINE, "diamond-open", 9))
    for row, (kind, (colour, symbol, size)) in enumerate(zip(kinds, styles, strict=False)):
        shift = _APART * (row - (len(kinds) - 1) / 2)
        figure.add_scatter(
            x=kind.value,
            y=places + shift,
            mode="markers",
            name=kind.name,
            marker={"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
            error_x=_bars(kind, colour),
            text=[_words(name, kind, i) for i, name in enumerate(dots.rows)],
            hovertemplate="%{text}<extra></extra>",
        )
    figure.add_scatter(
        x=[dots.null, dots.null],
        y=[-0.5, len(places) - 0.5],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
        hovertemplate="base rate alone: %{x:.3f}<extra></extra>",
    )
    laid_out(figure, x="NLL (nats per item)", y="", height=120 + _ROW_HEIGHT * len(places))
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(
        tickvals=places,
        ticktext=list(dots.rows),
        range=[len(places) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def switch_figure(arms: tuple[SwitchArm, ...], null: float, names: Mapping[str, str]) -> go.Figure:
    """Aggregators with all judges and without those that miss votes."""
    return plot_paired(prepare_switch(arms, null, names))


def group_figure(result: GroupChange, names: Mapping[str, str]) -> go.Figure:
    """Aggregators with a group of judges and without it."""
    return plot_paired(prepare_group(result, names))


def _bars(dots: Dots, colour: str) -> dict[str, object] | None:
    if not (np.isfinite(dots.lo).all() and np.isfinite(dots.hi).all()):
        return None
    return {
        "type": "data",
        "symmetric": False,
        "array": dots.hi - dots.value,
        "arrayminus": dots.value - dots.lo,
        "color": colour,
        "thickness": 1.5,
        "width": 3,
    }


def _words(name: str, dots: Dots, i: int) -> str:
    span = f" [{dots.lo[i]:.3f}, {dots.hi[i]:.3f}]" if np.isfinite(dots.lo[i]) else ""
    return f"{name}, {dots.name}: {dots.value[i]:.3f}{span}"
