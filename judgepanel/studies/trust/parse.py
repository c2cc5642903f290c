"""P1: does every judge give verdicts, and are they better than chance?

A coded tie is a readable verdict without a side: it counts as parsed, but not as a vote.

A judge is below chance if the binomial tail of its right verdicts under accuracy .5 is small, Holm
over judges. With groups of items the unit is the group: counts are divided by the judge's design
effect (scoring/clustered.py). The paper's rule, accuracy < .5 - 2 standard errors by Wald's
formula, is reported for comparison: with a single wrong vote its standard error is 0, and the judge
is flagged.

Of a judge with grades their order is tested as well (grade_order.py), in the same step-down
procedure: grades in reverse order ask for review, and so do grades that order the items where the
votes cut from them do not.

P1 on grades: does a higher grade speak for the label, whatever the threshold?

A vote is a grade cut at a threshold. Where that loses what the grades tell, a judge looks useless
or below chance although it is neither; where a lower grade is the better one, it is reversed. Both
show in the order of its grades: the share of pairs of items, one of each label, in which the item
with label 1 has the higher grade (the area under the ROC curve). An item with an arbitrary order is
paired with every other item and its swap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.prefixes import FRACTIONS
from judgepanel.scoring.clustered import below_half_p, share_limits, unit_counts
from judgepanel.scoring.inference import holm
from judgepanel.scoring.interval import Interval
from judgepanel.studies.common import first_of
from judgepanel.studies.understand.judge_table import wilson
from judgepanel.votes.checks import Check, Outcome
from judgepanel.votes.errors import JUDGE_THRESHOLD, listed, quote_value
from judgepanel.votes.matrix import AGAINST, CONSTANT_SLIP, CONSTANT_VOTES, ONE_VERDICT, SILENT

GRADED = "judges whose grades may tell more than votes"
"""The number of P1 that is there if any judge gives grades."""


@dataclass(frozen=True, slots=True, eq=False)
class GradeOrder:
    """All (n_judges,), NaN for judges without grades or with all of them as far from the threshold.

    ``right`` is the share of pairs of items in the right order, ties as half, with a 95 % interval;
    ``p`` the two-sided p-value of no order; ``median`` the median grade minus the threshold.
    """

    right: Interval
    p: Floats
    median: Floats

    @property
    def known(self) -> Bools:
        """Judges whose grades may tell more than their votes."""
        return np.asarray(np.isfinite(self.median))


def grade_order(ballots: Ballots, rows: Ints | None = None) -> GradeOrder | None:
    """Return the order of grades on these rows (default: all); None without any grades."""
    if ballots.margins is None:
        return None
    chosen = np.arange(ballots.n_items) if rows is None else rows
    votes, margins = ballots.votes[chosen], ballots.margins[chosen]
    tied = np.zeros_like(votes, dtype=bool) if ballots.ties is None else ballots.ties[chosen]
    signs, units = ballots.signs[chosen], ballots.units[chosen]
    columns = np.full((ballots.n_judges, 5), np.nan)
    for judge in range(ballots.n_judges):
        cast = votes[:, judge] != 0
        distances = margins[cast, judge]
        if not len(distances) or distances.min() == distances.max():
            continue
        known = cast | tied[:, judge]
        grades = votes[known, judge] * margins[known, judge]
        figures = _figures(grades, signs[known], units[known], symmetric=ballots.symmetric)
        columns[judge] = *figures, float(np.median(grades))
    right, lo, hi, p, median = columns.T
    return GradeOrder(Interval(right, lo, hi, unit="share"), p, median)


def _figures(
    grades: Floats, signs: NDArray[np.int8], units: Ints, *, symmetric: bool
) -> tuple[float, float, float, float]:
    """Share in the right order, its ends, and the p-value of a judge's grades (n,).

    The test permutes labels, or swaps items if their order is arbitrary; its variance is multiplied
    by the design effect of the units, at least 1. The interval is Wilson's with a variance of
    share (1 - share) / m, the most that any distributions have: m is the number of items of the
    rarer label (Bamber 1975, Journal of Mathematical Psychology 12, 387-415), or half of the items
    that may be swapped (Hoeffding 1948, Annals of Mathematical Statistics 19, 293-325), divided by
    the design effect.
    """
    if symmetric:
        towards = signs * grades
        share = _area(np.concatenate([towards, -towards]), np.repeat([True, False], len(grades)))
        scores = np.sign(towards) * distributions.ranks(np.abs(towards))
        variance, m = float(scores @ scores), len(grades) / 2.0
    else:
        positive = signs > 0
        m = float(min(positive.sum(), len(signs) - positive.sum()))
        if m == 0.0:
            return np.nan, np.nan, np.nan, np.nan
        share = _area(grades, positive)
        labels, ranks = positive - positive.mean(), distributions.ranks(grades)
        ranks = ranks - ranks.mean()
        scores = labels * ranks
        variance = float((labels @ labels) * (ranks @ ranks)) / (len(grades) - 1.0)
    of_units = np.bincount(np.unique(units, return_inverse=True)[1], scores)
    effect = max(1.0, float(of_units @ of_units) / max(float(scores @ scores), 1e-300))
    z = float(scores.sum()) / np.sqrt(variance * effect)
    lo, hi = wilson(np.array([share * m / effect]), np.array([m / effect]))
    return share, float(lo[0]), float(hi[0]), float(2.0 * distributions.norm_sf(abs(z)))


def _area(grades: Floats, positive: Bools) -> float:
    """Share of pairs, one of each label, whose positive item has the higher grade; ties as half."""
    n, n_positive = len(grades), int(positive.sum())
    total = float(distributions.ranks(grades)[positive].sum())
    return (total - n_positive * (n_positive + 1) / 2.0) / (n_positive * (n - n_positive))


def order_numbers(order: GradeOrder, backwards: Bools, misplaced: Bools) -> dict[str, int]:
    """Return the counts of P1 that are about grades."""
    return {
        GRADED: int(order.known.sum()),
        "grades in reverse order": int(backwards.sum()),
        "grades inform where votes do not": int(misplaced.sum()),
    }


def order_sentences(
    order: GradeOrder, backwards: Bools, misplaced: Bools, names: tuple[str, ...]
) -> str:
    """Name the judges whose grades are in reverse order, or inform where their votes do not."""
    parts = []
    for judges, start, end in (
        (misplaced, "The threshold is at fault", "though its votes do not inform"),
        (backwards, "In reverse order", "less than by chance"),
    ):
        shares = [
            f"the grades of {quote_value(names[j])} order "
            + "{:.0f} % [{:.0f}, {:.0f}]".format(*order.right[j].scaled(100.0, "share"))
            + f" of the pairs of items rightly, {end}"
            for j in np.flatnonzero(judges)
        ]
        if shares:
            parts.append(f"{start}: {first_of(shares)}")
    return " ".join(parts)


def order_advice(
    order: GradeOrder, backwards: Bools, misplaced: Bools, names: tuple[str, ...]
) -> str:
    """Return what to do about these judges."""
    parts = []
    if misplaced.any():
        j = int(np.flatnonzero(misplaced)[0])
        side = "above" if order.median[j] > 0.0 else "below"
        parts.append(
            "Move the threshold of judges whose grades inform and whose votes do not "
            f"({JUDGE_THRESHOLD}): the median grade of {quote_value(names[j])} is "
            f"{abs(order.median[j]):.3g} {side} it."
        )
    if backwards.any():
        parts.append(
            "If a lower grade of a judge in reverse order is the better one, negate its grades "
            "in the file, and its threshold."
        )
    return " ".join(parts)


REVIEW_RATE = 0.90
FILTER_RATE = 0.70
SPARSE_RATE = 0.50
"""If the median judge votes on a smaller share of items, a missing vote means 'not asked'."""
ALPHA = 0.025
"""Familywise level of the tests of one check: P1 and P3 together raise a false alarm in 5 %."""
NOTHING_TO_DO = "Nothing to do."
_NOT_TESTED = {
    ONE_VERDICT: "one verdict throughout is right in exactly one of the two orders of a pair, so "
    "it is at chance",
    AGAINST: "verdicts against the label on nearly every item tell how lopsided labels were coded, "
    "and not how good a judge is",
    SILENT: "there is no vote on a labelled item",
}


@dataclass(frozen=True, slots=True, eq=False)
class Legible:
    """Figures of P1, all (n_judges,).

    ``voted`` counts verdicts for a side, ``tied`` coded ties, and ``parsed`` is the share of items
    with one of the two, ``covered`` with a vote; ``accuracy`` is the share of right verdicts, NaN
    without votes, with a 95 % interval, ``p_below`` the Holm-adjusted one-sided p-value of accuracy
    >= .5, both by units; ``constant`` marks judges with the same verdict on nearly every item;
    ``sparse``: missing votes mean 'not asked'. ``order`` is that of grades, None without any, and
    ``p_order`` its p-value, Holm-adjusted together with ``p_below``.
    """

    n_items: int
    voted: Ints
    tied: Ints
    accuracy: Interval
    p_below: Floats
    wald_below: Bools
    constant: Bools
    sparse: bool
    order: GradeOrder | None
    p_order: Floats

    @property
    def parsed(self) -> Floats:
        """Share of items with a verdict, including ties, in [0, 1]."""
        return np.asarray((self.voted + self.tied) / max(self.n_items, 1))

    @property
    def covered(self) -> Floats:
        """Share of items with a vote, in [0, 1]; a tie is not a vote."""
        return np.asarray(self.voted / max(self.n_items, 1))

    @property
    def below(self) -> Bools:
        """Judges shown to be below chance."""
        return np.asarray(self.p_below < ALPHA)

    @property
    def reversed(self) -> Bools:
        """Judges shown to give the lower grade to the item that deserves the higher one."""
        return self._ordered(-1.0)

    @property
    def misplaced(self) -> Bools:
        """Judges below chance or constant by their votes, whose grades are shown to inform."""
        return np.asarray(self._ordered(1.0) & (self.below | self.constant))

    def _ordered(self, direction: float) -> Bools:
        if self.order is None:
            return np.zeros(len(self.voted), dtype=bool)
        lean = direction * (self.order.right.value - 0.5)
        return np.asarray((self.p_order < ALPHA) & (lean > 0.0))

    @property
    def unreadable(self) -> Bools:
        """Judges with verdicts on at most 70 % of the items; none if votes are sparse by design."""
        return np.asarray((self.parsed <= FILTER_RATE) & (not self.sparse))

    @property
    def patchy(self) -> Bools:
        """Judges with verdicts on more than 70 % but less than 90 % of the items."""
        inside = (self.parsed > FILTER_RATE) & (self.parsed < REVIEW_RATE)
        return np.asarray(inside & (not self.sparse))


def legible(ballots: Ballots, rows: Ints | None = None, *, limits: bool = True) -> Legible:
    """Return P1's figures on these rows (default: all labelled); ``limits`` may be omitted."""
    votes = ballots.votes if rows is None else ballots.votes[rows]
    signs = ballots.signs if rows is None else ballots.signs[rows]
    units = ballots.units if rows is None else ballots.units[rows]
    cast = votes != 0
    right = (votes == signs[:, None]) & cast
    voted, correct = cast.sum(axis=0), right.sum(axis=0)
    tied = np.zeros_like(voted)
    if ballots.ties is not None:
        tied = (ballots.ties if rows is None else ballots.ties[rows]).sum(axis=0)
    counts = unit_counts(right, cast, units)
    ones = (votes > 0).sum(axis=0)
    share = np.divide(correct, voted, out=np.full(len(voted), np.nan), where=voted > 0)
    wald = np.sqrt(share * (1.0 - share) / np.maximum(voted, 1))
    bounds = share_limits(counts) if limits else np.tile([[0.0], [1.0]], len(voted))
    order = grade_order(ballots, rows)
    p = below_half_p(counts)
    p_below, p_order = np.split(holm(p if order is None else [*p, *order.p]), [len(p)])
    return Legible(
        n_items=len(votes),
        voted=voted,
        tied=tied,
        accuracy=Interval(share, bounds[0], bounds[1], unit="share"),
        p_below=p_below,
        wald_below=share < 0.5 - 2.0 * wald,
        constant=(voted >= CONSTANT_VOTES)
        & (np.minimum(ones, voted - ones) <= CONSTANT_SLIP * voted),
        sparse=bool(len(voted) and np.median((voted + tied) / max(len(votes), 1)) < SPARSE_RATE),
        order=order,
        p_order=p_order,
    )


def uses_anti_experts(aggregator: str) -> bool:
    """Whether a judge below chance gets a negative weight, and so adds information."""
    return aggregator not in FRACTIONS


def to_drop(legibility: Legible, aggregator: str) -> Bools:
    """Return the judges that the filter drops, (n_judges,).

    They are unreadable, constant, or, if the aggregator cannot reverse a vote, below chance.
    """
    drop = legibility.unreadable | legibility.constant
    if not uses_anti_experts(aggregator):
        drop |= legibility.below
    return np.asarray(drop)


def drop_reason(legibility: Legible, judge: int) -> str:
    """Return why the filter drops this judge."""
    if legibility.unreadable[judge]:
        return f"a verdict on {100 * legibility.parsed[judge]:.0f} % of the items"
    if legibility.constant[judge]:
        return "one verdict on nearly every item"
    return f"below chance: right on {100 * legibility.accuracy.value[judge]:.0f} %"


def check_parse_rate(
    legibility: Legible,
    names: tuple[str, ...],
    aggregator: str,
    aside: Sequence[tuple[str, str]] = (),
) -> Check:
    """Return P1 as a check; ``aside`` are judges that are not tested, each with the reason."""
    title = "P1 Parse rate and chance"
    usable = uses_anti_experts(aggregator)
    unreadable, patchy, below = (
        np.flatnonzero(entry)
        for entry in (legibility.unreadable, legibility.patchy, legibility.below)
    )
    numbers: dict[str, float | int | str] = {
        "labelled items": legibility.n_items,
        "judges": len(names),
        "parse at most 70 %": len(unreadable),
        "parse 70 to 90 %": len(patchy),
        "shown below chance": len(below),
        "below chance by the paper's Wald rule": int(legibility.wald_below.sum()),
    }
    if aside:
        numbers["set aside, not tested"] = len(aside)
    if not legibility.sparse and len(names):
        numbers["lowest parse rate"] = f"{100 * float(legibility.parsed.min()):.1f} %"
    if legibility.tied.any():
        numbers["coded ties"] = int(legibility.tied.sum())
    if legibility.order is not None:
        numbers |= order_numbers(legibility.order, legibility.reversed, legibility.misplaced)
    sentences = _sentences(legibility, names, unreadable, patchy, below)
    sentences = " ".join((sentences, *_aside_sentences(aside)))
    as_they_are = int((legibility.below & ~legibility.misplaced).sum()) if usable else len(below)
    advice = _advice(len(unreadable), len(patchy), as_they_are, usable=usable)
    odd = legibility.reversed | legibility.misplaced
    if legibility.order is not None and odd.any():
        order = legibility.order, legibility.reversed, legibility.misplaced, names
        sentences = f"{sentences} {order_sentences(*order)}"
        advice = " ".join(part for part in (advice, order_advice(*order)) if part != NOTHING_TO_DO)
    outcome: Outcome = "pass"
    if len(unreadable) or (len(below) and not usable):
        outcome = "fail"
    elif len(patchy) or len(below) or odd.any():
        outcome = "review"
    elif legibility.sparse:
        outcome = "not applicable"
    return Check("P1", title, outcome, numbers, sentences, advice)


def _sentences(
    legibility: Legible, names: tuple[str, ...], unreadable: Ints, patchy: Ints, below: Ints
) -> str:
    parts = []
    if legibility.sparse:
        parts.append(
            "Most judges were not asked about most items, so a parse rate cannot be read off the "
            "votes; it needs the raw outputs."
        )
    short = np.concatenate([unreadable, patchy])
    short = short[np.argsort(legibility.parsed[short], kind="stable")]
    if len(short):
        shares = [
            f"{quote_value(names[j])} gives a verdict on {100 * legibility.parsed[j]:.0f} %"
            for j in short
        ]
        parts.append(first_of(shares))
    elif not legibility.sparse:
        parts.append("Every judge gives a verdict on 90 % of the labelled items or more.")
    if legibility.tied.any():
        parts.append(_ties_sentence(legibility, names))
    wrong = [
        f"{quote_value(names[j])} is right on "
        + "{:.0f} % [{:.0f}, {:.0f}]".format(*legibility.accuracy[j].scaled(100.0, "share"))
        for j in below
    ]
    if wrong:
        parts.append(f"Below chance: {first_of(wrong)}")
    if not wrong:
        parts.append("No judge is shown to be below chance.")
    return " ".join(parts)


def _aside_sentences(aside: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield which judges are not tested, and why that hides nothing."""
    for reason, why in _NOT_TESTED.items():
        names = [name for name, own in aside if own == reason]
        if names:
            verb = "is" if len(names) == 1 else "are"
            yield f"{listed(names, 3)} {verb} set aside and not tested: {why}."


def _ties_sentence(legibility: Legible, names: tuple[str, ...]) -> str:
    """Return how many missing votes are coded ties, and which judges give most of them."""
    most, n = int(np.argmax(legibility.tied)), int(legibility.tied.sum())
    share = 100 * float(legibility.tied[most]) / max(legibility.n_items, 1)
    are = "missing vote is a coded tie" if n == 1 else "missing votes are coded ties"
    return (
        f"{n:,} {are}, which were read and count as parsed (most of them by "
        f"{quote_value(names[most])}, on {share:.0f} % of the items)."
    )


def _advice(unreadable: int, patchy: int, below: int, *, usable: bool) -> str:
    parts = []
    if unreadable:
        parts.append(
            "Drop judges with a verdict on 70 % or less, or fix their parser; compare first."
        )
    if patchy:
        parts.append("Look at the raw outputs that were not read.")
    if below and usable:
        parts.append(
            "Keep judges below chance: the aggregator inverts their votes, which are informative. "
            "Check that their labels are not inverted."
        )
    elif below:
        parts.append("Drop judges below chance: this aggregator cannot invert a vote.")
    return " ".join(parts) or NOTHING_TO_DO
