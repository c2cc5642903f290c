"""The palette and layout that all figures share."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.interval import Interval

INCLUDE = "#4C78A8"
CURATE_FILL = "#F28E2B"
CURATE_LINE = "#B35900"
NEUTRAL = "#6B7280"
ALERT = "#DC2626"
BLACK, WHITE = "#000000", "#FFFFFF"
INK, GRID, LINE = "#0F1720", "#DFE4EA", "#97A2AE"
"""Text, grid and axes of a figure outside the dashboard, which has its own theme."""
PALE, DEEP = "#EEF2F7", "#2F5D8C"
"""Ends of a scale of colours."""
BAND_OPACITY = 0.18
MISSING_OPACITY = 0.5
NAME_LENGTH = 60
DOTTED: dict[str, Any] = {"color": NEUTRAL, "width": 1.5, "dash": "dot"}
"""The line of a reference level."""
METRIC_NAMES = {
    "nll": "NLL (nats per item)",
    "brier": "Brier score",
    "ece": "expected calibration error",
    "accuracy": "accuracy",
}


@dataclass(frozen=True, slots=True)
class Look:
    """Colours, marker and dash that tell panels apart; without a symbol or a dash only the other.

    ``width`` is that of the line and ``size`` that of the marker, in pixels.
    """

    fill: str
    colour: str
    symbol: str = ""
    dash: str = "solid"
    width: float = 3.0
    size: int = 9

    def drawn(self) -> dict[str, Any]:
        """Return the mode, line and marker of a trace."""
        line = {"color": self.colour, "width": self.width, "dash": self.dash}
        marks = {"mode": "+".join(["lines"] * bool(self.dash) + ["markers"] * bool(self.symbol))}
        return (
            marks
            | ({"line": line} if self.dash else {})
            | ({"marker": self.marker(self.size)} if self.symbol else {})
        )

    def marker(self, size: int = 9) -> dict[str, Any]:
        """The marker of a point, filled and outlined."""
        line = {"color": self.colour, "width": 1}
        return {"color": self.fill, "symbol": self.symbol, "size": size, "line": line}


def spot(colour: str, symbol: str, size: int = 9) -> Look:
    """The look of points of one colour."""
    return Look(colour, colour, symbol, "", size=size)


def stroke(colour: str, dash: str = "solid", width: float = 3.0) -> Look:
    """The look of a line of one colour."""
    return Look(colour, colour, "", dash, width)


ALL_JUDGES = Look(INCLUDE, INCLUDE, "circle")
CHOSEN = Look(CURATE_FILL, CURATE_LINE, "diamond", "dash")
"""The look of a chosen panel that is smaller than all judges."""
RECOMMENDED = Look(INCLUDE, WHITE, "star")
"""Outlined in white, since it may lie on the mark of all judges."""
_MARK = 11
"""Size of a highlighted point."""


def escaped(name: str, length: int = NAME_LENGTH) -> str:
    """An untrusted name for plotly, which reads text as HTML: one line, bounded, escaped."""
    plain = "".join(char if unicodedata.category(char)[0] != "C" else " " for char in name)
    if len(plain) > length:
        plain = plain[: length - 1] + "…"
    return html.escape(plain)


def standing_alone(figure: go.Figure) -> go.Figure:
    """A copy that can be read on any background, in system fonts."""
    lines = {"zerolinecolor": LINE, "linecolor": LINE, "tickcolor": LINE}
    axis = {"gridcolor": GRID, "title": {"font": {"size": 13}}, **lines}
    look = {
        "font": {"color": INK, "size": 13, "family": "system-ui, 'Segoe UI', Arial, sans-serif"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": axis,
        "yaxis": axis,
        "hoverlabel": {"align": "left"},
    }
    return go.Figure(figure).update_layout(template={"layout": look}, autosize=True)


def in_css(colour: str) -> str:
    """A hex colour as browsers report it: ``rgb(15, 23, 32)``."""
    return "rgb({}, {}, {})".format(*_channels(colour))


def with_opacity(colour: str, opacity: float) -> str:
    """A hex colour as rgba()."""
    red, green, blue = _channels(colour)
    return f"rgba({red},{green},{blue},{opacity})"


def mixed(entry: str, other: str, share: float) -> str:
    """The hex colour at ``share`` in [0, 1] of the way from ``entry`` to ``other``."""
    return "#" + "".join(
        f"{round(a + share * (b - a)):02X}"
        for a, b in zip(_channels(entry), _channels(other), strict=True)
    )


def text_on(colour: str) -> str:
    """Black or white, whichever has more contrast on a hex colour; it is at least 4.5."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(colour))
    ]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05
    return BLACK if light / 0.05 >= 1.05 / light else WHITE


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


FEW, LONGEST = 6, 18
"""Most judges that can be named below an axis, and characters of a name that fit there."""


def rank_axis(figure: go.Figure, n: int, names: Sequence[str] = ()) -> None:
    """A linear axis of ranks 1..n, with ticks at the first, the last and round ones between.

    ``names``, untrusted, replace the ranks if there is room for all of them.
    """
    if 0 < len(names) <= FEW:
        texts = [escaped(name, LONGEST) for name in names]
        figure.update_xaxes(
            range=[0, n + 1],
            tickvals=list(range(1, n + 1)),
            ticktext=texts,
            # Plotly hides a turned label that leaves the figure on the right.
            autotickangles=[0, -30, -90],
        )
        return
    step = next(m * 10**e for e in range(9) for m in (1, 2, 5) if n <= 8 * m * 10**e)
    ticks = sorted({1, n, *(k for k in range(step, n, step) if k <= n - step / 2)})
    figure.update_xaxes(range=[0, n + 1], tickvals=ticks, ticktext=[f"{k:,}" for k in ticks])


def label_rows(figure: go.Figure, texts: Sequence[str], **more: object) -> None:
    """Name rows at 0, 1, 2, ... from top to bottom; ``more`` are further options of the axis."""
    n = len(texts)
    figure.update_yaxes(tickvals=np.arange(n), ticktext=texts, range=[n - 0.5, -0.5], **more)


def laid_out(figure: go.Figure, *, x: str, y: str, height: int = 420) -> go.Figure:
    """Apply the common layout: light axes, legend above, small margins."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "title": None},
        hovermode="closest",
        hoverlabel={"align": "left"},
        xaxis={"title": x, "showgrid": False, "zeroline": False, "automargin": True},
        yaxis={"title": y, "zeroline": False, "automargin": True},
    )
    return figure


def add_series(
    figure: go.Figure,
    x: Interval | ArrayLike,
    y: Interval | ArrayLike,
    look: Look,
    name: str,
    hover: str,
    **more: object,
) -> None:
    """Add a line, points or both; an interval along an axis has error bars.

    ``more`` are further options of a scatter trace, such as its row, column and legend.
    """
    drawn: dict[str, Any] = look.drawn()
    for axis, values in (("x", x), ("y", y)):
        if isinstance(values, Interval):
            drawn |= {axis: values.value, f"error_{axis}": error_bars(values, look.colour)}
        else:
            drawn[axis] = values
    figure.add_scatter(name=name, hovertemplate=f"{hover}<extra></extra>", **{**drawn, **more})


def add_kinds(
    figure: go.Figure,
    kind: Ints,
    looks: Sequence[tuple[str, Look]],
    x: Ints,
    y: Interval | Floats,
    hover: str,
    *,
    names: Sequence[str],
    customdata: NDArray[Any] | None = None,
) -> None:
    """Add points (n,) by kind, the place of its name and look; the legend counts them.

    ``names`` (n,), untrusted, and ``customdata`` (n, m) are for the hover text.
    """
    for place, (name, look) in enumerate(looks):
        rows = np.flatnonzero(kind == place)
        if len(rows):
            more = {} if customdata is None else {"customdata": customdata[rows]}
            texts = [escaped(names[row]) for row in rows.tolist()]
            title = f"{name} ({len(rows)})"
            add_series(figure, x[rows], y[rows], look, title, hover, text=texts, **more)


def hatched(colour: str, shape: str, line: str = CURATE_LINE, **more: object) -> dict[str, Any]:
    """The marker of bars that a pattern tells apart as well as their colour."""
    pattern = {"shape": shape, **more, "fgcolor": line, "size": 6, "solidity": 0.3}
    return {"color": colour, "line": {"width": 0}, "pattern": pattern}


def stacked(figure: go.Figure, judges: Sequence[str], *, x: str, y: str, height: int) -> go.Figure:
    """Lay out bars of shares, stacked, one bar per judge."""
    figure.update_layout(barmode="stack", bargap=0.15 if len(judges) < 80 else 0.0)
    laid_out(figure, x=x, y=y, height=height)
    figure.update_layout(legend_traceorder="normal")
    figure.update_yaxes(tickformat=".0%", range=[0, 1])
    rank_axis(figure, len(judges), judges)
    return figure


def add_band(
    figure: go.Figure,
    x: Floats | Ints,
    band: Interval,
    colour: str,
    *,
    opacity: float = BAND_OPACITY,
    **more: object,
) -> None:
    """Shade an interval (n,) along x; nothing where its ends are unknown."""
    if np.isfinite([band.lo, band.hi]).all():
        figure.add_scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([band.hi, band.lo[::-1]]),
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=with_opacity(colour, opacity),
            hoverinfo="skip",
            **more,
        )


def shade(figure: go.Figure, x0: float, x1: float, opacity: float) -> None:
    """Shade in grey what lies between two places of the x-axis."""
    fill = with_opacity(NEUTRAL, opacity)
    figure.add_vrect(x0=x0, x1=x1, fillcolor=fill, line_width=0, layer="below")


def cell_text(x: int, y: int, text: str, colour: str, size: int) -> dict[str, Any]:
    """The text in a cell of this colour, as an annotation.

    Annotations are set all at once, since each call of plotly is slow.
    """
    font = {"color": text_on(colour), "size": size}
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": font}


def add_base_rate(
    figure: go.Figure, x: ArrayLike, y: ArrayLike, hover: str = "base rate: %{y:.3f}"
) -> None:
    """Add the base rate's NLL, against which every panel is compared."""
    add_series(figure, x, y, stroke(NEUTRAL, "dot", 1.5), "base rate", hover)


def mark_all_judges(figure: go.Figure, x: float, y: float, name: str, hover: str) -> None:
    """Mark the point of all judges with a square, since panels may be circles."""
    mark(figure, Look(INCLUDE, WHITE, "square"), x, y, name, hover)


def mark_chosen(
    figure: go.Figure, x: float, y: float, name: str, hover: str, **place: object
) -> None:
    """Mark the chosen point; ``place`` as in :func:`mark`."""
    mark(figure, CHOSEN, x, y, name, hover, **place)


def mark(
    figure: go.Figure, look: Look, x: float, y: float, name: str, hover: str, **place: object
) -> None:
    """Mark a point with this look; ``place`` is its row, column and legend."""
    add_series(figure, [x], [y], replace(look, dash="", size=_MARK), name, hover, **place)


def error_bars(estimates: Interval, colour: str) -> dict[str, object]:
    """Asymmetric error bars; none where the interval is unknown."""
    value, lo, hi = estimates
    return {
        "type": "data",
        "symmetric": False,
        "array": np.nan_to_num(hi - value),
        "arrayminus": np.nan_to_num(value - lo),
        "color": colour,
        "thickness": 1.2,
        "width": 4,
    }
