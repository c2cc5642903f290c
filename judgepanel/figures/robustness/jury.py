"""Errors of the k best judges, beside those of independent judges and their bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    error_bars,
    laid_out,
    rank_axis,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.robustness.jury_result import Jury

Floats = NDArray[np.float64]

FLOOR = 1e-4
_TICKS = (0.0001, 0.001, 0.01, 0.1, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class ErrorLines:
    """Errors over ``k`` (n,) judges; ``lo`` and ``hi`` hold for the two observed ones. Values below
    ``FLOOR`` are NaN: they are not drawn.
    """

    k: Floats
    majority: Floats
    majority_lo: Floats
    majority_hi: Floats
    one_coin: Floats
    one_coin_lo: Floats
    one_coin_hi: Floats
    independent: Floats
    jury: Floats
    hoeffding: Floats
    null: float


def prepare_jury(result: Jury) -> ErrorLines:
    """Lines of all sizes."""

    def drawn(values: Floats) -> Floats:
        return np.where(values >= FLOOR, values, np.nan)

    return ErrorLines(
        k=result.k.astype(np.float64),
        majority=drawn(result.majority),
        majority_lo=np.maximum(result.majority_lo, FLOOR),
        majority_hi=result.majority_hi,
        one_coin=drawn(result.one_coin),
        one_coin_lo=np.maximum(result.one_coin_lo, FLOOR),
        one_coin_hi=result.one_coin_hi,
        independent=drawn(result.independent),
        jury=drawn(result.jury_bound),
        hoeffding=drawn(result.hoeffding_majority),
        null=result.null_error,
    )


def plot_jury(lines: ErrorLines) -> go.Figure:
    """The figure of prepared lines, errors on a log scale."""
    figure = go.Figure()
    figure.add_hline(y=lines.null, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    for name, value, lo, hi, line, fill, symbol in (
        (
            *("majority", lines.majority, lines.majority_lo, lines.majority_hi),
            *(CURATE_LINE, CURATE_FILL, "diamond"),
        ),
        (
            *("one-coin", lines.one_coin, lines.one_coin_lo, lines.one_coin_hi),
            *(INCLUDE, INCLUDE, "circle"),
        ),
    ):
        figure.add_scatter(
            x=lines.k,
            y=value,
            mode="lines+markers",
            line={"color": line, "width": 2.5},
            marker={
                "color": fill,
                "symbol": symbol,
                "size": 8,
                "line": {"color": line, "width": 1},
            },
            error_y=error_bars(Interval(value, lo, hi), line),
            name=f"{name}, observed",
            hovertemplate=f"{name}, %{{x:.0f}} judges: %{{y:.2%}}<extra></extra>",
        )
    for name, value, dash, width in (
        ("majority, were they independent", lines.independent, "solid", 2.0),
        ("jury bound", lines.jury, "dash", 1.5),
        ("Hoeffding, majority", lines.hoeffding, "dashdot", 1.5),
    ):
        figure.add_scatter(
            x=lines.k,
            y=value,
            mode="lines",
            line={"color": NEUTRAL, "width": width, "dash": dash},
            name=name,
            hovertemplate=f"{name}, %{{x:.0f}} judges: %{{y:.2%}}<extra></extra>",
        )
    laid_out(figure, x="judges, best first", y="share of wrong decisions")
    rank_axis(figure, int(lines.k[-1]))
    figure.update_yaxes(
        type="log",
        tickvals=_TICKS,
        ticktext=[f"{100 * tick:g} %" for tick in _TICKS],
        range=[np.log10(FLOOR), np.log10(0.9)],
    )
    return figure


def jury(result: Jury) -> go.Figure:
    """Observed errors by panel size against what independence would give."""
    return plot_jury(prepare_jury(result))
