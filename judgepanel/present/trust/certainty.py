"""Presentation of which items a panel can answer: the surest first, sets of labels, each item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.figures import dots, style
from judgepanel.present import blocks, study
from judgepanel.present.trust import reliability
from judgepanel.scoring.conformal import SET_NAMES, SET_WORDS, one_slice
from judgepanel.scoring.interval import Interval
from judgepanel.studies.trust.conformal import CONFORMAL, Conformal, ConformalSpec, Grouping
from judgepanel.studies.trust.items import ITEMS, Items, ItemsSpec, StratumGrouping
from judgepanel.studies.trust.probabilities import CALIBRATED as AFTER
from judgepanel.studies.trust.probabilities import FEW_ITEMS
from judgepanel.studies.trust.probabilities import RAW as BEFORE
from judgepanel.studies.trust.selective import SELECTIVE, Selective, SelectiveSpec
from judgepanel.words import text as txt
from judgepanel.words.sentences import with_coding
from judgepanel.words.tables import Column, levels, numbers, text

_CLOSE = 0.13
_LEFT = 0.4


def selective_sentence(result: Selective) -> str:
    """Return the share answered with 90 % confidence, and its accuracy."""
    if result.n_splits < 2:
        return reliability.NOT_YET
    everything = txt.share_level(*result.accuracy[AFTER])
    i = _limit(result)
    if i is None:
        return f"It is hardly ever sure. Answering everything, it is right {everything}."
    text = (
        f"Answering only where it is at least {txt.percent(result.confidences[i])} sure: "
        f"{txt.share_level(*result.share[AFTER, i])} of the items, "
        f"{txt.share_level(*result.right[AFTER, i])} of them right. Answering everything: "
        f"{everything} right. Answering the surest first, the area under the curve (AUAC) is "
        f"{txt.fixed(result.auac.value[AFTER], 3)}. That is "
        f"{txt.with_interval(*result.gain[AFTER])} above an order that says nothing; a perfect "
        f"order would gain {txt.fixed(result.gain_most[AFTER], 3)}."
    )
    return with_coding(text, result.measures_coding)


def _limit(result: Selective) -> int | None:
    """Return the confidence nearest to 90 % that enough items reach."""
    enough = np.flatnonzero(result.items[AFTER] >= FEW_ITEMS)
    if not len(enough):
        return None
    return int(enough[np.argmin(np.abs(np.array(result.confidences)[enough] - reliability.ASKED))])


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
            f"{when}items": reliability.items_column(np.append(result.n_items, items)),
        }
    return columns


def selective_figure(result: Selective) -> go.Figure:
    """Draw accuracy against the share answered, with the stated confidences marked.

    Markers of few items, or that would overlap, are omitted.
    """
    figure = go.Figure()
    curve, everything = result.curve[AFTER], float(result.accuracy.value[AFTER])
    style.add_band(figure, result.shares, curve, style.INCLUDE, name="95 % interval")
    figure.add_hline(y=everything, line=style.DOTTED)
    if result.calibrator != "none":
        faint = style.stroke(style.NEUTRAL, "dash", 1.5)
        before, hover = result.curve.value[BEFORE], "before, surest %{x:.0%}: right %{y:.1%}"
        style.add_series(figure, result.shares, before, faint, "before", hover)
    name = reliability.uncalibrated(result) if result.calibrator == "none" else "after calibration"
    look, hover = style.Look(style.INCLUDE, style.INCLUDE), "surest %{x:.0%}: right %{y:.1%}"
    style.add_series(figure, result.shares, curve.value, look, name, hover)
    marks = _marks(result)
    at = result.share.value[AFTER, marks]
    figure.add_scatter(
        x=at,
        y=result.right.value[AFTER, marks],
        mode="markers+text",
        marker={"color": style.INCLUDE, "size": 9, "symbol": "circle"},
        text=[f"{100 * result.confidences[i]:g} %" for i in marks],
        # Near the left edge names are to the right of their markers, clear of the axis.
        textposition=["bottom right" if share < _LEFT else "bottom left" for share in at],
        name="stated confidence",
        hovertemplate="%{text} sure: answers %{x:.1%}, right %{y:.1%}<extra></extra>",
        cliponaxis=False,
    )
    style.laid_out(figure, x="share of items answered, surest first", y="share of answers right")
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


def present_selective(result: Selective, spec: SelectiveSpec) -> list[blocks.Block]:
    """Present answering the most confident items first, before and after calibration."""
    moves = (
        "Within a split a calibrator that keeps the order of the scores moves the marks, not the "
        "line. The mean over splits can move a little. "
    ) * (result.calibrator != "none")
    shows = "share of answers that are right against the share of items answered"
    return [
        blocks.Answer(selective_sentence(result)),
        blocks.drawing(shows, selective_figure, result),
        blocks.note(
            "The dotted line answers everything: an order that says nothing stays on it. "
            f"{moves}Marks can lie off the line: how many items are that sure differs from split "
            "to split."
        ),
        blocks.Table(selective_table(result), f"{txt.capital(reliability.stages_shown(result))}."),
        blocks.Method(
            f"{reliability.fitted_on(result)} one part of the items. The items held out "
            "are ranked by confidence, and the share right among the "
            "surest is averaged over the splits; ties share their places. AUAC is the area under "
            "that curve. Its null is the accuracy of answering everything. Intervals are for new "
            "items and new panels; they count items (or groups), never evaluations."
        ),
    ]


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
        return reliability.NOT_YET
    held = txt.share_level(*result.coverage[0, level, 0])
    meant = txt.percent(result.levels[level])
    kinds = result.kinds[0, level, 0]
    text = (
        f"Sets at the {meant} level contain the true label of {held} of the items. "
        f"{reliability.share_text(float(kinds[1] + kinds[2]))} of the sets name one label, "
        f"{reliability.share_text(float(kinds[3]))} hold both and "
        f"{reliability.share_text(float(kinds[0]))} none."
    )
    if result.kept(0, level, 0) == "falls short":
        text += " That is less than promised: items are not alike in the two halves, or grouped."
    lo, hi = one_slice(round(result.n_slice), result.levels[level])
    text += (
        " That is the mean over many panels. The threshold of one panel rests on one held-out "
        f"slice of {result.n_slice:,.0f} labels. It covers {txt.percent(lo)} to {txt.percent(hi)} "
        "of new items (a 95 % range), where items are drawn one by one."
    )
    return with_coding(text, result.measures_coding)


def groups_sentence(result: Conformal, level: int, grouping: Grouping) -> str:
    """Name groups in which plain sets fall short, and say whether group-wise sets repair that."""
    if result.n_splits < 2 or grouping not in result.methods:
        return ""
    within = result.methods.index(grouping)
    rows = [g for g, way in enumerate(result.groupings) if way == grouping]
    short = [g for g in rows if result.kept(0, level, g) == "falls short"]
    by = reliability.GROUPING_NAMES[grouping]
    if not short:
        return f"By {by}, plain sets are not shown to fall short of the level anywhere."
    plain, mended = (
        [txt.share_level(*result.coverage[m, level, g]) for g in short] for m in (0, within)
    )
    names = [
        f"{txt.one_line(result.groups[g])} ({held})" for g, held in zip(short, plain, strict=True)
    ]
    remaining = [g for g in short if result.kept(within, level, g) == "falls short"]
    mends = "Sets made within each group are no longer shown to fall short there"
    if remaining:
        mends = "Sets made within each group still fall short there"
    sizes = [txt.fixed(result.size.value[m, level, short[0]], 2) for m in (0, within)]
    return (
        f"By {by}, plain sets fall short for {txt.listed(names)}. {mends} ({txt.listed(mended)}); "
        f"mean size there {' and then '.join(sizes)}."
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
        "items": text([txt.one_line(result.groups[g]) for _, g in rows]),
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
    return dots.groups_figure(names, marks, x, result.levels[level])


def present_conformal(
    result: Conformal, spec: ConformalSpec, view: ConformalView = ConformalView()
) -> list[blocks.Block]:
    """Present the highest level, then the lower ones if none was chosen."""
    first = len(result.levels) - 1 if view.level is None else view.level
    content = _level(result, first, view.grouping)
    for level in reversed(range(len(result.levels)) if view.level is None else ()):
        if level != first:
            content.append(blocks.Heading(f"Sets at level {txt.percent(result.levels[level])}", 3))
            content += _level(result, level, view.grouping)
    return [*content, _conformal_method(result)]


def _level(result: Conformal, level: int, chosen: Grouping | None) -> list[blocks.Block]:
    content: list[blocks.Block] = [
        blocks.Answer(conformal_sentence(result, level)),
        blocks.Table(kinds_table(result, level), "Kinds of plain sets."),
    ]
    for grouping in result.methods[1:]:
        if chosen in (None, grouping):
            by = reliability.GROUPING_NAMES[grouping]
            shows = f"share of sets that hold the true label, by {by}"
            content += blocks.paragraphs(groups_sentence(result, level, grouping))
            content += [
                blocks.drawing(shows, coverage_figure, result, level, grouping),
                blocks.Table(coverage_table(result, level, grouping), f"Coverage by {by}."),
            ]
    return content


def _conformal_method(result: Conformal) -> blocks.Method:
    return blocks.Method(
        f"{reliability.fitted_on(result)} the calibration items except {result.n_slice:,.0f}, "
        "which are held out of all other fits. The probabilities given to the true labels of those "
        "items set the threshold: a set contains every label that is at least that credible. Plain "
        "sets promise coverage over all items; sets within groups have one threshold per group and "
        "promise it there. The promise is about the mean over slices and items that are drawn "
        "alike."
    )


_LISTED = 10


@dataclass(frozen=True, slots=True)
class ItemsView:
    """Strata to show, None for all, and whether to list single items."""

    grouping: StratumGrouping | None = None
    listed: bool = True


def items_sentence(result: Items) -> str:
    """Compare the panel on items where judges agree and where they do not."""
    if result.n_splits < 2:
        return reliability.NOT_YET
    rows = [g for g in result.strata_of("difficulty") if result.strata[g] != "no votes"]
    if len(rows) < 2:
        return "The votes are too alike to tell easy items from hard ones."
    names = {"judges agree": "judges agree most", "judges disagree": "judges disagree most"}
    parts = [
        f"Where {names.get(result.strata[g], f'agreement is {result.strata[g]}')} it is right "
        f"{txt.share_level(*result.accuracy[AFTER, g])} and says "
        f"{reliability.share_text(float(result.confidence[AFTER, g]))}{_verdict(result, g)}"
        for g in (rows[0], rows[-1])
    ]
    text = f"{parts[0]}. {parts[1]}."
    if result.nll_by.value[AFTER, rows[0]] > result.nll_by.value[AFTER, rows[-1]]:
        text += (
            " So agreement is not a sign of safety here: what judges agree on is predicted worse."
        )
    return with_coding(text, result.measures_coding)


def _verdict(result: Items, g: int) -> str:
    """Say whether a stratum's stated confidence is outside the interval of its accuracy."""
    right, stated = result.accuracy[AFTER, g], float(result.confidence[AFTER, g])
    if right.below(stated):
        return " (too sure)"
    return " (too cautious)" if right.above(stated) else ""


def strata_table(result: Items, grouping: StratumGrouping) -> dict[str, Column]:
    """Return accuracy, NLL and ECE by stratum, before and after calibration."""
    rows = result.strata_of(grouping)
    return {
        "items": text([txt.one_line(result.strata[g]) for g in rows]),
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
        f"feature: {txt.one_line(name)}": text([txt.one_line(values[i]) for i in rows])
        for name, values in zip(result.features, result.feature_values, strict=True)
    }
    return {
        "item": text([txt.one_line(result.item_ids[i]) for i in rows]),
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
    return dots.groups_figure([result.strata[g] for g in rows], marks, "share of items")


def present_items(
    result: Items, spec: ItemsSpec, view: ItemsView = ItemsView()
) -> list[blocks.Block]:
    """Present the strata, then the worst misses and the most contested items."""
    content: list[blocks.Block] = [blocks.Answer(items_sentence(result))]
    for grouping in dict.fromkeys(result.groupings):
        if view.grouping not in (None, grouping):
            continue
        by = reliability.GROUPING_NAMES[grouping]
        shows = f"stated confidence and share right, by {by}"
        content.append(blocks.drawing(shows, strata_figure, result, grouping))
        if grouping == "errors":
            by_label = (
                "These strata are defined by the label, so accuracy is high or low in them by "
                "construction."
            )
            content.append(blocks.note(by_label))
        content.append(blocks.Table(strata_table(result, grouping), f"By {by}."))
    if view.listed:
        for title, rows in (
            ("Worst misses.", result.worst(_LISTED)),
            ("Most contested.", result.contested(_LISTED)),
        ):
            content += [blocks.Table(item_table(result, rows), title)] if len(rows) else []
    return [*content, _items_method(result)]


def _items_method(result: Items) -> blocks.Method:
    return blocks.Method(
        f"{reliability.fitted_on(result)} one part of the items. An item's probability is the mean "
        "over the splits that held it out; 'p from' and 'p to' are the central 95 % of them. NLL "
        "is the mean surprise at its label. Disagreement is 0 where all votes are alike and 1 "
        "where they are evenly split; strata are its thirds, with equal values kept together. It "
        "counts the votes of all judges of the analysis. The table that the command writes has "
        "every item."
    )


PRESENTATIONS = (
    study.Presentation(SELECTIVE, present_selective, study.panel_spec(SELECTIVE.spec)),
    study.Presentation(CONFORMAL, present_conformal, study.panel_spec(CONFORMAL.spec)),
    study.Presentation(ITEMS, present_items, study.panel_spec(ITEMS.spec)),
)
