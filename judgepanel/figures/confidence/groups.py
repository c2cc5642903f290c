"""Groups side by side: coverage of sets against their level, accuracy against confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import INCLUDE, NEUTRAL, escaped, laid_out
from judgepanel.studies.confidence.conformal_result import Conformal, Grouping
from judgepanel.studies.confidence.items_result import Items, StratumGrouping
from judgepanel.studies.confidence.probabilities import CALIBRATED

Floats = NDArray[np.float64]

_ROW = 46
_HEAD = 130
_APART = 0.14


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """One mark a group with an interval, arrays (n,); no interval where ``lo`` is NaN."""

    name: str
    value: Floats
    lo: Floats
    hi: Floats


@dataclass(frozen=True, slots=True, eq=False)
class GroupDots:
    """Two kinds of marks by group; ``level`` is where they should be, None without one."""

    groups: tuple[str, ...]
    first: Dots
    second: Dots
    level: float | None
    title: str


def prepare_coverage(result: Conformal, level: int, grouping: Grouping) -> GroupDots:
    """Coverage of plain sets and of those made within the groups; all items first."""
    rows = [0, *(g for g, way in enumerate(result.groupings) if way == grouping and g > 0)]
    within = result.methods.index(grouping)

    def dots(name: str, method: int) -> Dots:
        return Dots(
            name,
            result.coverage[method, level, rows],
            result.coverage_lo[method, level, rows],
            result.coverage_hi[method, level, rows],
        )

    return GroupDots(
        tuple(result.groups[g] for g in rows),
        dots("plain sets", 0),
        dots("sets made within each group", within),
        result.levels[level],
        "share of sets that hold the true label",
    )


def prepare_strata(result: Items, grouping: StratumGrouping) -> GroupDots:
    """Stated confidence and accuracy after calibration in every stratum."""
    rows = result.strata_of(grouping)
    stated = result.confidence[CALIBRATED, rows]
    blank = np.full(len(rows), np.nan)
    return GroupDots(
        tuple(result.strata[g] for g in rows),
        Dots("stated confidence", stated, blank, blank),
        Dots(
            "share right",
            result.accuracy[CALIBRATED, rows],
            result.accuracy_lo[CALIBRATED, rows],
            result.accuracy_hi[CALIBRATED, rows],
        ),
        None,
        "share of items",
    )


def plot_groups(dots: GroupDots) -> go.Figure:
    """The figure of prepared marks, the first group on top."""
    figure = go.Figure()
    places = np.arange(len(dots.groups), dtype=np.float64)
    pairs = ((dots.first, NEUTRAL, "diamond", -_APART), (dots.second, INCLUDE, "circle", _APART))
    for entry, colour, symbol, shift in pairs:
        figure.add_scatter(
            x=entry.value,
            y=places + shift,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 10},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": np.nan_to_num(entry.hi - entry.value),
                "arrayminus": np.nan_to_num(entry.value - entry.lo),
                "color": colour,
                "thickness": 1.4,
                "width": 5,
            },
            name=entry.name,
            text=[escaped(name) for name in dots.groups],
            hovertemplate="%{text}, " + entry.name + ": %{x:.1%}<extra></extra>",
        )
    if dots.level is not None:
        figure.add_vline(x=dots.level, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    laid_out(figure, x=dots.title, y="", height=_HEAD + _ROW * len(dots.groups))
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(
        tickvals=places,
        ticktext=[escaped(name, 28) for name in dots.groups],
        range=[len(places) - 0.5, -0.5],
        title=None,
    )
    return figure


def coverage_figure(result: Conformal, level: int, grouping: Grouping) -> go.Figure:
    """Coverage by group at one level."""
    return plot_groups(prepare_coverage(result, level, grouping))


def strata_figure(result: Items, grouping: StratumGrouping) -> go.Figure:
    """Stated confidence against accuracy by stratum."""
    return plot_groups(prepare_strata(result, grouping))
