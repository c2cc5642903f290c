"""What the grades of one judge tell, or of all: sentences, figures and tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    DOTTED,
    INCLUDE,
    NEUTRAL,
    error_bars,
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.present.blocks import Block, Heading, Paragraph, Table, drawing
from judgepanel.scoring.interval import Interval
from judgepanel.studies.judges.grade_curve import GradeCurve
from judgepanel.words.numbers import counted, share_level, sig
from judgepanel.words.tables import Column, levels, numbers, text
from judgepanel.words.text import plain

GRADE_NOTE = (
    "Bands of distances are cut without labels; intervals (95 %, Wilson) take items as independent "
    "and are for one judge alone. Aggregators on grades weigh a vote by its band."
)
_FAINT = 0.5
_HOVER = (
    "%{customdata[0]:.3~g} to %{customdata[1]:.3~g} from the threshold"
    "<br>right %{y:.1%} [%{customdata[3]:.1%}, %{customdata[4]:.1%}] of %{customdata[2]} items"
    "<extra></extra>"
)


def grade_sentence(curve: GradeCurve) -> str:
    """Compare the votes nearest to the threshold with those farthest from it."""
    judge, at = plain(curve.judge, 60), f"the threshold {sig(curve.threshold)}"
    if len(curve.voted) == 1:
        return (
            f"Grades of {judge} are all equally far from {at}, so they tell no more than its votes."
        )
    near, far = (share_level(*curve.accuracy[band]) for band in (0, -1))
    ends = _ends(curve)
    finding = "Grades tell more than votes" if curve.tells else "Grades are not shown to tell more"
    return (
        f"{finding}: {judge} is right on {near} of {counted(int(curve.voted[0]), 'item')} with a "
        f"grade within {ends[0][-1]} of {at}, and on {far} of "
        f"{counted(int(curve.voted[-1]), 'item')} with a grade {ends[-1][0]} or more "
        "from it."
    )


def _ends(curve: GradeCurve) -> list[tuple[str, ...]]:
    """Nearest and farthest distance of each band, with the digits that tell them apart."""
    return [
        _told_apart(*ends)
        for ends in zip(curve.nearest.tolist(), curve.farthest.tolist(), strict=True)
    ]


def _told_apart(near: float, far: float) -> tuple[str, ...]:
    for digits in range(3, 7):
        ends = sig(near, digits), sig(far, digits)
        if ends[0] != ends[1]:
            return ends
    return (sig(near),)


def grade_figure(curve: GradeCurve) -> go.Figure:
    """Draw the share of right votes by the distance of the grade, with intervals."""
    figure = go.Figure()
    figure.add_scatter(
        x=curve.median,
        y=curve.accuracy.value,
        mode="lines+markers",
        name="right",
        showlegend=False,
        marker={"color": INCLUDE, "size": 9},
        line={"color": INCLUDE, "width": 1},
        error_y=error_bars(curve.accuracy, INCLUDE) | {"thickness": 1, "width": 0},
        customdata=np.column_stack(
            [curve.nearest, curve.farthest, curve.voted, curve.accuracy.lo, curve.accuracy.hi]
        ),
        hovertemplate=_HOVER,
    )
    figure.add_hline(y=0.5, line=DOTTED)
    laid_out(figure, x="distance of the grade from the threshold", y="right votes", height=320)
    lowest = min(0.5, float(curve.accuracy.lo.min()))
    figure.update_yaxes(tickformat=".0%", range=[lowest - 0.02, 1.02])
    figure.update_xaxes(rangemode="tozero")
    return figure


def grade_table(curve: GradeCurve) -> dict[str, Column]:
    """Return one row per band, nearest to the threshold first."""
    return {
        "distance": text([" to ".join(ends) for ends in _ends(curve)]),
        "right": levels(curve.accuracy),
        "items": numbers(curve.voted, "whole"),
    }


def grade_blocks(curves: Sequence[GradeCurve]) -> list[Block]:
    """Return what the grades of all judges tell; nothing without grades."""
    if not curves:
        return []
    sentence = grades_sentence(curves)
    figure = (
        drawing(f"right votes by distance from the threshold. {sentence}", grade_figure, curves[0])
        if len(curves) == 1
        else drawing(f"right votes by distance of the grade. {sentence}", grades_figure, curves)
    )
    return [
        Heading("What grades tell", 3),
        Paragraph(sentence),
        figure,
        Paragraph(GRADE_NOTE, quiet=True),
        Table(grades_table(curves), "Every judge with grades.", most=200, height=420),
    ]


def grades_sentence(curves: Sequence[GradeCurve]) -> str:
    """Count the judges whose grades tell more than their votes."""
    if len(curves) == 1:
        return grade_sentence(curves[0])
    n = sum(curve.tells for curve in curves)
    have = "has" if n == 1 else "have"
    return (
        f"Of {len(curves):,} judges with grades {n:,} {have} grades that tell more than votes: "
        "right more often, beyond both intervals, where the grade is farthest from the threshold "
        "than where it is nearest."
    )


def grades_figure(curves: Sequence[GradeCurve]) -> go.Figure:
    """Draw the curves of all judges against ranks of distance, and mark the most accurate."""
    figure = go.Figure()
    for curve in reversed(curves):
        first = curve is curves[0]
        colour = INCLUDE if first else with_opacity(NEUTRAL, _FAINT)
        figure.add_scatter(
            x=curve.nearer,
            y=curve.accuracy.value,
            mode="lines+markers",
            name=escaped(curve.judge),
            showlegend=first,
            marker={"color": colour, "size": 9 if first else 5},
            line={"color": colour, "width": 2 if first else 1},
            error_y=error_bars(curve.accuracy, colour) | {"thickness": 1, "width": 0}
            if first
            else None,
            customdata=np.column_stack(
                [curve.nearest, curve.farthest, curve.voted, curve.accuracy.lo, curve.accuracy.hi]
            ),
            hovertemplate=f"{escaped(curve.judge)}<br>{_HOVER}",
        )
    figure.add_hline(y=0.5, line=DOTTED)
    laid_out(figure, x="votes nearer to the threshold", y="right votes", height=320)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    return figure


def grades_table(curves: Sequence[GradeCurve]) -> dict[str, Column]:
    """Return one row per judge, most accurate first: the bands nearest and farthest."""
    near, far = (Interval.stacked(curve.accuracy[band] for curve in curves) for band in (0, -1))
    return {
        "judge": text([plain(curve.judge, 120) for curve in curves]),
        "threshold": numbers([curve.threshold for curve in curves]),
        "nearest up to": numbers([curve.farthest[0] for curve in curves]),
        "right, nearest": levels(near),
        "farthest from": numbers([curve.nearest[-1] for curve in curves]),
        "right, farthest": levels(far),
        "tells more than votes": text(["yes" if curve.tells else "" for curve in curves]),
    }
