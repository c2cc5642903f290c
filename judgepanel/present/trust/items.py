"""Presentation of items: quality on easy and hard items, and the items that a panel misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.dots import groups_figure
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.study import Entry, panel_spec
from judgepanel.present.trust.reliability import GROUPING_NAMES, NOT_YET, fitted_on, share_text
from judgepanel.scoring.interval import Interval
from judgepanel.studies.trust.items import ITEMS, Items, ItemsSpec, StratumGrouping
from judgepanel.studies.trust.probabilities import CALIBRATED as AFTER
from judgepanel.studies.trust.probabilities import RAW as BEFORE
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, levels, numbers, text
from judgepanel.words.text import one_line, share_level

_LISTED = 10


@dataclass(frozen=True, slots=True)
class ItemsView:
    """Strata to show, None for all, and whether to list single items."""

    grouping: StratumGrouping | None = None
    listed: bool = True


def items_sentence(result: Items) -> str:
    """Compare the panel on items where judges agree and where they do not."""
    if result.n_splits < 2:
        return NOT_YET
    rows = [g for g in result.strata_of("difficulty") if result.strata[g] != "no votes"]
    if len(rows) < 2:
        return "The votes are too alike to tell easy items from hard ones."
    parts = [
        f"Where {_stratum(result.strata[g])} it is right "
        f"{share_level(*result.accuracy[AFTER, g])} and says "
        f"{share_text(float(result.confidence[AFTER, g]))}{_verdict(result, g)}"
        for g in (rows[0], rows[-1])
    ]
    text = f"{parts[0]}. {parts[1]}."
    if result.nll_by.value[AFTER, rows[0]] > result.nll_by.value[AFTER, rows[-1]]:
        text += (
            " So agreement is not a sign of safety here: what judges agree on is predicted worse."
        )
    return f"{text} {CODING}" if result.measures_coding else text


def _verdict(result: Items, g: int) -> str:
    """Say whether a stratum's stated confidence is outside the interval of its accuracy."""
    right, stated = result.accuracy[AFTER, g], float(result.confidence[AFTER, g])
    if right.below(stated):
        return " (too sure)"
    return " (too cautious)" if right.above(stated) else ""


def _stratum(name: str) -> str:
    """Return a tercile's name for use within a sentence."""
    return {"judges agree": "judges agree most", "judges disagree": "judges disagree most"}.get(
        name, f"agreement is {name}"
    )


def strata_table(result: Items, grouping: StratumGrouping) -> dict[str, Column]:
    """Return accuracy, NLL and ECE by stratum, before and after calibration."""
    rows = result.strata_of(grouping)
    return {
        "items": text([one_line(result.strata[g]) for g in rows]),
        "how many": numbers(result.stratum_items[rows], "whole"),
        "right": Column(result.accuracy[AFTER, rows], "share level"),
        "says on average": numbers(result.confidence[AFTER, rows], "share"),
        "NLL (stratum)": levels(result.nll_by[AFTER, rows]),
        "base rate": numbers(result.null_by[rows], of="null_nll"),
        "NLL before (stratum)": levels(result.nll_by[BEFORE, rows]),
        "ECE": Column(result.ece[AFTER, rows], "estimate"),
        "ECE by chance": numbers(result.ece_null[AFTER, rows]),
        "ECE before": numbers(result.ece.value[BEFORE, rows]),
    }


def item_table(result: Items, rows: NDArray[np.int64]) -> dict[str, Column]:
    """Return these items, one row each, with their features."""
    p, lo, hi = result.p[rows]
    features = {
        f"feature: {one_line(name)}": text([one_line(values[i]) for i in rows])
        for name, values in zip(result.features, result.feature_values, strict=True)
    }
    return {
        "item": text([one_line(result.item_ids[i]) for i in rows]),
        "label": numbers(result.labels[rows], "whole"),
        "p(label 1)": numbers(p, of="p"),
        "p from": numbers(lo, of="p_lo"),
        "p to": numbers(hi, of="p_hi"),
        "surprise (NLL)": numbers(result.nll[rows], of="nll"),
        "votes for 1": numbers(result.for_1[rows], "whole"),
        "votes for 0": numbers(result.for_0[rows], "whole"),
        "votes against label": numbers(result.wrong[rows], "whole"),
        "disagreement": numbers(result.disagreement[rows]),
        "held out": numbers(result.times[rows], "whole"),
        **features,
    }


def strata_figure(result: Items, grouping: StratumGrouping) -> go.Figure:
    """Draw stated confidence against accuracy after calibration, by stratum."""
    rows = result.strata_of(grouping)
    marks = {
        "stated confidence": Interval.alone(result.confidence[AFTER, rows]),
        "share right": result.accuracy[AFTER, rows],
    }
    return groups_figure([result.strata[g] for g in rows], marks, "share of items")


def present(result: Items, spec: ItemsSpec, view: ItemsView = ItemsView()) -> list[Block]:
    """Present the strata, then the worst misses and the most contested items."""
    blocks: list[Block] = [Answer(items_sentence(result))]
    for grouping in dict.fromkeys(result.groupings):
        if view.grouping in (None, grouping):
            blocks += _strata(result, grouping)
    if view.listed:
        for title, rows in (
            ("Worst misses.", result.worst(_LISTED)),
            ("Most contested.", result.contested(_LISTED)),
        ):
            blocks += [Table(item_table(result, rows), title)] if len(rows) else []
    return [*blocks, _method(result)]


def _strata(result: Items, grouping: StratumGrouping) -> list[Block]:
    by = GROUPING_NAMES[grouping]
    shows = f"stated confidence and share right, by {by}"
    blocks: list[Block] = [drawing(shows, strata_figure, result, grouping)]
    if grouping == "errors":
        blocks.append(
            Paragraph(
                "These strata are defined by the label, so accuracy is high or low in them by "
                "construction.",
                quiet=True,
            )
        )
    return [*blocks, Table(strata_table(result, grouping), f"By {by}.")]


def _method(result: Items) -> Method:
    return Method(
        f"{fitted_on(result)} one part of the items. "
        "An item's probability is the mean over the splits that held it out; 'p from' and "
        "'p to' are the central 95 % of them. NLL is the mean surprise at its label. Disagreement "
        "is 0 where all votes are alike and 1 where they are evenly split; strata are its thirds, "
        "with equal values kept together. It counts the votes of all judges of the analysis. The "
        "table that the command writes has every item."
    )


ENTRY = Entry(ITEMS, present, panel_spec(ITEMS.spec))
