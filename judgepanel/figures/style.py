"""One palette and one layout for every figure."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from judgepanel.scoring.interval import Interval

INCLUDE = "#4C78A8"
CURATE_FILL = "#F28E2B"
CURATE_LINE = "#B35900"
NEUTRAL = "#6B7280"
BLACK, WHITE = "#000000", "#FFFFFF"
INK, GRID, LINE = "#0F1720", "#DFE4EA", "#97A2AE"
"""Text, grid and axes of a figure outside the dashboard, which brings its own."""
BAND_OPACITY = 0.18
MISSING_OPACITY = 0.5
NAME_LENGTH = 60


def escaped(name: str, length: int = NAME_LENGTH) -> str:
    """An untrusted name for plotly, which reads text as HTML: one line, bounded, inert."""
    plain = "".join(char if unicodedata.category(char)[0] != "C" else " " for char in name)
    if len(plain) > length:
        plain = plain[: length - 1] + "…"
    return html.escape(plain)


def standing_alone(figure: go.Figure) -> go.Figure:
    """A copy for a page of any background, in system fonts."""
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
    """A hex colour as a browser writes it back: ``rgb(15, 23, 32)``."""
    return "rgb({}, {}, {})".format(*_channels(colour))


def with_opacity(colour: str, opacity: float) -> str:
    """A hex colour as rgba()."""
    red, green, blue = _channels(colour)
    return f"rgba({red},{green},{blue},{opacity})"


def mixed(entry: str, other: str, share: float) -> str:
    """The hex colour at ``share`` in [0, 1] of the way from one to the other."""
    return "#" + "".join(
        f"{round(a + share * (b - a)):02X}"
        for a, b in zip(_channels(entry), _channels(other), strict=True)
    )


def text_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a hex colour: contrast is at least 4.5."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(colour))
    ]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05
    return BLACK if light / 0.05 >= 1.05 / light else WHITE


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


FEW, LONGEST = 6, 18
"""Judges that can be named below an axis, and the characters of a name that fit there."""


def rank_axis(figure: go.Figure, n: int, names: Sequence[str] = ()) -> None:
    """A linear axis over ranks 1..n: ticks at the first, the last and round ones between.

    ``names``, untrusted, stand there instead where there is room for all of them.
    """
    if 0 < len(names) <= FEW:
        texts = [escaped(name, LONGEST) for name in names]
        figure.update_xaxes(range=[0, n + 1], tickvals=list(range(1, n + 1)), ticktext=texts)
        return
    step = next(m * 10**e for e in range(9) for m in (1, 2, 5) if n <= 8 * m * 10**e)
    ticks = sorted({1, n, *(k for k in range(step, n, step) if k <= n - step / 2)})
    figure.update_xaxes(range=[0, n + 1], tickvals=ticks, ticktext=[f"{k:,}" for k in ticks])


def laid_out(figure: go.Figure, *, x: str, y: str, height: int = 420) -> go.Figure:
    """Quiet axes, legend above, room for small screens."""
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


def error_bars(estimates: Interval, colour: str) -> dict[str, object]:
    """Asymmetric bars; none where they are unknown."""
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
