"""What a panel costs: NLL against cost of an item."""

from __future__ import annotations

import math
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
)
from judgepanel.studies.cost.cost_result import Cost
from judgepanel.studies.panel.costs import WRITTEN

Floats = NDArray[np.float64]

_LOG_FROM = 20.0
_MOST_POWERS = 4
_NAMED = 5
_NAME = 30


@dataclass(frozen=True, slots=True, eq=False)
class FrontierCurve:
    """Points (n,) by ascending budget: ``cost`` of an item, ``nll`` with ``lo`` and ``hi``, the
    ``reading``, and a text a point (``panels``, escaped). ``full`` and ``everyone`` are all
    judges' cost and NLL, ``null`` the base rate's NLL, ``budget`` the one asked for or None.
    ``log`` says that costs differ enough for a logarithmic axis.
    """

    cost: Floats
    nll: Floats
    lo: Floats
    hi: Floats
    reading: Floats
    on_frontier: NDArray[np.bool_]
    panels: tuple[str, ...]
    full: float
    everyone: float
    null: float
    budget: float | None
    axis: str
    log: bool


def prepare_cost(result: Cost) -> FrontierCurve:
    """Points and the names of who is in their panels."""
    points = result.points
    cost = np.array([cost_point.cost for cost_point in points])
    panels = []
    for point in points:
        names = [escaped(name, _NAME) for name in point.judges[:_NAMED]]
        more = len(point.judges) - len(names)
        panels.append("<br>".join([*names, *([f"and {more} more"] if more else [])]))
    return FrontierCurve(
        cost=cost,
        nll=np.array([cost_point.found.nll for cost_point in points]),
        lo=np.array([cost_point.found.nll_lo for cost_point in points]),
        hi=np.array([cost_point.found.nll_hi for cost_point in points]),
        reading=np.array([cost_point.reading for cost_point in points]),
        on_frontier=np.array([cost_point.on_frontier for cost_point in points]),
        panels=tuple(panels),
        full=result.full_cost,
        everyone=result.everyone.found.nll,
        null=result.null_nll,
        budget=None if np.isnan(result.budget) else min(result.budget, result.full_cost),
        axis=cost_axis(result.unit, counted=result.counted),
        log=bool(cost.min() > 0.0 and result.full_cost > _LOG_FROM * cost.min()),
    )


def plot_cost(curve: FrontierCurve) -> go.Figure:
    """NLL against cost: points with intervals, the reading as steps, all judges and the null."""
    figure = go.Figure()
    order = np.argsort(curve.cost, kind="stable")
    figure.add_scatter(
        x=[*curve.cost[order], max(curve.full, float(curve.cost.max()))],
        y=[*curve.reading[order], float(curve.reading[order][-1])],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dash", "shape": "hv"},
        name="a reading: never rises",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=curve.cost,
        y=curve.nll,
        mode="markers",
        marker={
            "color": [INCLUDE if best else "#FFFFFF" for best in curve.on_frontier],
            "line": {"color": INCLUDE, "width": 2},
            "size": 10,
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(curve.hi - curve.nll),
            "arrayminus": np.nan_to_num(curve.nll - curve.lo),
            "color": INCLUDE,
            "thickness": 1.5,
            "width": 4,
        },
        name="best panel found, 95 %",
        text=list(curve.panels),
        hovertemplate="cost %{x:.3g}, NLL %{y:.3f}<br>%{text}<extra></extra>",
    )
    figure.add_scatter(
        x=[curve.full],
        y=[curve.everyone],
        mode="markers",
        marker={
            "color": CURATE_FILL,
            "symbol": "diamond",
            "size": 11,
            "line": {"color": CURATE_LINE, "width": 1},
        },
        name="all judges",
        hovertemplate="all judges: cost %{x:.3g}, NLL %{y:.3f}<extra></extra>",
    )
    ends = [float(curve.cost.min()), max(curve.full, float(curve.cost.max()))]
    figure.add_scatter(
        x=ends,
        y=[curve.null, curve.null],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="base rate",
        hovertemplate="base rate: %{y:.3f}<extra></extra>",
    )
    if curve.budget is not None:
        figure.add_scatter(
            x=[curve.budget, curve.budget],
            y=[float(np.nanmin([*curve.lo, *curve.nll])), curve.null],
            mode="lines",
            line={"color": CURATE_LINE, "width": 1.5},
            name="budget",
            hovertemplate="budget %{x:.3g}<extra></extra>",
        )
    laid_out(figure, x=curve.axis, y="NLL (nats per item)")
    if curve.log and (curve.budget is None or curve.budget > 0.0):
        ticks = _ticks(min([ends[0], *([curve.budget] if curve.budget else [])]), ends[1])
        figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:.10g}" for tick in ticks])
    return figure


def cost(result: Cost) -> go.Figure:
    """NLL of the best panels found against what an item costs."""
    return plot_cost(prepare_cost(result))


def cost_axis(unit: str, *, counted: bool) -> str:
    """Title of an axis of costs."""
    if counted:
        return "judges asked per item (every judge costs 1)"
    written = WRITTEN.get(unit.lower(), escaped(unit, 20))
    return f"cost per item ({written})" if unit else "cost per item"


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within a logarithmic axis: 1, 2, 5 of every power, or fewer over many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= _MOST_POWERS else (1,)
    ticks = [float(f"{step}e{power}") for power in powers for step in steps]
    return [tick for tick in ticks if low * 0.9 <= tick <= high * 1.1]
