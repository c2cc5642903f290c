"""What is gained by answering only where a panel is sure."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgepanel.figures.confidence.selective import selective_figure
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.trust.shares import (
    ASKED,
    NOT_YET,
    items_text,
    panel_name,
    share_of,
)
from judgepanel.studies.confidence.probabilities import CALIBRATED as AFTER
from judgepanel.studies.confidence.probabilities import RAW as BEFORE
from judgepanel.studies.confidence.reliability_result import FEW_ITEMS
from judgepanel.studies.confidence.selective import SelectiveSpec
from judgepanel.studies.confidence.selective_result import Selective
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed, percent, with_interval
from judgepanel.words.sentences import CODING


def selective_sentence(result: Selective) -> str:
    """What is answered where it is 90 % sure, and how much of that is right."""
    if result.n_splits < 2:
        return NOT_YET
    everything = share_of(result, "accuracy", (AFTER,))
    i = _limit(result)
    if i is None:
        return f"It is hardly ever sure. Answering everything, it is right {everything}."
    share, right = (share_of(result, name, (AFTER, i)) for name in ("share", "right"))
    text = (
        f"Answering only where it is at least {percent(result.confidences[i])} sure: {share} of "
        f"the items, {right} of them right. Answering everything: {everything} right. "
    )
    gain = with_interval(
        float(result.gain[AFTER]), float(result.gain_lo[AFTER]), float(result.gain_hi[AFTER])
    )
    text += (
        f"Answering the surest first, the area under the curve (AUAC) is "
        f"{fixed(float(result.auac[AFTER]), 3)}, {gain} above an order that says nothing; a "
        f"perfect order would gain {fixed(float(result.gain_most[AFTER]), 3)}."
    )
    return f"{text} {CODING}" if result.measures_coding else text


def _limit(result: Selective) -> int | None:
    """The limit nearest to 90 % that enough items reach."""
    enough = np.flatnonzero(result.items[AFTER] >= FEW_ITEMS)
    if not len(enough):
        return None
    return int(enough[np.argmin(np.abs(np.array(result.confidences)[enough] - ASKED))])


def selective_table(result: Selective) -> pd.DataFrame:
    """Share answered and share right at every stated confidence, after and before."""
    rows = []
    for i, limit in enumerate(result.confidences):
        row = {"at least": percent(limit)}
        for stage, when in ((AFTER, "after"), (BEFORE, "before")):
            none = result.items[stage, i] == 0
            row[f"{when}: answered"] = share_of(result, "share", (stage, i))
            right = "never so sure" if none else share_of(result, "right", (stage, i))
            row[f"{when}: right"] = right
            row[f"{when}: items"] = items_text(float(result.items[stage, i]))
        rows.append(row)
    everything = {"at least": "everything"}
    for stage, when in ((AFTER, "after"), (BEFORE, "before")):
        everything |= {
            f"{when}: answered": "100 %",
            f"{when}: right": share_of(result, "accuracy", (stage,)),
            f"{when}: items": f"{result.n_items:,}",
        }
    return pd.DataFrame([everything, *rows])


def present(result: Selective, spec: SelectiveSpec) -> list[Block]:
    """Answering the surest items first, before and after calibration."""
    shows = "share of answers that are right against the share of items answered"
    return [
        Answer(selective_sentence(result)),
        drawing(selective_figure(result), shows),
        Paragraph(
            "The dotted line answers everything: an order that says nothing stays on it. Within a "
            "split a calibrator that keeps the order of the scores moves the marks, not the line; "
            "the mean over splits can move a little. Marks can lie off the line: how many items "
            "are that sure differs from split to split.",
            quiet=True,
        ),
        Table(as_columns(selective_table(result)), "Before and after calibration."),
        Method(
            f"In every split {panel_name(result)} and the calibrator are fitted on one part of the "
            "items. The items held out are ranked by confidence, and the share right among the "
            "surest is averaged over the splits; ties share their places. AUAC is the area under "
            "that curve. Its null is the accuracy of answering everything. Intervals are for new "
            "items and new panels; they count items (or groups), never evaluations."
        ),
    ]
