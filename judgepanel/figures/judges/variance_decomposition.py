"""Judges' abilities against discriminations, and whose variance is the larger."""

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
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.studies.judges.variance_decomposition import VarianceDecomposition

Floats = NDArray[np.float64]

_POPULATION_ROW = "ability : difficulty"
_LOGIT_ROW = "fitted logits"
_WHISKERS = 30


@dataclass(frozen=True, slots=True, eq=False)
class AbilityPoints:
    """What the scatter draws, each (n_judges,): values with the reach of their 95 % limits."""

    names: tuple[str, ...]
    ability: Floats
    ability_reach: Floats
    discrimination: Floats
    discrimination_up: Floats
    discrimination_down: Floats
    accuracy: Floats


@dataclass(frozen=True, slots=True)
class ShareBars:
    """What the bars draw: shares of two sums, limits of the first."""

    judges: float
    lo: float
    hi: float
    logit_judges: float
    logit_items: float
    logit_interaction: float


def prepare_abilities(result: VarianceDecomposition) -> AbilityPoints:
    """Points of the ability figure; names made safe to show."""
    return AbilityPoints(
        names=tuple(escaped(name) for name in result.judges),
        ability=result.ability,
        ability_reach=(result.ability_hi - result.ability_lo) / 2.0,
        discrimination=result.discrimination,
        discrimination_up=result.discrimination_hi - result.discrimination,
        discrimination_down=result.discrimination - result.discrimination_lo,
        accuracy=result.accuracy,
    )


def plot_abilities(points: AbilityPoints) -> go.Figure:
    """The figure of prepared points."""
    figure = go.Figure()
    # The whiskers of many judges lie over each other and over the points.
    reach = with_opacity(INCLUDE, min(1.0, max(0.2, _WHISKERS / max(len(points.names), 1))))
    whisker = {"type": "data", "color": reach, "thickness": 1, "width": 0}
    figure.add_scatter(
        x=points.ability,
        y=points.discrimination,
        mode="markers",
        name="judge",
        marker={"color": INCLUDE, "size": 8},
        error_x={**whisker, "array": points.ability_reach},
        error_y={
            **whisker,
            "symmetric": False,
            "array": points.discrimination_up,
            "arrayminus": points.discrimination_down,
        },
        text=points.names,
        customdata=points.accuracy,
        hovertemplate="%{text}<br>ability %{x:.2f}, discrimination %{y:.2f}<br>"
        "accuracy %{customdata:.1%}<extra></extra>",
        showlegend=False,
    )
    figure.add_vline(x=0.0, line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    laid_out(figure, x="ability (0 = the mean item's difficulty)", y="discrimination, log scale")
    ticks = _log_ticks(points.discrimination)
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    return figure


def _log_ticks(values: Floats) -> list[float]:
    """Ones, twos and fives about the values; ones alone where they span many decades."""
    low, high = (int(np.floor(np.log10(end))) for end in (values.min(), values.max()))
    steps = (1, 2, 5) if high - low < 3 else (1,)
    return [step * 10.0**e for e in range(low - 1, high + 2) for step in steps]


def judge_abilities(result: VarianceDecomposition) -> go.Figure:
    """Ability and discrimination of every judge with 95 % limits."""
    return plot_abilities(prepare_abilities(result))


def prepare_shares(result: VarianceDecomposition) -> ShareBars:
    """Bars of the share figure."""
    return ShareBars(
        judges=result.judge_share,
        lo=result.judge_share_lo,
        hi=result.judge_share_hi,
        logit_judges=result.logit_judges,
        logit_items=result.logit_items,
        logit_interaction=result.logit_interaction,
    )


def plot_shares(bars: ShareBars) -> go.Figure:
    """The figure of prepared bars."""
    figure = go.Figure()
    rows = [_LOGIT_ROW, _POPULATION_ROW]
    for name, colour, pattern, values in (
        ("judges", INCLUDE, "", (bars.logit_judges, bars.judges)),
        ("items", CURATE_FILL, "/", (bars.logit_items, 1.0 - bars.judges)),
        ("interaction", NEUTRAL, "x", (bars.logit_interaction, 0.0)),
    ):
        figure.add_bar(
            x=values,
            y=rows,
            orientation="h",
            name=name,
            marker={
                "color": colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "fillmode": "overlay",
                    "fgcolor": CURATE_LINE,
                    "size": 6,
                    "solidity": 0.3,
                },
            },
            hovertemplate="%{y}<br>" + name + ": %{x:.1%}<extra></extra>",
        )
    figure.add_scatter(
        x=[bars.judges],
        y=[_POPULATION_ROW],
        mode="markers",
        name="95 % interval",
        marker={"color": NEUTRAL, "symbol": "line-ns-open", "size": 12},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [bars.hi - bars.judges],
            "arrayminus": [bars.judges - bars.lo],
            "color": "black",
            "thickness": 2,
            "width": 6,
        },
        hovertemplate=f"judges {bars.judges:.1%} [{bars.lo:.1%}, {bars.hi:.1%}]<extra></extra>",
    )
    figure.update_layout(barmode="stack", bargap=0.35)
    laid_out(figure, x="share of variance", y="", height=260)
    figure.update_layout(legend_traceorder="normal", margin_r=28)  # Room for the last tick's label.
    figure.update_xaxes(tickformat=".0%", range=[0, 1.002], dtick=0.25)
    return figure


def share_bars(result: VarianceDecomposition) -> go.Figure:
    """Var(ability) : Var(difficulty) with its interval, and the parts of the fitted logits."""
    return plot_shares(prepare_shares(result))
