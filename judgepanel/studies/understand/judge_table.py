"""Individual judges: accuracy on all labelled items with an interval, and coverage.

What the grades of judges tell: the share of right votes by their distance from the threshold.

Votes are put into the bands of :mod:`kernels.graded`, cut without labels on all labelled
items. Swapping the two responses of an item changes no distance, so the two sides of the threshold
count together.

Figures of P1: verdicts given, right ones against chance, and the order of grades. Does a higher
grade speak for the label, whatever the threshold? A vote is a grade cut at a threshold. Where that
loses what the grades tell, a judge looks useless or below chance although it is neither; where a
lower grade is the better one, it is reversed. Both show in the order of its grades: the share of
pairs of items, one of each label, in which the item with label 1 has the higher grade (the area
under the ROC curve). An item with an arbitrary order is paired with every other item and its swap.

Judge outputs: how many were readable, and does the order shown affect the verdicts?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import graded, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring import clustered, inference
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Prepared
from judgepanel.studies.results import Declared, column, frozen
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.checks import Check, Outcome
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.matrix import CONSTANT_SLIP, CONSTANT_VOTES, constant_judges
from judgepanel.votes.table import Coverage

FAMILY = "family"


@frozen
class JudgeTable(Declared):
    """All arrays are (n_judges,), in the order of the file.

    ``correct`` of ``voted`` labelled items; ``accuracy`` their ratio (NaN without votes) with a 95
    % Wilson interval; ``coverage`` in [0, 1] over all items; ``constant`` marks judges with the
    same verdict on every item.
    """

    judges: tuple[str, ...] = column(name="judge")
    accuracy: Interval = column(bounds=("lo", "hi"))
    correct: Ints = column()
    voted: Ints = column()
    coverage: Floats = column()
    constant: Bools = column()

    def frame(self) -> pd.DataFrame:
        """One row per judge, most accurate first."""
        frame = Declared.frame(self)
        return frame.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)


def judge_table(votes: VoteMatrix) -> JudgeTable:
    """Return the accuracy and coverage of every judge."""
    cast = votes.votes[votes.labelled]
    voted = (cast != MISSING).sum(axis=0)
    correct = (cast == votes.labels[votes.labelled, None]).sum(axis=0)
    accuracy, constant = share_right(correct, voted), constant_judges(votes)
    return JudgeTable(votes.judges, accuracy, correct, voted, votes.coverage, constant)


def share_right(correct: Ints, voted: Ints) -> Interval:
    """Return accuracies with Wilson intervals; NaN without votes."""
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = correct / voted
    lo, hi = wilson(correct, voted)
    return Interval(accuracy, lo, hi, unit="share")


def families_of(votes: VoteMatrix) -> tuple[str, ...]:
    """Return every judge's family in the judge table, '' if it gives none."""
    if votes.judge_table is None or FAMILY not in votes.judge_table:
        return ("",) * votes.n_judges
    return tuple("" if pd.isna(name) else str(name) for name in votes.judge_table[FAMILY])


def wilson(successes: Ints | Floats, trials: Ints | Floats) -> tuple[Floats, Floats]:
    """95 % Wilson score interval of a share (1927, doi:10.2307/2276774); [0, 1] without trials.

    Trials need not be integers: an effective number is valid.
    """
    z = distributions.Z_95
    n = np.where(trials > 0, trials, 1).astype(float)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    none = trials == 0
    lo = np.where(none, 0.0, np.clip(centre - reach, 0.0, 1.0))
    return lo, np.where(none, 1.0, np.clip(centre + reach, 0.0, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class GradeCurve:
    """All arrays are (n_bands,), nearest to the ``threshold`` first.

    ``nearest``, ``median`` and ``farthest`` are distances of grades from the threshold, in their
    units; ``correct`` of ``voted`` votes on labelled items are right; ``accuracy`` is their ratio
    with a 95 % Wilson interval.
    """

    judge: str
    threshold: float
    nearest: Floats
    median: Floats
    farthest: Floats
    correct: Ints
    voted: Ints
    accuracy: Interval

    @property
    def tells(self) -> bool:
        """Whether the interval of the farthest band is above that of the nearest."""
        return bool(self.accuracy.lo[-1] > self.accuracy.hi[0])

    @property
    def nearer(self) -> Floats:
        """Share of the judge's votes that are nearer to the threshold than a band's middle."""
        return np.asarray((np.cumsum(self.voted) - self.voted / 2.0) / self.voted.sum())


def grade_curves(prepared: Prepared) -> tuple[GradeCurve, ...]:
    """Return the curve of every judge with grades, most accurate first."""
    curves = _curves(prepared, prepared.judges)
    return tuple(sorted(curves, key=lambda curve: -curve.correct.sum() / curve.voted.sum()))


def grade_curve(prepared: Prepared, judge: str) -> GradeCurve | None:
    """Return the curve of a judge; None if it gave no grades, or was set aside."""
    return next(_curves(prepared, (judge,)), None)


def _curves(prepared: Prepared, judges: Sequence[str]) -> Iterator[GradeCurve]:
    """Yield the curves of those of these judges that gave grades."""
    votes, ballots = prepared.oriented.votes, prepared.ballots
    if votes.thresholds is None or ballots.margins is None:
        return
    levels = graded.levels_on(ballots, np.arange(ballots.n_items))
    bands = levels.bands(ballots.margins, ballots.n_items)
    for j, judge in enumerate(votes.judges):
        voted = ballots.votes[:, j] != 0
        if judge in judges and voted.any() and not np.isnan(votes.thresholds[j]):
            right = (ballots.votes[:, j] == ballots.signs)[voted]
            margins = ballots.margins[voted, j]
            yield _curve(judge, float(votes.thresholds[j]), right, margins, bands[voted, j])


def _curve(
    judge: str, threshold: float, right: Bools, margins: Floats, bands: NDArray[np.int8]
) -> GradeCurve:
    """Return the curve of a judge from its votes, all (n_votes,)."""
    inside = [bands == band for band in np.unique(bands)]
    counts = np.array([rows.sum() for rows in inside], dtype=np.int64)
    correct = np.array([right[rows].sum() for rows in inside], dtype=np.int64)
    nearest, median, farthest = (
        np.array([of(margins[rows]) for rows in inside]) for of in (np.min, np.median, np.max)
    )
    return GradeCurve(
        judge, threshold, nearest, median, farthest, correct, counts, share_right(correct, counts)
    )


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


REVIEW_RATE = 0.90
FILTER_RATE = 0.70
SPARSE_RATE = 0.50
"""If the median judge votes on a smaller share of items, a missing vote means 'not asked'."""
ALPHA = 0.025
"""Familywise level of the tests of one check: P1 and P3 together raise a false alarm in 5 %."""


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
    at: slice | Ints = slice(None) if rows is None else rows
    votes, signs, units = ballots.votes[at], ballots.signs[at], ballots.units[at]
    cast = votes != 0
    right = (votes == signs[:, None]) & cast
    voted, correct = cast.sum(axis=0), right.sum(axis=0)
    tied = np.zeros_like(voted)
    if ballots.ties is not None:
        tied = ballots.ties[at].sum(axis=0)
    counts = clustered.unit_counts(right, cast, units)
    ones = (votes > 0).sum(axis=0)
    share = np.divide(correct, voted, out=np.full(len(voted), np.nan), where=voted > 0)
    wald = np.sqrt(share * (1.0 - share) / np.maximum(voted, 1))
    bounds = clustered.share_limits(counts) if limits else np.tile([[0.0], [1.0]], len(voted))
    order = grade_order(ballots, rows)
    p = clustered.below_half_p(counts)
    p_below, p_order = np.split(inference.holm(p if order is None else [*p, *order.p]), [len(p)])
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
    return aggregator not in prefixes.FRACTIONS


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


def check_outputs(coverage: Coverage) -> Check:
    """Pass if every judge is readable on at least 90 % of its outputs, fail at 70 % or less.

    The thresholds are those of arXiv 2605.09702 (appendix on scope). Outputs that were never
    requested do not count, so votes may be sparse.
    """
    rate = np.array([judge.rate for judge in coverage.judges])
    names = [judge.judge for judge in coverage.judges]
    bad = [names[j] for j in np.flatnonzero(rate <= FILTER_RATE)]
    patchy = [names[j] for j in np.flatnonzero((rate > FILTER_RATE) & (rate < REVIEW_RATE))]
    least = coverage.judges[int(rate.argmin())]
    lo, hi = wilson(np.array([least.read]), np.array([least.outputs]))
    numbers: dict[str, float | int | str] = {
        "outputs": coverage.outputs,
        "read": f"{100 * coverage.rate:.1f} %",
        "judges at 70 % or less": len(bad),
        "judges at 70 to 90 %": len(patchy),
    }
    why = (
        f"The least read judge is {quote_value(least.judge)}: {100 * least.rate:.0f} % "
        f"[{100 * lo[0]:.0f}, {100 * hi[0]:.0f}] of its {least.outputs:,} "
        f"output{'s' * (least.outputs != 1)}."
    )
    outcome: Outcome = "fail" if bad else "review" if patchy else "pass"
    advice = "Nothing to do."
    if bad or patchy:
        advice = (
            f"Look at what {listed(bad or patchy, 3)} wrote: ask for a strict form such as [[A]], "
            "give more tokens, or leave the judge out."
        )
    return Check("P1", "P1 Parse rate of the outputs", outcome, numbers, why, advice)


@frozen
class Positions(Declared):
    """Order effects of judges with verdicts in both orders on some item, least consistent first.

    All arrays are (n_judges,). ``both`` is the number of these items; ``consistent`` the share in
    [0, 1] with the same verdict in both orders, with a 95 % Wilson interval; ``lean`` in [-1, 1]
    the share with both verdicts for the response shown first minus the share with both for the one
    shown second, with a 95 % interval. Each interval is for a single judge.
    """

    judges: tuple[str, ...] = column(name="judge")
    both: Ints = column(name="items")
    consistent: Interval = column()
    lean: Interval = column()


def positions(coverage: Coverage) -> Positions | None:
    """Return consistency and lean of every judge; None if no item was read in both orders."""
    judges = [judge for judge in coverage.judges if judge.both]
    judges.sort(key=lambda judge: judge.same / judge.both)
    if not judges:
        return None
    both, same, first = (
        np.array([getattr(judge, name) for judge in judges], dtype=np.int64)
        for name in ("both", "same", "both_first")
    )
    consistent = Interval(same / both, *wilson(same, both), unit="share")
    second = both - same - first
    lean = Interval((first - second) / both, *lean_interval(first, second, both), unit="share")
    return Positions(tuple(judge.judge for judge in judges), both, consistent, lean)


def lean_interval(first: Ints, second: Ints, items: Ints) -> tuple[Floats, Floats]:
    """95 % interval of the difference of two shares of the same items.

    Agresti and Min 2005 (doi:10.1002/sim.1781): Wald's interval after adding half an item to each
    of the four cells of the 2 x 2 table.
    """
    z = distributions.Z_95
    n = items + 2.0
    first_share, other = (first + 0.5) / n, (second + 0.5) / n
    gap = first_share - other
    reach = z * np.sqrt((first_share + other - gap**2) / n)
    return np.maximum(gap - reach, -1.0), np.minimum(gap + reach, 1.0)
