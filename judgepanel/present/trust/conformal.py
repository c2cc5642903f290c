"""How often conformal sets hold the true label, over all items and within groups of them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from judgepanel.figures.confidence.groups import coverage_figure
from judgepanel.present.blocks import (
    Answer,
    Block,
    Heading,
    Method,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.present.trust.shares import (
    GROUPING_NAMES,
    NOT_YET,
    level_of,
    panel_name,
    share_of,
    share_text,
)
from judgepanel.scoring.conformal import SET_NAMES, SET_WORDS, one_slice
from judgepanel.studies.confidence.conformal import ConformalSpec
from judgepanel.studies.confidence.conformal_result import Conformal, Grouping
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed, listed, percent
from judgepanel.words.sentences import CODING
from judgepanel.words.terminal import one_line

ONE_LABEL = "Only that label is credible at this level."


@dataclass(frozen=True, slots=True)
class ConformalView:
    """Which level, by its place, and which grouping of items; None shows every one of them."""

    level: int | None = None
    grouping: Grouping | None = None


def conformal_sentence(result: Conformal, level: int) -> str:
    """Whether plain sets hold the label as often as they promise, and what they look like."""
    if result.n_splits < 2:
        return NOT_YET
    held = share_of(result, "coverage", (0, level, 0))
    meant = percent(result.levels[level])
    kinds = result.kinds[0, level, 0]
    text = (
        f"Sets meant for {meant} hold the true label of {held} of the items: "
        f"{share_text(float(kinds[1] + kinds[2]))} of the sets name one label, "
        f"{share_text(float(kinds[3]))} hold both and {share_text(float(kinds[0]))} none."
    )
    if result.kept(0, level, 0) == "falls short":
        text += " That is less than promised: items are not alike in the two halves, or grouped."
    lo, hi = one_slice(round(result.n_slice), result.levels[level])
    text += (
        " That is the mean over many panels. One panel, whose threshold rests on one held-out "
        f"slice of {result.n_slice:,.0f} labels, covers {percent(lo)} to {percent(hi)} of new "
        "items in 95 of 100 cases, where items are drawn one by one."
    )
    return f"{text} {CODING}" if result.measures_coding else text


def groups_sentence(result: Conformal, level: int, grouping: Grouping) -> str:
    """Where plain sets fall short of their level, and whether sets made within groups mend it."""
    if result.n_splits < 2 or grouping not in result.methods:
        return ""
    within = result.methods.index(grouping)
    rows = [g for g, way in enumerate(result.groupings) if way == grouping]
    short = [g for g in rows if result.kept(0, level, g) == "falls short"]
    by = GROUPING_NAMES[grouping]
    if not short:
        return f"By {by}, plain sets are nowhere shown to fall short of the level."
    names = listed(
        [
            f"{one_line(result.groups[g])} ({share_of(result, 'coverage', (0, level, g))})"
            for g in short
        ]
    )
    left = [g for g in short if result.kept(within, level, g) == "falls short"]
    after = listed([share_of(result, "coverage", (within, level, g)) for g in short])
    mends = "Sets made within each group are no longer shown to fall short there"
    if left:
        mends = "Sets made within each group still fall short there"
    sizes = ", ".join(fixed(float(result.size[m, level, short[0]]), 2) for m in (0, within))
    return (
        f"By {by}, plain sets fall short for {names}. {mends} ({after}); mean size there "
        f"{sizes.replace(', ', ' and then ')}."
    )


def coverage_table(result: Conformal, level: int, grouping: Grouping) -> pd.DataFrame:
    """Coverage, size and kinds of sets by group, plain and made within each group."""
    rows = []
    within = result.methods.index(grouping) if grouping in result.methods else 0
    methods = (0,) if within == 0 else (0, within)
    groups = [0, *(g for g, way in enumerate(result.groupings) if way == grouping and g > 0)]
    for g in groups:
        for m in methods:
            kinds = result.kinds[m, level, g]
            row = {
                "items": one_line(result.groups[g]),
                "how many": f"{result.items[g]:,}",
                "sets": "plain" if m == 0 else "within each group",
                "hold the label": share_of(result, "coverage", (m, level, g)),
                "promised": "yes" if result.promised(m, g) else "no",
                "mean size": level_of(result, "size", (m, level, g)),
                "{}": share_text(float(kinds[0])),
            }
            if result.symmetric:
                row["one label"] = share_text(float(kinds[1] + kinds[2]))
            else:
                row["{0}"] = share_text(float(kinds[1]))
                row["{1}"] = share_text(float(kinds[2]))
            row["{0, 1}"] = share_text(float(kinds[3]))
            row["sets of one label right"] = share_of(result, "one_right", (m, level, g))
            rows.append(row)
    return pd.DataFrame(rows)


def kinds_table(result: Conformal, level: int) -> pd.DataFrame:
    """How often each kind of plain set came, and what it means."""
    kinds = result.kinds[0, level, 0]
    if result.symmetric:
        names = [SET_NAMES[0], "one label", SET_NAMES[3]]
        words = [SET_WORDS[0], ONE_LABEL, SET_WORDS[3]]
        values = [kinds[0], kinds[1] + kinds[2], kinds[3]]
    else:
        names, words, values = list(SET_NAMES), list(SET_WORDS), list(kinds)
    return pd.DataFrame(
        {
            "set": names,
            "share": [share_text(float(value)) for value in values],
            "what it means": words,
        }
    )


def present(
    result: Conformal, spec: ConformalSpec, view: ConformalView = ConformalView()
) -> list[Block]:
    """The highest level first, then the lower ones where none was chosen."""
    first = len(result.levels) - 1 if view.level is None else view.level
    blocks = _level(result, first, view.grouping)
    for level in reversed(range(len(result.levels)) if view.level is None else ()):
        if level != first:
            blocks.append(Heading(f"Sets meant for {percent(result.levels[level])}", 3))
            blocks += _level(result, level, view.grouping)
    return [*blocks, _method(result)]


def _level(result: Conformal, level: int, chosen: Grouping | None) -> list[Block]:
    blocks: list[Block] = [
        Answer(conformal_sentence(result, level)),
        Table(as_columns(kinds_table(result, level)), "Kinds of plain sets."),
    ]
    for grouping in result.methods[1:]:
        if chosen in (None, grouping):
            by = GROUPING_NAMES[grouping]
            shows = f"share of sets that hold the true label, by {by}"
            blocks += paragraphs(groups_sentence(result, level, grouping))
            blocks += [
                drawing(coverage_figure(result, level, grouping), shows),
                Table(as_columns(coverage_table(result, level, grouping)), f"Coverage by {by}."),
            ]
    return blocks


def _method(result: Conformal) -> Method:
    return Method(
        f"In every split {panel_name(result)} and the calibrator are fitted on the calibration "
        f"items but for {result.n_slice:,.0f}, which are held out of all other fits. The "
        "probability those give their own label sets the threshold: a set holds every label that "
        "is not less credible than that. Plain sets promise coverage over all items; sets within "
        "groups have a threshold a group and promise it there. The promise is about the mean over "
        "slices and items that are drawn alike."
    )
