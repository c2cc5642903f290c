"""Presentation of selective prediction: the gain from answering only confident items."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import DOTTED, INCLUDE, NEUTRAL, Look, add_band, add_series, laid_out
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.study import Entry, panel_spec
from judgepanel.present.trust.reliability import (
    ASKED,
    NOT_YET,
    fitted_on,
    items_column,
    stages_shown,
    uncalibrated,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.trust.probabilities import CALIBRATED as AFTER
from judgepanel.studies.trust.probabilities import FEW_ITEMS
from judgepanel.studies.trust.probabilities import RAW as BEFORE
from judgepanel.studies.trust.selective import SELECTIVE, Selective, SelectiveSpec
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column
from judgepanel.words.text import capital, fixed, percent, share_level, with_interval

_CLOSE = 0.13
_LEFT = 0.4


def selective_sentence(result: Selective) -> str:
    """Return the share answered with 90 % confidence, and its accuracy."""
    if result.n_splits < 2:
        return NOT_YET
    everything = share_level(*result.accuracy[AFTER])
    i = _limit(result)
    if i is None:
        return f"It is hardly ever sure. Answering everything, it is right {everything}."
    text = (
        f"Answering only where it is at least {percent(result.confidences[i])} sure: "
        f"{share_level(*result.share[AFTER, i])} of the items, "
        f"{share_level(*result.right[AFTER, i])} of them right. Answering everything: "
        f"{everything} right. Answering the surest first, the area under the curve (AUAC) is "
        f"{fixed(result.auac.value[AFTER], 3)}. That is {with_interval(*result.gain[AFTER])} above "
        "an order that says nothing; a perfect order would gain "
        f"{fixed(result.gain_most[AFTER], 3)}."
    )
    return f"{text} {CODING}" if result.measures_coding else text


def _limit(result: Selective) -> int | None:
    """Return the confidence nearest to 90 % that enough items reach."""
    enough = np.flatnonzero(result.items[AFTER] >= FEW_ITEMS)
    if not len(enough):
        return None
    return int(enough[np.argmin(np.abs(np.array(result.confidences)[enough] - ASKED))])


def selective_table(result: Selective) -> dict[str, Column]:
    """Return share answered and share right at every stated confidence, after and before.

    Only once without a calibrator.
    """
    limits = np.array([0.0, *result.confidences])
    columns = {"at least": Column(limits, "share", {0: "everything"})}
    whole = Interval.full(1, 1.0, "share")
    stages = ((AFTER, "after: "), (BEFORE, "before: "))
    for stage, when in ((AFTER, ""),) if result.calibrator == "none" else stages:
        items = result.items[stage]
        never = {int(i) + 1: "never so sure" for i in np.flatnonzero(items == 0)}
        share = Interval.joined([whole, result.share[stage]])
        right = Interval.joined([result.accuracy[[stage]], result.right[stage]])
        columns |= {
            f"{when}answered": Column(share, "share level", {0: "100 %"}),
            f"{when}right": Column(right, "share level", never),
            f"{when}items": items_column(np.append(result.n_items, items)),
        }
    return columns


def selective_figure(result: Selective) -> go.Figure:
    """Draw accuracy against the share answered, with the stated confidences marked.

    Markers of few items, or that would overlap, are omitted.
    """
    figure = go.Figure()
    curve, everything = result.curve[AFTER], float(result.accuracy.value[AFTER])
    add_band(figure, result.shares, curve, INCLUDE, name="95 % interval")
    figure.add_hline(y=everything, line=DOTTED)
    if result.calibrator != "none":
        faint = Look(NEUTRAL, NEUTRAL, "", "dash", 1.5)
        before, hover = result.curve.value[BEFORE], "before, surest %{x:.0%}: right %{y:.1%}"
        add_series(figure, result.shares, before, faint, "before", hover)
    name = uncalibrated(result) if result.calibrator == "none" else "after calibration"
    look, hover = Look(INCLUDE, INCLUDE), "surest %{x:.0%}: right %{y:.1%}"
    add_series(figure, result.shares, curve.value, look, name, hover)
    marks = _marks(result)
    at = result.share.value[AFTER, marks]
    figure.add_scatter(
        x=at,
        y=result.right.value[AFTER, marks],
        mode="markers+text",
        marker={"color": INCLUDE, "size": 9, "symbol": "circle"},
        text=[f"{100 * result.confidences[i]:g} %" for i in marks],
        # Near the left edge names are to the right of their markers, clear of the axis.
        textposition=["bottom right" if share < _LEFT else "bottom left" for share in at],
        name="stated confidence",
        hovertemplate="%{text} sure: answers %{x:.1%}, right %{y:.1%}<extra></extra>",
        cliponaxis=False,
    )
    laid_out(figure, x="share of items answered, surest first", y="share of answers right")
    figure.update_xaxes(tickformat=".0%", range=[0.0, 1.02])
    figure.update_yaxes(tickformat=".0%")
    return figure


def _marks(result: Selective) -> list[int]:
    """Return positions of the confidences to mark, the most answered first."""
    share, marks = result.share.value[AFTER], list[int]()
    for i in np.argsort(-share, kind="stable").tolist():
        apart = not marks or share[marks[-1]] - share[i] > _CLOSE
        if result.items[AFTER, i] >= FEW_ITEMS and apart:
            marks.append(i)
    return marks


def present(result: Selective, spec: SelectiveSpec) -> list[Block]:
    """Present answering the most confident items first, before and after calibration."""
    moves = (
        "Within a split a calibrator that keeps the order of the scores moves the marks, not the "
        "line. The mean over splits can move a little. "
    ) * (result.calibrator != "none")
    shows = "share of answers that are right against the share of items answered"
    return [
        Answer(selective_sentence(result)),
        drawing(shows, selective_figure, result),
        Paragraph(
            "The dotted line answers everything: an order that says nothing stays on it. "
            f"{moves}Marks can lie off the line: how many items are that sure differs from split "
            "to split.",
            quiet=True,
        ),
        Table(
            selective_table(result),
            f"{capital(stages_shown(result))}.",
        ),
        Method(
            f"{fitted_on(result)} one part of the items. The items held out "
            "are ranked by confidence, and the share right among the "
            "surest is averaged over the splits; ties share their places. AUAC is the area under "
            "that curve. Its null is the accuracy of answering everything. Intervals are for new "
            "items and new panels; they count items (or groups), never evaluations."
        ),
    ]


ENTRY = Entry(SELECTIVE, present, panel_spec(SELECTIVE.spec))
