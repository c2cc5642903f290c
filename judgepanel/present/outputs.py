"""Presentation of judges' outputs and their coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from judgepanel.figures import style
from judgepanel.present.blocks import Block, Heading, Table, drawing, paragraphs
from judgepanel.studies.understand.judge_table import Positions, check_outputs, positions
from judgepanel.votes.table import LEVELS, Coverage
from judgepanel.words.outputs import (
    FORM_TITLES,
    coverage_sentence,
    coverage_table,
    position_sentence,
    position_table,
)
from judgepanel.words.sentences import check_sentences

_TINTS = {
    **dict.fromkeys(("bracket", "field", "bold", "score"), 0.0),
    "stated": 0.4,
    **dict.fromkeys(("closing", "opening", "letter"), 0.7),
}
"""Stricter forms have darker colours."""
_SHAPES = {"field": "/", "bold": ".", "opening": "|", "letter": "."}


def outputs(coverage: Coverage) -> list[Block]:
    """Return coverage, and order effects if judges saw both orders; no text from judges."""
    sentence = coverage_sentence(coverage)
    blocks: list[Block] = [Heading("Outputs of the judges")]
    blocks += paragraphs(sentence, check_sentences(check_outputs(coverage)))
    blocks.append(drawing(f"Share of outputs by form. {sentence}", parse_levels, coverage))
    blocks.append(Table(coverage_table(coverage), "Outputs by judge"))
    result = positions(coverage)
    if result is not None:
        sentence = position_sentence(result)
        blocks += paragraphs(sentence)
        blocks.append(drawing(f"The same in both orders. {sentence}", both_orders, result))
        blocks.append(Table(position_table(result), "In both orders"))
    return blocks


def parse_levels(coverage: Coverage) -> go.Figure:
    """Draw the share of outputs by form of verdict, one bar per judge, lowest coverage first."""
    frame = coverage.frame()
    x = np.arange(1, len(frame) + 1)
    names = [style.escaped(name) for name in frame["judge"]]
    tints = {level: style.mixed(style.INCLUDE, style.WHITE, _TINTS[level]) for level in LEVELS}
    parts: list[tuple[str, pd.Series, str, str]] = [
        (level, frame[level], tints[level], _SHAPES.get(level, "")) for level in LEVELS
    ]
    tied = frame["tie"]
    rest = frame["outputs"] - frame["read"] - tied
    parts += [
        ("tie", tied, style.with_opacity(style.NEUTRAL, style.MISSING_OPACITY), ""),
        ("not read", rest, style.CURATE_FILL, "/"),
    ]
    figure = go.Figure()
    for name, counts, colour, pattern in parts:
        if not counts.any():
            continue
        title = FORM_TITLES.get(name, name)
        line = style.CURATE_LINE if name == "not read" else style.INCLUDE
        hover = f"%{{text}}<br>{title}: %{{customdata[0]:,}} of %{{customdata[1]:,}}<extra></extra>"
        figure.add_bar(
            x=x,
            y=counts / frame["outputs"],
            name=title,
            marker=style.hatched(colour, pattern, line),
            text=names,
            textposition="none",
            customdata=np.column_stack([counts, frame["outputs"]]),
            hovertemplate=hover,
        )
    judges = list(frame["judge"])
    return style.stacked(
        figure, judges, x="judges, least read first", y="share of outputs", height=320
    )


def both_orders(positions: Positions) -> go.Figure:
    """Draw consistency with its interval, the lowest first; marker and hover text show the lean."""
    judges, lean = positions.judges, positions.lean
    rank = np.arange(1, len(judges) + 1)
    figure = go.Figure()
    style.add_kinds(
        figure,
        np.where(lean.above(), 0, np.where(lean.below(), 1, 2)),
        (
            ("prefers what is shown first", style.spot(style.CURATE_LINE, "triangle-left")),
            ("prefers what is shown second", style.spot(style.CURATE_LINE, "triangle-right")),
            ("no preference shown", style.spot(style.INCLUDE, "circle")),
        ),
        rank,
        positions.consistent,
        "%{text}<br>the same in both orders on %{y:.1%} of %{customdata[0]} items<br>lean to "
        "the first %{customdata[1]:+.1%} [%{customdata[2]:+.1%}, %{customdata[3]:+.1%}]",
        names=judges,
        customdata=np.column_stack([positions.both, *lean]),
    )
    style.laid_out(figure, x="judges, least consistent first", y="same verdict in both orders")
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    style.rank_axis(figure, len(judges), judges)
    return figure
