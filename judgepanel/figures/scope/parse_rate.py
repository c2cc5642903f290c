"""How often each judge gave a verdict, against the limits of P1."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    escaped,
    laid_out,
    rank_axis,
)
from judgepanel.studies.scope.parse import FILTER_RATE, REVIEW_RATE
from judgepanel.studies.scope.scope_result import Scope

_NAMES = ("90 % or more", "review: below 90 %", "filter: 70 % or less")
_STYLES = ((INCLUDE, "circle"), (CURATE_LINE, "diamond-open"), (CURATE_LINE, "x"))


def parse_rates(result: Scope) -> go.Figure:
    """One mark a judge, lowest parse rate first; kinds differ by shape as well as by colour."""
    order = np.argsort(result.parsed, kind="stable")
    rank = np.arange(1, len(order) + 1)
    rate = result.parsed[order]
    kind = np.where(rate <= FILTER_RATE, 2, np.where(rate < REVIEW_RATE, 1, 0))
    figure = go.Figure()
    for code, (name, (colour, symbol)) in enumerate(zip(_NAMES, _STYLES, strict=True)):
        rows = kind == code
        if not rows.any():
            continue
        figure.add_scatter(
            x=rank[rows],
            y=rate[rows],
            mode="markers",
            name=f"{name} ({int(rows.sum())})",
            marker={"color": colour, "symbol": symbol, "size": 8},
            text=[escaped(result.judges[j]) for j in order[rows]],
            hovertemplate="%{text}<br>a verdict on %{y:.1%}<extra></extra>",
        )
    for limit in (FILTER_RATE, REVIEW_RATE):
        figure.add_hline(y=limit, line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    laid_out(figure, x="judges, lowest parse rate first", y="share with a verdict", height=260)
    low = min(float(rate.min(initial=1.0)), FILTER_RATE) - 0.05
    figure.update_yaxes(tickformat=".0%", range=[max(low, 0.0) - 0.01, 1.03])
    rank_axis(figure, len(order), [result.judges[j] for j in order])
    return figure
