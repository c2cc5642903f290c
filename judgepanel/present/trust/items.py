"""How good a panel is on easy and hard items, and which items it misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.figures.confidence.groups import strata_figure
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.trust.shares import (
    GROUPING_NAMES,
    NOT_YET,
    level_of,
    panel_name,
    share_of,
    share_text,
)
from judgepanel.studies.confidence.items import ItemsSpec
from judgepanel.studies.confidence.items_result import Items, StratumGrouping
from judgepanel.studies.confidence.probabilities import CALIBRATED as AFTER
from judgepanel.studies.confidence.probabilities import RAW as BEFORE
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed
from judgepanel.words.sentences import CODING
from judgepanel.words.terminal import one_line

_LISTED = 10


@dataclass(frozen=True, slots=True)
class ItemsView:
    """Which strata, None for all of them, and whether single items are listed."""

    grouping: StratumGrouping | None = None
    listed: bool = True


def items_sentence(result: Items) -> str:
    """How good the panel is where judges agree and where they do not."""
    if result.n_splits < 2:
        return NOT_YET
    rows = [g for g in result.strata_of("difficulty") if result.strata[g] != "no votes"]
    if len(rows) < 2:
        return "The votes are too alike to tell easy items from hard ones."
    parts = [
        f"Where {_stratum(result.strata[g])} it is right {share_of(result, 'accuracy', (AFTER, g))}"
        f" and says {share_text(float(result.confidence[AFTER, g]))}{_verdict(result, g)}"
        for g in (rows[0], rows[-1])
    ]
    text = f"{parts[0]}; {parts[1][0].lower()}{parts[1][1:]}."
    easy, hard = (float(result.nll_by[AFTER, g]) for g in (rows[0], rows[-1]))
    if easy > hard:
        text += (
            " So agreement is not a sign of safety here: what judges agree on is predicted worse."
        )
    return f"{text} {CODING}" if result.measures_coding else text


def _verdict(result: Items, g: int) -> str:
    """Whether what it says in a stratum is outside the interval of what is right."""
    stated = result.confidence[AFTER, g]
    if stated > result.accuracy_hi[AFTER, g]:
        return " (too sure)"
    return " (too timid)" if stated < result.accuracy_lo[AFTER, g] else ""


def _stratum(name: str) -> str:
    """A tercile's name within a sentence."""
    return {"judges agree": "judges agree most", "judges disagree": "judges disagree most"}.get(
        name, f"agreement is {name}"
    )


def strata_table(result: Items, grouping: StratumGrouping) -> pd.DataFrame:
    """Accuracy, NLL and ECE by stratum, before and after."""
    rows = []
    for g in result.strata_of(grouping):
        row = {
            "items": one_line(result.strata[g]),
            "how many": f"{result.stratum_items[g]:,}",
            "right": share_of(result, "accuracy", (AFTER, g)),
            "says on average": share_text(float(result.confidence[AFTER, g])),
            "NLL (stratum)": level_of(result, "nll_by", (AFTER, g)),
            "base rate": fixed(float(result.null_by[g]), 3),
            "NLL before (stratum)": level_of(result, "nll_by", (BEFORE, g)),
            "ECE": level_of(result, "ece", (AFTER, g), 2),
            "ECE by chance": fixed(float(result.ece_null[AFTER, g]), 3),
            "ECE before": fixed(float(result.ece[BEFORE, g]), 3),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def item_table(result: Items, rows: NDArray[np.int64]) -> pd.DataFrame:
    """These items, one row each, with their features."""
    columns: dict[str, object] = {
        "item": [one_line(result.item_ids[i]) for i in rows],
        "label": result.labels[rows],
        "p(label 1)": result.p[rows],
        "p from": result.p_lo[rows],
        "p to": result.p_hi[rows],
        "surprise (NLL)": result.nll[rows],
        "votes for 1": result.for_1[rows],
        "votes for 0": result.for_0[rows],
        "votes against label": result.wrong[rows],
        "disagreement": result.disagreement[rows],
        "held out": result.times[rows],
    }
    for name, values in zip(result.features, result.feature_values, strict=True):
        columns[f"feature: {one_line(name)}"] = [one_line(values[i]) for i in rows]
    return pd.DataFrame(columns)


def present(result: Items, spec: ItemsSpec, view: ItemsView = ItemsView()) -> list[Block]:
    """The strata, then the worst misses and the most contested items."""
    blocks: list[Block] = [Answer(items_sentence(result))]
    for grouping in dict.fromkeys(result.groupings):
        if view.grouping in (None, grouping):
            blocks += _strata(result, grouping)
    if view.listed:
        for title, rows in (
            ("Worst misses.", result.worst(_LISTED)),
            ("Most contested.", result.contested(_LISTED)),
        ):
            blocks += [Table(as_columns(item_table(result, rows)), title)] if len(rows) else []
    return [*blocks, _method(result)]


def _strata(result: Items, grouping: StratumGrouping) -> list[Block]:
    by = GROUPING_NAMES[grouping]
    shows = f"stated confidence and share right, by {by}"
    blocks: list[Block] = [drawing(strata_figure(result, grouping), shows)]
    if grouping == "errors":
        blocks.append(
            Paragraph(
                "The label is in these strata, so accuracy is high or low in them by construction.",
                quiet=True,
            )
        )
    return [*blocks, Table(as_columns(strata_table(result, grouping)), f"By {by}.")]


def _method(result: Items) -> Method:
    return Method(
        f"In every split {panel_name(result)} and the calibrator are fitted on one part of the "
        "items. An item's probability is the mean over the splits that held it out; 'p from' and "
        "'p to' are the central 95 % of them. NLL is the mean surprise at its label. Disagreement "
        "is 0 where all votes are alike and 1 where they are half against half; strata are its "
        "thirds, equal values together. It counts the votes of all judges of the analysis. The "
        "table that the command writes has every item."
    )
