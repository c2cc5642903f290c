"""Judges side by side: coverage when votes arrive, accuracy when a panel is chosen."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    MISSING_OPACITY,
    NEUTRAL,
    Look,
    add_series,
    escaped,
    laid_out,
    rank_axis,
    with_opacity,
)
from judgepanel.studies.understand.judge_table import JudgeTable


def coverage_strip(table: JudgeTable) -> go.Figure:
    """Share of items with a correct, incorrect or missing verdict: a bar per judge, by accuracy."""
    order = np.argsort(-np.nan_to_num(table.accuracy.value, nan=-1.0), kind="stable")
    names = [escaped(table.judges[j]) for j in order]
    x = np.arange(1, len(order) + 1)
    coverage = table.coverage[order]
    with np.errstate(invalid="ignore"):
        right = np.where(table.voted[order] > 0, table.accuracy.value[order], 0.0)
    figure = go.Figure()
    for share, name, colour, pattern in (
        (coverage * right, "correct", INCLUDE, ""),
        (coverage * (1 - right), "incorrect", CURATE_FILL, "/"),
        (1 - coverage, "missing", with_opacity(NEUTRAL, MISSING_OPACITY), ""),
    ):
        figure.add_bar(
            x=x,
            y=share,
            name=name,
            marker={
                "color": colour,
                "line": {"width": 0},
                "pattern": {"shape": pattern, "fgcolor": CURATE_LINE, "size": 6, "solidity": 0.3},
            },
            text=names,
            textposition="none",
            hovertemplate="%{text}<br>" + name + ": %{y:.1%}<extra></extra>",
        )
    figure.update_layout(barmode="stack", bargap=0.15 if len(order) < 80 else 0.0)
    laid_out(figure, x="judges, most accurate first", y="share of items", height=300)
    figure.update_layout(legend_traceorder="normal")
    figure.update_yaxes(tickformat=".0%", range=[0, 1])
    rank_axis(figure, len(order), [table.judges[j] for j in order])
    return figure


def kept_judges(
    table: JudgeTable, remaining: tuple[str, ...], set_aside: tuple[str, ...]
) -> go.Figure:
    """Accuracy of every judge with its interval; kept, left out and set aside look different."""
    order = np.argsort(-np.nan_to_num(table.accuracy.value, nan=-1.0), kind="stable")
    order = order[table.voted[order] > 0]
    rank = np.arange(1, len(order) + 1)
    chosen, aside = set(remaining), set(set_aside)
    status = np.array(
        [0 if table.judges[j] in chosen else 2 if table.judges[j] in aside else 1 for j in order]
    )
    figure = go.Figure()
    for code, name, colour, symbol in (
        (0, "kept", INCLUDE, "circle"),
        (1, "left out", CURATE_LINE, "circle-open"),
        (2, "set aside", NEUTRAL, "x"),
    ):
        rows = order[status == code]
        if not len(rows):
            continue
        accuracy = table.accuracy[rows]
        add_series(
            figure,
            rank[status == code],
            accuracy,
            Look(colour, colour, symbol, "", size=8),
            f"{name} ({len(rows)})",
            "%{text}<br>accuracy %{y:.1%} [%{customdata[0]:.1%}, %{customdata[1]:.1%}] on "
            "%{customdata[2]} items",
            text=[escaped(table.judges[j]) for j in rows],
            customdata=np.column_stack([accuracy.lo, accuracy.hi, table.voted[rows]]),
        )
    figure.add_hline(y=0.5, line=DOTTED)
    laid_out(figure, x="judges, most accurate first", y="accuracy on labelled items")
    figure.update_yaxes(tickformat=".0%")
    rank_axis(figure, len(order), [table.judges[j] for j in order])
    return figure
