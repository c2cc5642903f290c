"""What judges are worth: each with its interval and status, and the curve of those that go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.decision.statuses import STATUSES, JudgeStatus, Status, statuses
from judgepanel.figures.style import (
    BAND_OPACITY,
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.studies.value.value_result import Value

Floats = NDArray[np.float64]

LOOKS: dict[Status, tuple[str, str]] = {
    "keep": (INCLUDE, "circle"),
    "watch": (NEUTRAL, "diamond-open"),
    "drop": (CURATE_LINE, "x"),
}
"""Colour and symbol of every status."""
_ROW = 20
_NAMED = 60
_DWARFS = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class ValueRows:
    """One row per judge, of the largest value last: ``value`` with ``lo`` and ``hi``, and
    ``shapley`` (n,), all in nats; ``margin`` is 2 % of the panel's NLL.
    """

    names: tuple[str, ...]
    status: tuple[Status, ...]
    value: Floats
    lo: Floats
    hi: Floats
    shapley: Floats
    reasons: tuple[str, ...]
    margin: float


@dataclass(frozen=True, slots=True, eq=False)
class RemovalRows:
    """One row per number of judges that go, 0 first: ``nll``; ``delta`` with its own interval and
    the band of all; ``free`` where no loss is seen here and for every smaller number.
    """

    m: NDArray[np.int64]
    nll: Floats
    delta: Floats
    lo: Floats
    hi: Floats
    band_lo: Floats
    band_hi: Floats
    free: NDArray[np.bool_]
    everyone: float
    margin: float
    null: float


def prepare_values(
    result: Value, judge_statuses: tuple[JudgeStatus, ...] | None = None
) -> ValueRows:
    """Judges by value, the least first; ``judge_statuses`` are their statuses, by default without
    checks.

    Judges that only the checks know have no value and are not drawn.
    """
    of = {
        status.judge: status
        for status in (statuses(result) if judge_statuses is None else judge_statuses)
    }
    ranked = sorted(result.judges, key=lambda judge: judge.value)
    return ValueRows(
        names=tuple(escaped(candidate.judge, 40) for candidate in ranked),
        status=tuple(of[candidate.judge].status for candidate in ranked),
        value=np.array([candidate.value for candidate in ranked]),
        lo=np.array([candidate.lo for candidate in ranked]),
        hi=np.array([candidate.hi for candidate in ranked]),
        shapley=np.array([candidate.shapley for candidate in ranked]),
        reasons=tuple(escaped(of[candidate.judge].reason, 240) for candidate in ranked),
        margin=result.margin,
    )


def plot_values(rows: ValueRows) -> go.Figure:
    """A point and an interval a judge; status by colour and by symbol."""
    figure = go.Figure()
    place = np.arange(len(rows.names))
    for status in STATUSES:
        own = np.array([entry == status for entry in rows.status], dtype=bool)
        if not own.any():
            continue
        colour, symbol = LOOKS[status]
        value = rows.value[own]
        figure.add_scatter(
            x=value,
            y=place[own],
            mode="markers",
            name=f"{status} ({int(own.sum())})",
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": np.nan_to_num(rows.hi[own] - value),
                "arrayminus": np.nan_to_num(value - rows.lo[own]),
                "color": colour,
                "thickness": 1.2,
                "width": 0,
            },
            text=[rows.names[i] for i in place[own]],
            customdata=[[rows.reasons[i], rows.shapley[i]] for i in place[own]],
            hovertemplate="%{text}<br>value %{x:+.4f} NLL, Shapley %{customdata[1]:+.4f}<br>"
            "%{customdata[0]}<extra></extra>",
        )
    figure.add_vline(x=0.0, line={"color": NEUTRAL, "width": 1})
    figure.add_vrect(
        x0=-rows.margin,
        x1=rows.margin,
        fillcolor=with_opacity(NEUTRAL, BAND_OPACITY / 2),
        line_width=0,
        layer="below",
    )
    n = len(rows.names)
    laid_out(
        figure,
        x="value: NLL without the judge less NLL of all (shaded: 2 % of the panel's)",
        y="",
        height=120 + _ROW * min(n, _NAMED),
    )
    few = n <= _NAMED
    figure.update_yaxes(
        tickvals=list(place) if few else [],
        ticktext=list(rows.names) if few else [],
        title=None if few else "judges, most valuable above",
        showgrid=False,
        range=[-0.8, n - 0.2],
    )
    return figure


def value(result: Value, judge_statuses: tuple[JudgeStatus, ...] | None = None) -> go.Figure:
    """Every judge on an axis of value, by status."""
    return plot_values(prepare_values(result, judge_statuses))


def prepare_removal(result: Value) -> RemovalRows:
    """The curve from all judges on."""
    rows = result.removal

    def column(name: str, first: float) -> Floats:
        return np.array([first, *(getattr(row, name) for row in rows)])

    return RemovalRows(
        m=np.array([0, *(row.m for row in rows)]),
        nll=column("nll", result.nll_all),
        delta=column("delta", 0.0),
        lo=column("lo", 0.0),
        hi=column("hi", 0.0),
        band_lo=column("band_lo", 0.0),
        band_hi=column("band_hi", 0.0),
        free=np.array([True, *(row.free for row in rows)]),
        everyone=result.nll_all,
        margin=result.margin,
        null=result.null_nll,
    )


def plot_removal(rows: RemovalRows) -> go.Figure:
    """Change of NLL against how many go, at even steps; crosses where a loss is not excluded."""
    figure = go.Figure()
    place = np.arange(len(rows.m))
    band = np.concatenate([rows.band_hi, rows.band_lo[::-1]])
    if np.isfinite(band).all():
        figure.add_scatter(
            x=np.concatenate([place, place[::-1]]),
            y=band,
            mode="lines",
            fill="toself",
            fillcolor=with_opacity(INCLUDE, BAND_OPACITY),
            line={"width": 0},
            hoverinfo="skip",
            name="95 % band of all steps",
        )
    figure.add_scatter(
        x=place,
        y=rows.delta,
        mode="lines",
        line={"color": INCLUDE, "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )
    for free, name, colour, symbol in (
        (True, "no loss, here and before", INCLUDE, "circle"),
        (False, "a loss is not excluded", CURATE_LINE, "x"),
    ):
        own = rows.free == free
        if not own.any():
            continue
        figure.add_scatter(
            x=place[own],
            y=rows.delta[own],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": np.nan_to_num(rows.hi - rows.delta)[own],
                "arrayminus": np.nan_to_num(rows.delta - rows.lo)[own],
                "color": colour,
                "thickness": 1.2,
                "width": 0,
            },
            name=name,
            customdata=[
                [int(rows.m[i]), rows.nll[i], _span(rows.lo[i], rows.hi[i])] for i in place[own]
            ],
            hovertemplate="without %{customdata[0]} judges: %{y:+.4f} NLL %{customdata[2]}<br>"
            "NLL %{customdata[1]:.3f}<extra></extra>",
        )
    figure.add_hline(y=0.0, line={"color": NEUTRAL, "width": 1})
    figure.add_hline(y=rows.margin, line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    laid_out(figure, x="judges that go, worth least first", y="change of NLL (dotted: 2 %)")
    figure.update_xaxes(tickvals=list(place), ticktext=[f"{m:,}" for m in rows.m])
    _cut(figure, rows)
    return figure


def _cut(figure: go.Figure, rows: RemovalRows) -> None:
    """Leave a last step that dwarfs all others beyond the axis, and say where it is."""
    ends = np.concatenate([rows.band_lo[:-1], rows.band_hi[:-1], [rows.margin]])
    most = float(np.abs(ends[np.isfinite(ends)]).max())
    last = float(rows.delta[-1])
    if last < _DWARFS * most:
        return
    figure.update_yaxes(range=[-1.15 * most, 1.4 * most])
    figure.add_annotation(
        x=len(rows.m) - 1,
        y=1.0,
        yref="paper",
        yanchor="top",
        xanchor="right",
        showarrow=False,
        text=f"▲ {last:+.2f} without {int(rows.m[-1])}",
        font={"color": CURATE_LINE},
    )


def _span(lo: float, hi: float) -> str:
    return f"[{lo:+.4f}, {hi:+.4f}]" if np.isfinite(lo) and np.isfinite(hi) else ""


def removal(result: Value) -> go.Figure:
    """What it costs to let go of the judges that are worth least."""
    return plot_removal(prepare_removal(result))
