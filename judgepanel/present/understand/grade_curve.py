"""What the grades of one judge tell, as a sentence, a figure and a table."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import DOTTED, INCLUDE, error_bars, laid_out
from judgepanel.studies.judges.grade_curve import GradeCurve
from judgepanel.words.cells import Column, levels, numbers, text
from judgepanel.words.numbers import counted, share_level, sig
from judgepanel.words.text import plain


def grade_sentence(curve: GradeCurve) -> str:
    """Compare the votes nearest to the threshold with those farthest from it."""
    judge, at = plain(curve.judge, 60), f"the threshold {sig(curve.threshold)}"
    if len(curve.voted) == 1:
        return f"Grades of {judge} are all as far from {at}, so they tell no more than its votes."
    near, far = (share_level(*curve.accuracy[band]) for band in (0, -1))
    apart = curve.accuracy.lo[-1] > curve.accuracy.hi[0]
    shown = "Grades tell more than votes" if apart else "Grades are not shown to tell more"
    return (
        f"{shown}: {judge} is right on {near} of {counted(int(curve.voted[0]), 'item')} with a "
        f"grade within {sig(curve.farthest[0])} of {at}, and on {far} of "
        f"{counted(int(curve.voted[-1]), 'item')} with a grade {sig(curve.nearest[-1])} or more "
        "from it."
    )


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
        hovertemplate="%{customdata[0]:.3~g} to %{customdata[1]:.3~g} from the threshold"
        "<br>right %{y:.1%} [%{customdata[3]:.1%}, %{customdata[4]:.1%}] of %{customdata[2]} items"
        "<extra></extra>",
    )
    figure.add_hline(y=0.5, line=DOTTED)
    laid_out(figure, x="distance of the grade from the threshold", y="right votes", height=320)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    figure.update_xaxes(rangemode="tozero")
    return figure


def grade_table(curve: GradeCurve) -> dict[str, Column]:
    """Return one row per band, nearest to the threshold first."""
    ends = zip(curve.nearest.tolist(), curve.farthest.tolist(), strict=True)
    return {
        "distance": text([f"{sig(near)} to {sig(far)}" for near, far in ends]),
        "right": levels(curve.accuracy),
        "items": numbers(curve.voted, "whole"),
    }
