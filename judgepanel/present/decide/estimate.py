"""Presentation of rates from many votes and few labels: groups, differences, worth of panels.

Worth by panel size: how many labels the labels and the best k judges are worth.

The judges whose votes correlate most with the labels of the other folds are the best; they are
chosen and fitted out of fold as the whole panel is (:mod:`judgepanel.kernels.cross_proxies`). A
panel that answers narrowest needs good proxies on average, one of lowest NLL must not be too sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.figures.dots import groups_figure
from judgepanel.kernels.cross_proxies import cross_proxies_of_best
from judgepanel.present import blocks, study
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.prediction_powered import Sample, Target, estimate_rates
from judgepanel.studies.contract import Chunk, Settings, Study
from judgepanel.studies.decide import estimate
from judgepanel.studies.decide.estimate import ESTIMATE, REACH, UNFAIR, Estimates, EstimateSpec
from judgepanel.studies.results import Declared, column, derived, frozen
from judgepanel.studies.slices import SYSTEM, groups_of, usual_feature
from judgepanel.votes import InputError, VoteMatrix, cells, matrix
from judgepanel.words import text as txt
from judgepanel.words.sentences import CODING, with_coding
from judgepanel.words.tables import Column, differences, levels, numbers, result_table, text

_STEPS = (1, 2, 3, 5)
"""Sizes of a panel, and ten times these, and so on."""


@frozen
class Sizes:
    """Rates, worth and NLL (n_sizes,) of panels of the best judges."""

    rate: Interval
    worth: Floats
    nll: Floats


@frozen
class PanelWorth(Declared):
    """Result of :data:`PANEL_WORTH`; arrays are (n_sizes,), panels of the ``k`` best judges."""

    k: Ints = column(heading="judges", form="whole", key=True)
    n_labels: int = column("Number of labelled items.")
    rate: Interval = column(
        "Estimated share of label 1 of all items, from labels and these judges.",
        *("rate", "share level"),
    )
    worth: Floats = column(
        "How many times as many labels alone would give an interval as narrow.",
        "worth",
        "significant",
    )
    nll: Floats = column(
        "NLL of these judges' proxies of labelled items, fitted to other labels, in nats; blank "
        "if all labels are equal.",
        *("NLL", "number"),
    )
    null_nll: float = column("NLL of the share of label 1 among labelled items.")
    all_labelled: bool
    about: Target
    orientation: str
    one_class: bool
    measures_coding: bool
    seed: int = column()
    warnings: tuple[str, ...]

    @derived("Labels alone that would give an interval as narrow.", "labels", "whole")
    def worth_labels(self) -> Floats:
        """The labels and their worth in one number."""
        return self.worth * self.n_labels

    @property
    def narrowest(self) -> int:
        """Position of the panel that is worth most labels."""
        return int(np.argmax(np.nan_to_num(self.worth)))

    @property
    def lowest(self) -> int:
        """Position of the panel of lowest NLL; -1 if none has one."""
        return int(np.nanargmin(self.nll)) if np.isfinite(self.nll).any() else -1

    def decisions(self) -> dict[str, Any]:
        """Return the size that answers narrowest, and that of lowest NLL."""
        lowest = int(self.k[self.lowest]) if self.lowest >= 0 else None
        narrowest = None if self.all_labelled else int(self.k[self.narrowest])
        return {"narrowest": narrowest, "lowest_nll": lowest}


def panel_sizes(n_judges: int) -> Ints:
    """Return 1, 2, 3, 5, 10, 20, 30, 50 and so on below all judges, and all."""
    sizes = {step * 10**power for power in range(len(str(n_judges))) for step in _STEPS}
    return np.array(sorted({k for k in sizes if k < n_judges} | {n_judges}))


def worth_chunk(votes: VoteMatrix, spec: EstimateSpec, chunk: Chunk) -> Sizes:
    """Return what panels of all sizes are worth; ``chunk`` holds one round."""
    signs, labels, units = estimate.arrays_of(votes, spec)
    weights = estimate.weighting_of(votes, spec, estimate.traits_of(votes, signs)).weights
    sample, target = Sample.of(labels, None, units, weights), estimate.target_of(votes, spec)
    # Without tuning no proxy counts: labels alone are the same beside every panel.
    alone = estimate_rates(np.zeros(len(labels)), sample, target=target, tuned=False)
    rates, worth, nll = [], [], []
    for k in panel_sizes(signs.shape[1]).tolist():
        proxy = cross_proxies_of_best(signs, labels, units, k, seed=spec.settings.seed)
        ours = estimate_rates(proxy, sample, target=target)
        rates.append(ours.rate)
        worth.append(estimate.worth_of([ours], [alone], [sample], target)[0])
        nll.append(_nll(proxy[sample.rows], labels[sample.rows]))
    return Sizes(Interval.joined(rates), np.array(worth), np.array(nll))


def _nll(proxy: Floats, labels: Floats) -> float:
    """Mean NLL of proxies, kept from 0 and 1 as if half a label more of both kinds was seen."""
    n = len(labels)
    if len(np.unique(labels)) < 2:
        return np.nan
    p = (n * np.clip(proxy, 0.0, 1.0) + 0.5) / (n + 1.0)
    return float(-np.log(np.where(labels > 0.0, p, 1.0 - p)).mean())


def merge_worth(votes: VoteMatrix, spec: EstimateSpec, partial: Sizes) -> PanelWorth:
    """Return worth and NLL by panel size."""
    signs, labels, _ = estimate.arrays_of(votes, spec)
    weighting = estimate.weighting_of(votes, spec, estimate.traits_of(votes, signs))
    known = labels[np.isfinite(labels)]
    one_class = len(np.unique(known)) < 2
    base = 0.5 if one_class else float(known.mean())
    n_labels = np.array([len(known)])
    return PanelWorth(
        k=panel_sizes(signs.shape[1]),
        n_labels=len(known),
        rate=partial.rate,
        worth=partial.worth,
        nll=partial.nll,
        null_nll=float(-(base * np.log(base) + (1.0 - base) * np.log(1.0 - base))),
        all_labelled=bool(votes.labelled.all()),
        about=estimate.target_of(votes, spec),
        orientation="as_given",
        one_class=one_class,
        measures_coding=votes.task == "pairwise" and votes.minority_share < matrix.BALANCED_SHARE,
        seed=spec.settings.seed,
        warnings=estimate.warnings_of(votes, spec, groups_of(votes, None), n_labels, weighting),
    )


PANEL_WORTH: Study[EstimateSpec, Sizes, PanelWorth] = Study(
    name="panel_worth",
    title="Worth by panel size",
    question="How many labels are the best judges worth?",
    run_chunk=worth_chunk,
    merge=merge_worth,
    rounds=lambda _: 1,
)


ABOUT: dict[str, str] = {"file": "the items of this file", "population": "items like these"}
RATE = {"pointwise": "The pass rate", "pairwise": "The win rate of the first response"}
WIN_RATES = (
    "The rate of a system is how often it wins against the others, each met equally often, by "
    "Bradley-Terry on corrected outcomes; its interval is Student's t. "
)
MOST_DRAWN = 25
LITTLE = 1.05
"""A panel that is worth less than this many times as many labels does not help."""
_NAME = 40
_FAVOURS = "favours its family"


def estimate_sentence(result: Estimates) -> str:
    """Return the rate of all items, and which groups are better than which.

    Of systems that met in pairs, the rate of first responses is of no interest.
    """
    parts = (
        f"{UNFAIR}." if result.is_unfair else "",
        *((_groups(result), _wins(result)) if result.pairs else (_rate(result), _groups(result))),
        CODING if result.measures_coding else "",
    )
    return " ".join(filter(None, parts))


def _rate(result: Estimates) -> str:
    if not np.isfinite(result.rate.value[0]):
        return "No item has a label, so there is no rate."
    name, alone = RATE[result.task], f"; labels alone: {txt.share_level(*result.labels_alone[0])}"
    if result.labelled[0] == result.items[0]:
        alone = ""
    return f"{name} is {txt.share_level(*result.rate[0])} for {ABOUT[result.about]}{alone}."


def _wins(result: Estimates) -> str:
    """Return how often the system of the highest rate wins."""
    rates = result.rate.value[1:]
    if not np.isfinite(rates).any():
        return _rate(result)
    place = int(np.nanargmax(rates)) + 1
    alone = txt.share_level(*result.labels_alone[place])
    return (
        f"{txt.one_line(result.group[place], _NAME)} wins {txt.share_level(*result.rate[place])} "
        f"of the time against the others; labels alone: {alone}."
    )


def _groups(result: Estimates) -> str:
    """Return the best group, or the difference of two."""
    names = [txt.one_line(name, _NAME) for name in result.group]
    if len(names) < 3:
        return ""
    best = [name for name, may in zip(names, result.may_be_best, strict=True) if may]
    if len(names) == 3 and np.isfinite(result.p[0]):
        return _pair(result)
    if not np.isfinite(result.p).any():
        labelled = [name for name, n in zip(names[1:], result.labelled[1:], strict=True) if n]
        only = f"Only {labelled[0]} has labels, so no {_noun(result)} can be compared."
        return only if len(labelled) == 1 else ""
    is_system = result.pairs or result.by.lower() in cells.SYSTEM_NAMES
    if not result.decided.any():
        than = "be better than" if is_system else "have a higher rate than"
        # How many labels would settle the clearest of the undecided pairs.
        place = _clearest(result)[0]
        more = int(result.more_labels[place])
        pair = [names[side[place]] for side in (result.first, result.second)]
        settle = f" About {txt.counted(more, 'more label')} would settle {txt.listed(pair)}."
        return f"No {_noun(result)} is shown to {than} another.{settle if more > 0 else ''}"
    what = (
        f"the best {_noun(result)}" if is_system else f"the {_noun(result)} with the highest rate"
    )
    if len(best) == 1:
        return f"{txt.capital(what)} is {best[0]}."
    shown = best if len(best) <= 4 else [*best[:3], f"{len(best) - 3} more"]
    return f"Any of {txt.listed(shown, 'or')} may be {what}."


def _pair(result: Estimates) -> str:
    """Return the difference of two groups, the better one first, beside that of labels alone."""
    gap, alone = result.difference[0], result.difference_alone[0]
    first, second = (
        txt.one_line(result.group[int(side[0])], _NAME) for side in (result.first, result.second)
    )
    if gap.value < 0.0:
        first, second, gap, alone = second, first, -gap, -alone
    points, by_labels = (
        "{} [{}, {}]".format(*(txt.fixed(100.0 * float(end), 1) for end in part))
        for part in (gap, alone)
    )
    if result.decided[0]:
        return f"{first} beats {second} by {points} points; labels alone: {by_labels}."
    more = int(result.more_labels[0])
    settle = f" About {txt.counted(more, 'more label')} would settle it." if more > 0 else ""
    return (
        f"Undecided between {first} and {second}: they differ by {points} points; labels alone: "
        f"{by_labels}.{settle}"
    )


def _noun(result: Estimates) -> str:
    by = SYSTEM if result.pairs else result.by
    return txt.one_line(by, _NAME) if by else "group"


def worth_sentence(result: Estimates) -> str:
    """Say how many labels the labels and the panel are worth, and how many are needed."""
    n, times = int(result.labelled[0]), float(result.worth[0])
    if not np.isfinite(times):
        return ""
    if n == int(result.items[0]):
        return "Every item has a label, so the votes add nothing to the labels."
    labels = txt.counted(n, "label")
    worth = f"{labels} and the panel are worth {n * times:,.0f} labels."
    ours, alone = (float(part.hi[0] - part.lo[0]) for part in (result.rate, result.labels_alone))
    if times < LITTLE and alone**2 < LITTLE * ours**2:  # Few items may be left to be worth.
        worth = f"The panel does not help: the estimate rests on the {labels} alone."
    needed = result.labels_for_reach
    reach = txt.percent(REACH, 1).removesuffix(" %")
    if needed <= n:
        return worth
    if needed > int(result.items[0]):
        return f"{worth} For ± {reach} points, the file has too few items."
    more = txt.counted(needed - n, "more item")
    return f"{worth} For ± {reach} points, label about {more} drawn at random."


def judges_sentence(result: Estimates) -> str:
    """Say what the judges alone would say, and by how much that differs."""
    value, bias = float(result.judges_alone[0]), float(result.judges_bias[0])
    if not np.isfinite(bias):
        return ""
    if result.rate.lo[0] <= value <= result.rate.hi[0]:
        return f"The majority of votes alone says {txt.percent(value, 3)}, inside the interval."
    word = "high" if bias > 0.0 else "low"
    return (
        f"The majority of votes alone says {txt.percent(value, 3)}, too {word} by "
        f"{txt.fixed(100.0 * abs(bias), 1)} points: judges do not err equally in both directions."
    )


def rates_table(result: Estimates) -> dict[str, Column]:
    """Return rates by group, and what one gets elsewhere; counts last, as phones show less."""
    table = result_table(result)
    table["group"] = text([txt.one_line(name, _NAME) for name in result.group])
    bias = 100.0 * result.judges_bias
    words = {row: txt.fixed(x, 1, sign=True) for row, x in enumerate(bias) if np.isfinite(x)}
    table["their bias"] = Column(bias, "signed", words, "judges_bias")
    return table | {name: table.pop(name) for name in ("items", "labels")}


def elsewhere_table(result: Estimates) -> dict[str, Column]:
    """Return the same rates by a single proxy, and for items like these."""
    return {
        "group": text([txt.one_line(name, _NAME) for name in result.group]),
        "majority, corrected": levels(result.majority, of="majority"),
        "best judge, corrected": levels(result.best, of="best_judge"),
        "items like these": levels(result.population, of="population"),
        "may be best": text(["yes" if may else "" for may in result.may_be_best], of="may_be_best"),
    }


def _clearest(result: Estimates) -> Ints:
    """Return the pairs in the order of their p-values; many of those are 1 after adjustment."""
    value, lo, hi = result.difference
    return np.lexsort((-np.abs(value) / np.maximum(hi - lo, 1e-12), result.p))


def pairs_table(result: Estimates) -> dict[str, Column]:
    """Return all pairs of groups, the clearest difference first, and in it the better group."""
    order = _clearest(result)
    ahead = np.where(result.difference.value[order] < 0.0, -1, 1)
    pairs = np.stack([result.first[order], result.second[order]])
    (better, worse) = np.where(ahead > 0, pairs, pairs[::-1])
    names = [txt.one_line(name, _NAME) for name in result.group]
    status = [
        "decided" if decided else f"about {n:,} more labels" if n > 0 else "undecided"
        for decided, n in zip(result.decided[order], result.more_labels[order], strict=True)
    ]

    def points(gap: Interval) -> Column:
        value, lo, hi = (100.0 * ahead * end[order] for end in gap)
        return differences(Interval(value, np.minimum(lo, hi), np.maximum(lo, hi), unit="points"))

    return {
        "group": text([names[i] for i in better]),
        "minus": text([names[i] for i in worse]),
        "points": points(result.difference),
        "labels alone": points(result.difference_alone),
        "p (Holm)": numbers(result.p[order], "p", of="p_holm"),
        "status": text(status),
    }


def meetings_table(result: Estimates) -> dict[str, Column]:
    """Return the win rates of pairs of systems."""
    names = [txt.one_line(name, _NAME) for name in result.group]
    return {
        "system": text([names[i] for i in result.met.first]),
        "against": text([names[i] for i in result.met.second]),
        "items": numbers(result.met.items, "whole"),
        "labels": numbers(result.met.labels, "whole"),
        "wins": levels(result.met.rate),
    }


def judges_table(result: Estimates) -> dict[str, Column]:
    """Return how judges alone rank the groups, those that agree least first."""
    order = np.argsort(result.alone.same_order, kind="stable")
    names = [*(txt.one_line(name, _NAME) for name in result.group), ""]
    table = {
        "judge": text([txt.one_line(result.alone.judge[j], _NAME) for j in order]),
        "same order": numbers(result.alone.same_order[order], "share"),
        "puts first": text([names[i] for i in result.alone.best[order]]),
    }
    if np.isfinite(result.alone.own_family.value).any():
        favours = result.alone.own_family[order].scaled(100.0, "points")
        table[_FAVOURS] = differences(favours)
    return table


def order_sentence(result: Estimates) -> str:
    """Say whether another judge would change the order of the groups."""
    same = result.alone.same_order[np.isfinite(result.alone.same_order)]
    if not len(same):
        return ""
    agree = int(np.count_nonzero(same == 1.0))
    first = f"{agree} of {txt.counted(len(same), 'judge')} alone would give the same order."
    favour = [
        txt.one_line(name, _NAME)
        for name, lo in zip(result.alone.judge, result.alone.own_family.lo, strict=True)
        if lo > 0.0
    ]
    if favour:
        verb = "favours its" if len(favour) == 1 else "favour their"
        first += f" Beyond what the labels say, {txt.listed(favour[:4], 'and')} {verb} own family."
    return first


def present(result: Estimates, spec: EstimateSpec) -> list[blocks.Block]:
    """Present the rates, the differences between groups, and what the panel is worth."""
    shows = "rates of the groups with their intervals, labels alone and with the panel"
    names = [txt.one_line(name, _NAME) for name in result.group[:MOST_DRAWN]]
    alone, rate = result.labels_alone[:MOST_DRAWN], result.rate[:MOST_DRAWN]
    marks = {"labels alone": alone, "labels and panel": rate}
    axis = "win rate against the others" if result.pairs else "share of label 1"
    content: list[blocks.Block] = [
        blocks.Answer(estimate_sentence(result)),
        *blocks.paragraphs(worth_sentence(result), judges_sentence(result)),
        blocks.drawing(shows, groups_figure, names, marks, axis),
        blocks.Table(rates_table(result), "Bias in points."),
    ]
    if len(result.p):
        content += [
            blocks.Heading("Differences", 3),
            blocks.Table(pairs_table(result), "All pairs, the clearest first."),
            *_order(result),
        ]
    if len(result.met.first):
        content += [
            blocks.Heading("Pair by pair", 3),
            blocks.Table(meetings_table(result), "How often the first of two systems wins."),
        ]
    caption = "Corrected majority, corrected best judge, and rates of items like these."
    return [
        *content,
        blocks.Heading("By other estimates", 3),
        blocks.Table(elsewhere_table(result), caption),
        blocks.note(_fair(result)),
        blocks.Method(
            "Every item has a proxy of its label: an average of ridge regressions on the share of "
            "votes for 1, on the verdict of the majority and on the votes of all judges, fitted to "
            "the labels of other items. The rate is the mean proxy of all items, corrected by the "
            "mean error of the proxies on labelled items (prediction-powered, the proxy counting "
            "as much as makes the variance smallest). Intervals are Wilson's at the effective "
            f"number of labels, for {ABOUT[result.about]}; items of one group of items count once. "
            f"{WIN_RATES * result.pairs}p-values of differences are adjusted by Holm over all "
            "pairs, which decides; their intervals are of one pair alone."
        ),
    ]


def _order(result: Estimates) -> list[blocks.Block]:
    sentence, table = order_sentence(result), judges_table(result)
    if not sentence:
        return []
    what = "Share of pairs of groups in the order of the estimates; judges that agree least first."
    if _FAVOURS in table:
        what += " What a judge favours is in points, beyond the estimates."
    return [
        blocks.Heading("Would another judge change the order?", 3),
        blocks.Paragraph(sentence),
        blocks.Table(table, what, height=320),
    ]


def _fair(result: Estimates) -> str:
    tested = sum(np.isfinite(result.fair.p))
    if not tested:
        if result.labelled[0] == result.items[0]:
            return "All items are labelled, so no sample can be unfair."
        return "Whether the labelled items are a fair sample cannot be tested."
    if result.fair.differing:
        traits = [txt.one_line(name, _NAME) for name in result.fair.differing]
        return f"Labelled items differ from the others in {txt.listed(traits)}."
    smallest = txt.sig(float(np.nanmin(result.fair.p)), 2)
    return (
        f"Labelled items are like the others in all {txt.counted(tested, 'trait')} that "
        f"{'was' if tested == 1 else 'were'} compared (smallest p {smallest} after Holm)."
    )


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: study.Pipeline) -> study.Specs:
    """Return groups by system, or by the first feature of few categories; all items without any."""
    return (EstimateSpec(settings=settings, by=usual_feature(votes)),)


def failures(result: Estimates, under: float | None, pair: tuple[str, str] | None) -> list[str]:
    """Return a sentence for each condition that the intervals decide against.

    ``under`` is a rate that all items must not be shown to stay below, ``pair`` the old and the new
    group, of which the new one must be shown to be better.

    Raises
    ------
    InputError
        A group that does not exist.
    """
    sentences = []
    if under is not None and result.rate[0].below(under):
        rate = txt.share_level(*result.rate[0])
        sentences.append(f"the rate is {rate}, below {txt.percent(under, 3)}.")
    if pair is not None and not _better(result, *pair):
        old, new = (txt.one_line(name, _NAME) for name in pair)
        sentences.append(f"{new} is not shown to be better than {old}.")
    return sentences


def _better(result: Estimates, old: str, new: str) -> bool:
    for name in (old, new):
        if name not in result.group[1:]:
            allowed = ", ".join(result.group[1:]) or "none: say by which feature to group"
            raise InputError("there is no such group", value=name, allowed=allowed)
    places = [result.group.index(name) for name in (old, new)]
    for first, second, gap, decided in zip(
        result.first, result.second, result.difference.value, result.decided, strict=True
    ):
        if sorted(places) == [first, second]:
            return bool(decided and (gap < 0.0 if places[0] == first else gap > 0.0))
    return False


def panel_worth_sentence(result: PanelWorth) -> str:
    """Return the size that answers narrowest beside that of lowest NLL."""
    return with_coding(_sentence(result), result.measures_coding)


def _sentence(result: PanelWorth) -> str:
    place = result.narrowest
    if not np.isfinite(result.worth[place]):
        return "No item has a label, so there is no rate."
    if result.all_labelled:
        return "Every item has a label, so the votes add nothing to the labels."
    if result.worth[place] < LITTLE:
        return "No panel helps: labels alone give as narrow an interval."
    labels, panel = txt.counted(result.n_labels, "label"), _panel(result, place)
    most = f"{labels} are worth most with {panel}, {result.worth_labels[place]:,.0f}"
    if result.lowest < 0:
        return f"{most}."
    if result.lowest == place:
        return f"{most}, and the NLL is lowest there, too."
    return f"{most}; the NLL is lowest with {_panel(result, result.lowest)}."


def _panel(result: PanelWorth, place: int) -> str:
    k, n = int(result.k[place]), int(result.k[-1])
    if k == n:
        return f"all {n:,} judges"
    return "the best judge" if k == 1 else f"the best {k:,} judges"


def present_worth(result: PanelWorth, spec: EstimateSpec) -> list[blocks.Block]:
    """Present worth and NLL by panel size."""
    caption = "Panels of the best judges. Differences of a few per cent are chance."
    return [
        blocks.Answer(panel_worth_sentence(result)),
        blocks.Table(result_table(result), caption),
        blocks.Method(
            "The best judges are those whose votes correlate most with the labels. They are chosen "
            "and fitted on nine tenths of the labels and predict the others, as all judges do in "
            "the estimate. 'Labels' is how many labels alone would give an interval as narrow. "
            "NLL is that of the same proxies on labelled items. The size is chosen in hindsight: "
            "the estimate uses all judges, whose weights are chosen out of fold."
        ),
    ]


PRESENTATIONS = (
    study.Presentation(ESTIMATE, present, default_specs),
    study.Presentation(PANEL_WORTH, present_worth, default_specs),
)
