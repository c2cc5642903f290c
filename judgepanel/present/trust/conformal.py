"""Presentation of conformal sets: coverage overall and within groups of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats
from judgepanel.figures.dots import groups_figure
from judgepanel.present.blocks import (
    Answer,
    Block,
    Heading,
    Method,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.present.study import Entry, panel_spec
from judgepanel.present.trust.reliability import GROUPING_NAMES, NOT_YET, fitted_on, share_text
from judgepanel.scoring.conformal import SET_NAMES, SET_WORDS, one_slice
from judgepanel.studies.trust.conformal import CONFORMAL, Conformal, ConformalSpec, Grouping
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, levels, numbers, text
from judgepanel.words.text import fixed, listed, one_line, percent, share_level

ONE = "one label"
ONE_LABEL = "Only that label is credible at this level."


@dataclass(frozen=True, slots=True)
class ConformalView:
    """Position of the level, and grouping of items; None shows all."""

    level: int | None = None
    grouping: Grouping | None = None


def conformal_sentence(result: Conformal, level: int) -> str:
    """Say whether plain sets hold the label as often as promised, and describe them."""
    if result.n_splits < 2:
        return NOT_YET
    held = share_level(*result.coverage[0, level, 0])
    meant = percent(result.levels[level])
    kinds = result.kinds[0, level, 0]
    text = (
        f"Sets at the {meant} level contain the true label of {held} of the items. "
        f"{share_text(float(kinds[1] + kinds[2]))} of the sets name one label, "
        f"{share_text(float(kinds[3]))} hold both and {share_text(float(kinds[0]))} none."
    )
    if result.kept(0, level, 0) == "falls short":
        text += " That is less than promised: items are not alike in the two halves, or grouped."
    lo, hi = one_slice(round(result.n_slice), result.levels[level])
    text += (
        " That is the mean over many panels. The threshold of one panel rests on one held-out "
        f"slice of {result.n_slice:,.0f} labels. It covers {percent(lo)} to {percent(hi)} of new "
        "items (a 95 % range), where items are drawn one by one."
    )
    return f"{text} {CODING}" if result.measures_coding else text


def groups_sentence(result: Conformal, level: int, grouping: Grouping) -> str:
    """Name groups in which plain sets fall short, and say whether group-wise sets repair that."""
    if result.n_splits < 2 or grouping not in result.methods:
        return ""
    within = result.methods.index(grouping)
    rows = [g for g, way in enumerate(result.groupings) if way == grouping]
    short = [g for g in rows if result.kept(0, level, g) == "falls short"]
    by = GROUPING_NAMES[grouping]
    if not short:
        return f"By {by}, plain sets are not shown to fall short of the level anywhere."
    plain, mended = (
        [share_level(*result.coverage[m, level, g]) for g in short] for m in (0, within)
    )
    names = [f"{one_line(result.groups[g])} ({held})" for g, held in zip(short, plain, strict=True)]
    remaining = [g for g in short if result.kept(within, level, g) == "falls short"]
    mends = "Sets made within each group are no longer shown to fall short there"
    if remaining:
        mends = "Sets made within each group still fall short there"
    sizes = [fixed(result.size.value[m, level, short[0]], 2) for m in (0, within)]
    return (
        f"By {by}, plain sets fall short for {listed(names)}. {mends} ({listed(mended)}); mean "
        f"size there {' and then '.join(sizes)}."
    )


def coverage_table(result: Conformal, level: int, grouping: Grouping) -> dict[str, Column]:
    """Return coverage, size and kinds of sets by group, plain and group-wise."""
    within = result.methods.index(grouping) if grouping in result.methods else 0
    methods = (0,) if within == 0 else (0, within)
    rows = [(m, g) for g in _groups(result, grouping) for m in methods]
    m, g = np.array(rows).T
    kinds = result.kinds[m, level, g].T
    shares = {name: numbers(share, "share") for name, share in _kinds(result, kinds).items()}
    return {
        "items": text([one_line(result.groups[g]) for _, g in rows]),
        "how many": numbers(result.items[g], "whole"),
        "sets": text(["plain" if m == 0 else "within each group" for m, _ in rows]),
        "hold the label": Column(result.coverage[m, level, g], "share level"),
        "promised": text(["yes" if result.promised(m, g) else "no" for m, g in rows]),
        "mean size": levels(result.size[m, level, g]),
        **shares,
        "sets of one label right": Column(result.one_right[m, level, g], "share level"),
    }


def _groups(result: Conformal, grouping: Grouping) -> list[int]:
    """Return positions of all items, then of the groups of one grouping."""
    return [0, *(g for g, way in enumerate(result.groupings) if way == grouping and g > 0)]


def _kinds(result: Conformal, kinds: Floats) -> dict[str, Floats]:
    """Return shares of the kinds of sets by name, from those in the order of ``SET_NAMES``."""
    if result.symmetric:
        return {SET_NAMES[0]: kinds[0], ONE: kinds[1] + kinds[2], SET_NAMES[3]: kinds[3]}
    return dict(zip(SET_NAMES, kinds, strict=True))


def kinds_table(result: Conformal, level: int) -> dict[str, Column]:
    """Return how often each kind of plain set occurs, and its meaning."""
    kinds = _kinds(result, result.kinds[0, level, 0])
    words = {**dict(zip(SET_NAMES, SET_WORDS, strict=True)), ONE: ONE_LABEL}
    return {
        "set": text(list(kinds)),
        "share": numbers(list(kinds.values()), "share"),
        "what it means": text([words[name] for name in kinds]),
    }


def coverage_figure(result: Conformal, level: int, grouping: Grouping) -> go.Figure:
    """Draw coverage by group at one level, of plain and group-wise sets."""
    groups, within = _groups(result, grouping), result.methods.index(grouping)
    marks = {
        "plain sets": result.coverage[0, level, groups],
        "sets made within each group": result.coverage[within, level, groups],
    }
    names = [result.groups[g] for g in groups]
    x = "share of sets that hold the true label"
    return groups_figure(names, marks, x, result.levels[level])


def present(
    result: Conformal, spec: ConformalSpec, view: ConformalView = ConformalView()
) -> list[Block]:
    """Present the highest level, then the lower ones if none was chosen."""
    first = len(result.levels) - 1 if view.level is None else view.level
    blocks = _level(result, first, view.grouping)
    for level in reversed(range(len(result.levels)) if view.level is None else ()):
        if level != first:
            blocks.append(Heading(f"Sets at level {percent(result.levels[level])}", 3))
            blocks += _level(result, level, view.grouping)
    return [*blocks, _method(result)]


def _level(result: Conformal, level: int, chosen: Grouping | None) -> list[Block]:
    blocks: list[Block] = [
        Answer(conformal_sentence(result, level)),
        Table(kinds_table(result, level), "Kinds of plain sets."),
    ]
    for grouping in result.methods[1:]:
        if chosen in (None, grouping):
            by = GROUPING_NAMES[grouping]
            shows = f"share of sets that hold the true label, by {by}"
            blocks += paragraphs(groups_sentence(result, level, grouping))
            blocks += [
                drawing(shows, coverage_figure, result, level, grouping),
                Table(coverage_table(result, level, grouping), f"Coverage by {by}."),
            ]
    return blocks


def _method(result: Conformal) -> Method:
    return Method(
        f"{fitted_on(result)} the calibration items except {result.n_slice:,.0f}, which are held "
        "out of all other fits. The probabilities given to the true labels of those items set the "
        "threshold: a set contains every label that is at least that credible. Plain sets promise "
        "coverage over all items; sets within "
        "groups have one threshold per group and promise it there. The promise is about the mean "
        "over "
        "slices and items that are drawn alike."
    )


ENTRY = Entry(CONFORMAL, present, panel_spec(CONFORMAL.spec))
