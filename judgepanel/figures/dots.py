"""Estimates as dots with intervals: NLL of panels in rows, and groups side by side.

What judges are worth: each with its interval and status, and the effect of removing several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from judgepanel.decision.statuses import STATUSES, JudgeStatus, Status, statuses
from judgepanel.figures import style
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.value import Value

_MARKS = (
    (style.INCLUDE, "circle", 11),
    (style.CURATE_LINE, "diamond-open", 9),
    (style.NEUTRAL, "square-open", 8),
)
MOST_PANELS = len(_MARKS)
_APART = 0.2
_ROW_HEIGHT = 58
_LABEL = 18
"""Characters per line of a label, so that narrow screens keep room for the dots."""
_ROW = 46
_HEAD = 130
_GROUPS_APART = 0.14


def dots(rows: Sequence[str], panels: Mapping[str, Interval], null: float) -> go.Figure:
    """Dots from top to bottom against NLL, with the base rate's NLL ``null`` as a line.

    ``panels``, at most ``MOST_PANELS``, have shape (n_rows,) each; error bars need known intervals.
    """
    figure = go.Figure()
    places = np.arange(len(rows))
    for i, ((name, nll), mark) in enumerate(zip(panels.items(), _MARKS, strict=False)):
        colour, symbol, size = mark
        known = bool(np.isfinite([nll.lo, nll.hi]).all())
        spans = [f" [{lo:.3f}, {hi:.3f}]" if known else "" for _, lo, hi in zip(*nll, strict=True)]
        hover = [
            f"{row}<br>{name}: {value:.3f}{span}"
            for row, value, span in zip(rows, nll.value, spans, strict=True)
        ]
        y = places + _APART * (i - (len(panels) - 1) / 2)
        look = style.spot(colour, symbol, size)
        style.add_series(figure, nll if known else nll.value, y, look, name, "%{text}", text=hover)
    style.add_base_rate(figure, [null, null], [-0.5, len(rows) - 0.5], "base rate: %{x:.3f}")
    style.laid_out(figure, x="NLL (nats per item)", y="", height=110 + _ROW_HEIGHT * len(rows))
    figure.update_xaxes(rangemode="tozero")
    style.label_rows(figure, ["<br>".join(wrap(row, _LABEL)) for row in rows], showgrid=False)
    return figure


def groups_figure(
    groups: Sequence[str],
    marks: Mapping[str, Interval],
    x: str,
    level: float | None = None,
    *,
    percent: bool = True,
) -> go.Figure:
    """Two kinds of marks per group, with values (n,); the first group is on top.

    ``groups`` are untrusted names (n,); ``level`` is where the marks should be, None if nowhere.
    """
    figure = go.Figure()
    names = [style.escaped(name) for name in groups]
    places = np.arange(len(groups), dtype=np.float64)
    looks = ((style.NEUTRAL, "diamond", -_GROUPS_APART), (style.INCLUDE, "circle", _GROUPS_APART))
    for (name, values), (colour, symbol, shift) in zip(marks.items(), looks, strict=True):
        look = style.spot(colour, symbol, 10)
        hover = "%{text}, " + name + (": %{x:.1%}" if percent else ": %{x:.2f}")
        style.add_series(figure, values, places + shift, look, name, hover, text=names)
    if level is not None:
        figure.add_vline(x=level, line=style.DOTTED)
    style.laid_out(figure, x=x, y="", height=_HEAD + _ROW * len(groups))
    figure.update_xaxes(tickformat=".0%" if percent else ".1f")
    style.label_rows(figure, [style.escaped(name, 28) for name in groups], title=None)
    return figure


LOOKS: dict[Status, tuple[str, str]] = {
    "helps": (style.INCLUDE, "circle"),
    "unsettled": (style.NEUTRAL, "diamond-open"),
    "could go": (style.CURATE_LINE, "x"),
    "fails a check": (style.ALERT, "triangle-down-open"),
}
"""Colour and symbol of each status."""
_VALUE_ROW = 20
_NAMED = 60
_DWARFS = 3.0


def value_figure(result: Value, judge_statuses: tuple[JudgeStatus, ...] | None = None) -> go.Figure:
    """The value of every judge with its interval, lowest first; colour and symbol show its status.

    ``judge_statuses`` are by default those without scope checks. Judges that only the checks know
    have no value and are not drawn.
    """
    given = statuses(result) if judge_statuses is None else judge_statuses
    status_of = {status.judge: status for status in given}
    ranked = sorted(result.judges, key=lambda judge: float(judge.value.value))
    values = Interval.stacked(judge.value for judge in ranked)
    names = [style.escaped(judge.judge, 40) for judge in ranked]
    figure = go.Figure()
    for status in STATUSES:
        own = [i for i, judge in enumerate(ranked) if status_of[judge.judge].status == status]
        if not own:
            continue
        colour, symbol = LOOKS[status]
        style.add_series(
            figure,
            values[own],
            own,
            style.spot(colour, symbol),
            f"{status} ({len(own)})",
            "%{text}<br>value %{x:+.4f} NLL, Shapley %{customdata[1]:+.4f}<br>%{customdata[0]}",
            text=[names[i] for i in own],
            customdata=[
                [
                    style.escaped(status_of[ranked[i].judge].reason, 240),
                    float(ranked[i].shapley.value),
                ]
                for i in own
            ],
        )
    figure.add_vline(x=0.0, line={"color": style.NEUTRAL, "width": 1})
    style.shade(figure, -result.margin, result.margin, style.BAND_OPACITY / 2)
    n = len(names)
    x = "value: NLL without the judge less NLL of all<br>(shaded: 2 % of the panel's)"
    style.laid_out(figure, x=x, y="", height=120 + _VALUE_ROW * min(n, _NAMED))
    few = n <= _NAMED
    figure.update_yaxes(
        tickvals=list(range(n)) if few else [],
        ticktext=names if few else [],
        title=None if few else "judges, most valuable above",
        showgrid=False,
        range=[-0.8, n - 0.2],
    )
    return figure


def removal_figure(result: Value) -> go.Figure:
    """Change of NLL against the number of least valuable judges removed, at even steps.

    Crosses mark steps where a loss is not excluded.
    """
    rows = result.removal
    start = Interval.full(1, 0.0)
    delta, band = (
        Interval.joined([start, Interval.stacked(getattr(row, name) for row in rows)])
        for name in ("delta", "band")
    )
    m = [0, *(row.m for row in rows)]
    nll = [float(result.nll_all.value), *(float(row.nll.value) for row in rows)]
    free = np.array([True, *(row.free for row in rows)])
    place = np.arange(len(m))
    figure = go.Figure()
    style.add_band(figure, place, band, style.INCLUDE, name="95 % band of all steps")
    line = {"color": style.INCLUDE, "width": 1.5}
    figure.add_scatter(
        x=place, y=delta.value, mode="lines", line=line, hoverinfo="skip", showlegend=False
    )
    for outcome, name, colour, symbol in (
        (True, "no loss, at this step and all before", style.INCLUDE, "circle"),
        (False, "a loss is not excluded", style.CURATE_LINE, "x"),
    ):
        own = np.flatnonzero(free == outcome)
        if not len(own):
            continue
        style.add_series(
            figure,
            own,
            delta[own],
            style.spot(colour, symbol),
            name,
            "without %{customdata[0]} judges: %{y:+.4f} NLL %{customdata[2]}<br>"
            "NLL %{customdata[1]:.3f}",
            customdata=[[m[i], nll[i], _span(*delta[i])] for i in own],
        )
    figure.add_hline(y=0.0, line={"color": style.NEUTRAL, "width": 1})
    figure.add_hline(y=result.margin, line=style.DOTTED)
    style.laid_out(figure, x="judges that go, worth least first", y="change of NLL (dotted: 2 %)")
    figure.update_xaxes(tickvals=list(place), ticktext=[f"{entry:,}" for entry in m])
    _cut(figure, result, band)
    return figure


def _cut(figure: go.Figure, result: Value, band: Interval) -> None:
    """Leave a last step that dwarfs the others outside the axis range, with a note of its value."""
    ends = np.array([*band.lo[:-1], *band.hi[:-1], result.margin])
    most = float(np.abs(ends[np.isfinite(ends)]).max())
    last = result.removal[-1]
    change = float(last.delta.value)
    if change < _DWARFS * most:
        return
    figure.update_yaxes(range=[-1.15 * most, 1.4 * most])
    figure.add_annotation(
        x=len(result.removal),
        y=1.0,
        yref="paper",
        yanchor="top",
        xanchor="right",
        showarrow=False,
        text=f"▲ {change:+z.2f} without {last.m}",
        font={"color": style.CURATE_LINE},
    )


def _span(_: float, lo: float, hi: float) -> str:
    return f"[{lo:+z.4f}, {hi:+z.4f}]" if np.isfinite(lo) and np.isfinite(hi) else ""
