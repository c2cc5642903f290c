"""One palette and one layout for every figure."""

from __future__ import annotations

import html
import unicodedata

import plotly.graph_objects as go

INCLUDE = "#4C78A8"
CURATE_FILL = "#F28E2B"
CURATE_LINE = "#B35900"
NEUTRAL = "#6B7280"
BAND_OPACITY = 0.18
MISSING_OPACITY = 0.5
NAME_LENGTH = 60


def escaped(name: str, length: int = NAME_LENGTH) -> str:
    """An untrusted name for plotly, which reads text as HTML: one line, bounded, inert."""
    plain = "".join(char if unicodedata.category(char)[0] != "C" else " " for char in name)
    if len(plain) > length:
        plain = plain[: length - 1] + "…"
    return html.escape(plain)


def with_opacity(colour: str, opacity: float) -> str:
    """A hex colour as rgba()."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def rank_axis(figure: go.Figure, n: int) -> None:
    """A linear axis over ranks 1..n: ticks at the first, the last and round ones between."""
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
