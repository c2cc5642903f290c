"""NLL of panels as dots with intervals, one row per aggregator or step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    add_base_rate,
    error_bars,
    laid_out,
)
from judgepanel.scoring.interval import Interval

_STYLES = ((INCLUDE, "circle", 11), (CURATE_LINE, "diamond-open", 9), (NEUTRAL, "square-open", 8))
MOST_PANELS = len(_STYLES)
_APART = 0.2
_ROW_HEIGHT = 58
_LABEL = 18
"""Characters per line of a label, so that narrow screens keep room for the dots."""


def dots(rows: Sequence[str], panels: Mapping[str, Interval], null: float) -> go.Figure:
    """Dots from top to bottom against NLL, with the base rate's NLL ``null`` as a line.

    ``panels``, at most ``MOST_PANELS``, have shape (n_rows,) each; error bars need known intervals.
    """
    figure = go.Figure()
    places = np.arange(len(rows))
    for i, ((name, nll), style) in enumerate(zip(panels.items(), _STYLES, strict=False)):
        colour, symbol, size = style
        known = bool(np.isfinite([nll.lo, nll.hi]).all())
        spans = [f" [{lo:.3f}, {hi:.3f}]" if known else "" for _, lo, hi in zip(*nll, strict=True)]
        figure.add_scatter(
            x=nll.value,
            y=places + _APART * (i - (len(panels) - 1) / 2),
            mode="markers",
            name=name,
            marker={"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
            error_x=error_bars(nll, colour) if known else None,
            text=[
                f"{row}<br>{name}: {value:.3f}{span}"
                for row, value, span in zip(rows, nll.value, spans, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    add_base_rate(figure, [null, null], [-0.5, len(rows) - 0.5], "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=110 + _ROW_HEIGHT * len(rows))
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(
        tickvals=places,
        ticktext=["<br>".join(wrap(row, _LABEL)) for row in rows],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
    )
    return figure
