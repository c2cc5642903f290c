"""Stated confidence against the share that is right, before and after, with the counts beneath."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from judgepanel.figures.style import INCLUDE, NEUTRAL, laid_out, with_opacity
from judgepanel.studies.confidence.probabilities import CALIBRATED, RAW
from judgepanel.studies.confidence.reliability_result import FEW_ITEMS, Reliability

Floats = NDArray[np.float64]

_HEIGHTS = (0.74, 0.26)
_SHIFT = 0.004
_BAR_OPACITY = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityLine:
    """One stage's bins that are not empty: arrays (n,); ``middle`` and ``width`` place its bars.

    ``lo`` and ``hi`` are NaN from a single split.
    """

    name: str
    stated: Floats
    right: Floats
    lo: Floats
    hi: Floats
    items: Floats
    middle: Floats
    width: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityLines:
    """What the figure draws; nothing is ``before`` where there is no calibrator."""

    before: ReliabilityLine | None
    after: ReliabilityLine


def prepare_reliability(result: Reliability, bins: str) -> ReliabilityLines:
    """Both stages in the bins of this name."""
    given = result.binned(bins)
    edges = np.maximum(given.edges, 0.5)

    def line(stage: int, name: str) -> ReliabilityLine:
        full = given.items[stage] > 0
        return ReliabilityLine(
            name=name,
            stated=given.confidence[stage, full],
            right=given.accuracy[stage, full],
            lo=given.lo[stage, full],
            hi=given.hi[stage, full],
            items=given.items[stage, full],
            middle=((edges[1:] + edges[:-1]) / 2.0)[full],
            width=np.diff(edges)[full],
        )

    if result.calibrator == "none":
        return ReliabilityLines(None, line(RAW, "raw"))
    return ReliabilityLines(line(RAW, "before"), line(CALIBRATED, "after calibration"))


def plot_reliability(lines: ReliabilityLines) -> go.Figure:
    """The figure of prepared lines."""
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=list(_HEIGHTS), vertical_spacing=0.06
    )
    figure.add_scatter(
        x=[0.5, 1.0],
        y=[0.5, 1.0],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="as stated",
        hoverinfo="skip",
        row=1,
        col=1,
    )
    shift = 0.0 if lines.before is None else _SHIFT
    if lines.before is not None:
        _add(figure, lines.before, NEUTRAL, "diamond", {"width": 1.5, "dash": "dash"}, -_SHIFT)
    _add(figure, lines.after, INCLUDE, "circle", {"width": 3, "dash": "solid"}, shift)
    laid_out(figure, x="", y="share that is right", height=520)
    shares = [line.right for line in (lines.before, lines.after) if line is not None]
    low = float(np.concatenate([np.array([0.5]), *shares]).min())
    figure.update_xaxes(range=[0.49, 1.01], tickformat=".0%", row=1, col=1, title=None)
    figure.update_xaxes(
        range=[0.49, 1.01], tickformat=".0%", title="stated confidence", row=2, col=1
    )
    figure.update_yaxes(tickformat=".0%", range=[max(0.0, low - 0.2), 1.03], row=1, col=1)
    figure.update_yaxes(title="items", rangemode="tozero", nticks=4, row=2, col=1)
    figure.update_layout(barmode="overlay")
    return figure


def reliability_figure(result: Reliability, bins: str) -> go.Figure:
    """Reliability before and after calibration."""
    return plot_reliability(prepare_reliability(result, bins))


def _add(
    figure: go.Figure,
    reliability_line: ReliabilityLine,
    colour: str,
    symbol: str,
    line: dict[str, Any],
    shift: float,
) -> None:
    """A stage's line with intervals, and its bars; bins with few items have open marks."""
    few = reliability_line.items < FEW_ITEMS
    for some, thickness in ((few, 0.5), (~few, 1.4)):
        figure.add_scatter(
            x=reliability_line.stated[some] + shift,
            y=reliability_line.right[some],
            mode="markers",
            marker={"size": 1, "color": colour},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": np.nan_to_num(reliability_line.hi - reliability_line.right)[some],
                "arrayminus": np.nan_to_num(reliability_line.right - reliability_line.lo)[some],
                "color": colour,
                "thickness": thickness,
                "width": 4 if thickness > 1 else 0,
            },
            showlegend=False,
            hoverinfo="skip",
            row=1,
            col=1,
        )
    figure.add_scatter(
        x=reliability_line.stated + shift,
        y=reliability_line.right,
        mode="lines+markers",
        line={"color": colour, **line},
        marker={
            "symbol": [symbol + "-open" if open_ else symbol for open_ in few],
            "size": 9,
            "color": colour,
            "line": {"color": colour, "width": 1.5},
        },
        customdata=np.stack(
            [
                reliability_line.stated,
                reliability_line.lo,
                reliability_line.hi,
                reliability_line.items,
            ],
            axis=-1,
        ),
        name=reliability_line.name,
        hovertemplate=(
            reliability_line.name + ": says %{customdata[0]:.1%}, right %{y:.1%} "
            "[%{customdata[1]:.1%}, %{customdata[2]:.1%}], %{customdata[3]:.0f} items"
            "<extra></extra>"
        ),
        row=1,
        col=1,
    )
    side = 0.25 * float(np.sign(shift))
    figure.add_bar(
        x=reliability_line.middle + side * reliability_line.width,
        y=reliability_line.items,
        width=0.42 * reliability_line.width,
        marker={"color": with_opacity(colour, _BAR_OPACITY), "line": {"width": 0}},
        name=reliability_line.name,
        showlegend=False,
        hovertemplate=reliability_line.name + ": %{y:.0f} items<extra></extra>",
        row=2,
        col=1,
    )
