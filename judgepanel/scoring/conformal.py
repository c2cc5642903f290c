"""Split conformal sets for two labels: array functions, batched over panels.

The nonconformity of label z is 1 - p(z). With n scores on a slice that is in no fit, the threshold
is the ceil((1 - alpha)(n + 1))-th smallest of them, and the set of an item holds the labels whose
score does not exceed it. On exchangeable items it then holds the true label with probability at
least 1 - alpha, and at most 1/(n + 1) more where scores do not tie (Lei et al. 2018,
doi:10.1080/01621459.2017.1307116; LAC score: Sadinle, Lei and Wasserman 2019,
doi:10.1080/01621459.2017.1395341; the paper's step 4).

Both scores follow from p by the same two subtractions, s(1) = 1 - p and s(0) = 1 - s(1). An item
and its swap (1 - p, the other label) then have the same score to the bit, a score equal to the
threshold is in the set, and no tolerance is needed.

Selective prediction: accuracy against coverage when low-confidence items are left unanswered.

A(q) is the accuracy among the share q of items with the highest confidence, and AUAC the area under
A (the paper's appendix on selective prediction; risk-coverage curves: El-Yaniv and Wiener 2010,
JMLR 11). All orders of tied confidences are averaged.

Both are functions of ranks, so an item shifts the rank of all below it. Values here are therefore
influence values: with h the hit, u the share of items with higher confidence and h(q) the accuracy
at rank q,

    A(q):  1{u < q} (h - h(q)) / q + h(q)
    AUAC:  accuracy + int_u^1 (h - h(v)) / v dv.

Their means are A(q) and AUAC, and their variance is that of the estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.votes.errors import InputError

Kinds = NDArray[np.int8]

LEVELS = (0.8, 0.9)
SET_NAMES = ("{}", "{0}", "{1}", "{0, 1}")
SET_WORDS = (
    "Neither label is credible at this level: the panel leans too little to either side.",
    "Only label 0 is credible at this level.",
    "Only label 1 is credible at this level.",
    "Both labels are credible at this level: the panel does not decide this item.",
)
NEITHER, ZERO, ONE, BOTH = range(4)


@dataclass(frozen=True, slots=True)
class SetReport:
    """Outcome of conformal sets at one level on labelled items.

    ``n`` items have ``neither`` + ``only_0`` + ``only_1`` + ``both`` = n sets; ``covered`` of them
    hold the true label, a share ``coverage`` with the Clopper-Pearson 95 % interval [``lo``,
    ``hi``], which is conditional on the thresholds. ``mean_size`` is in [0, 2]. ``n_slice`` scores
    set the thresholds. ``warnings`` are full sentences.
    """

    level: float
    n: int
    neither: int
    only_0: int
    only_1: int
    both: int
    covered: int
    coverage: float
    lo: float
    hi: float
    mean_size: float
    n_slice: int
    warnings: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """One line per kind of set: its frequency and its meaning."""
        counts = (self.neither, self.only_0, self.only_1, self.both)
        kinds = zip(SET_NAMES, counts, SET_WORDS, strict=True)
        return tuple(f"{name}: {count} of {self.n}. {meaning}" for name, count, meaning in kinds)


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1) with an InputError."""
    if not 0.0 < level < 1.0:
        raise InputError("the conformal level is out of range", value=level, allowed="(0, 1)")


def label_scores(p: Floats) -> tuple[Floats, Floats]:
    """Nonconformity of label 0 and of label 1, each of the shape of p = P(label 1) in [0, 1]."""
    of_one = 1.0 - p
    return 1.0 - of_one, of_one


def nonconformity(p: Floats, labels: NDArray[np.integer]) -> Floats:
    """1 - p(z) of the true labels in {0, 1}; shapes broadcast."""
    of_zero, of_one = label_scores(p)
    return np.where(labels == 1, of_one, of_zero)


def quantile_rank(n: Ints | int, level: float) -> Ints:
    """ceil(level (n + 1)): rank of the threshold among the n sorted scores; infinite above n.

    The product is rounded first, since .55 x 100 is slightly above 55 in floating point.
    """
    return np.ceil(np.round(level * (np.asarray(n) + 1.0), 9)).astype(np.int64)


def one_slice(n: int, level: float) -> tuple[float, float]:
    """Return the range of coverage on new items for 95 % of slices of n labels.

    Given its slice, the coverage of untied scores follows Beta(r, n + 1 - r), with r the
    threshold's rank (Vovk 2012, arXiv 1209.2673, section 3). Both ends are 1 if the threshold is
    infinite.
    """
    rank = int(quantile_rank(n, level))
    if rank > n:
        return 1.0, 1.0
    lo, hi = np.asarray(distributions.beta_ppf([0.025, 0.975], rank, n + 1 - rank))
    return float(lo), float(hi)


def labels_needed(level: float) -> int:
    """Smallest number of labels of a slice (a class, a stratum) with a finite threshold."""
    check_level(level)
    n = max(1, math.floor(level / (1.0 - level)) - 1)
    while quantile_rank(n, level) > n:
        n += 1
    return n


def threshold(scores: Floats, level: float) -> Floats:
    """Conformal quantile (...,) of scores (..., n); infinite if n is too small."""
    n = scores.shape[-1]
    rank = int(quantile_rank(n, level))
    if rank > n:
        return np.full(scores.shape[:-1], np.inf)
    return np.asarray(np.partition(scores, rank - 1, axis=-1)[..., rank - 1])


def group_thresholds(scores: Floats, codes: Ints, n_groups: int, level: float) -> Floats:
    """Conformal quantile (..., n_groups) of the scores (..., n) of each group, codes (n,)."""
    thresholds = [threshold(scores[..., codes == group], level) for group in range(n_groups)]
    return np.stack(thresholds, axis=-1) if thresholds else np.zeros((*scores.shape[:-1], 0))


def set_kinds(p: Floats, threshold_0: Floats, threshold_1: Floats) -> Kinds:
    """Kind of every set, int8 of the shape of p: an index of ``SET_NAMES``.

    The thresholds of label 0 and of label 1 broadcast against p; they differ by class only.
    """
    of_zero, of_one = label_scores(p)
    return ((of_zero <= threshold_0) + 2 * (of_one <= threshold_1).astype(np.int8)).astype(np.int8)


def set_counts(kinds: Kinds) -> Ints:
    """Number of sets (..., n) of each kind, (..., 4)."""
    return np.stack([(kinds == kind).sum(axis=-1) for kind in range(4)], axis=-1)


def covers(kinds: Kinds, labels: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether a set holds the true label in {0, 1}; shapes broadcast."""
    return np.where(labels == 1, kinds >= ONE, (kinds == ZERO) | (kinds == BOTH))


def set_sizes(kinds: Kinds) -> Kinds:
    """Number of labels in a set: 0, 1 or 2."""
    return np.array([0, 1, 1, 2], dtype=np.int8)[kinds]


def report_sets(
    kinds: Kinds,
    labels: NDArray[np.integer],
    level: float,
    n_slice: int,
    warnings: tuple[str, ...] = (),
) -> SetReport:
    """Count sets (n,) and their coverage of labels (n,), n at least 1."""
    n = len(kinds)
    covered = int(covers(kinds, labels).sum())
    lo, hi = clopper_pearson(covered, n)
    neither, only_0, only_1, both = (int(count) for count in set_counts(kinds))
    return SetReport(
        level=level,
        n=n,
        neither=neither,
        only_0=only_0,
        only_1=only_1,
        both=both,
        covered=covered,
        coverage=covered / n,
        lo=lo,
        hi=hi,
        mean_size=float(set_sizes(kinds).mean()),
        n_slice=n_slice,
        warnings=warnings,
    )


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a proportion (1934, doi:10.1093/biomet/26.4.404).

    Effective counts need not be integers.
    """
    tail = (1.0 - level) / 2.0
    failures = trials - successes
    lo = float(distributions.beta_ppf(tail, successes, failures + 1)) if successes else 0.0
    hi = float(distributions.beta_ppf(1.0 - tail, successes + 1, failures)) if failures else 1.0
    return lo, hi


def too_few(n: int, level: float, whose: str, until_then: str) -> str:
    """Return the sentence about a slice, a class or a stratum with an infinite threshold."""
    return (
        f"{whose} has {n} label{'' if n == 1 else 's'}, and sets at {level:.0%} need "
        f"{labels_needed(level)}: until then {until_then}."
    )


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Items by confidence, highest first: ``order`` (n,).

    ``first`` and ``length`` (n,) are the first position and the length of the tie at each position.
    """

    order: Ints
    first: Ints
    length: Ints


def ranked(confidence: Floats) -> Ranked:
    """Return the order of confidences (n,) with their ties."""
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    lengths = np.diff(np.append(starts, len(ordered)))
    return Ranked(order, np.repeat(starts, lengths), np.repeat(lengths, lengths))


def answered(ranks: Ranked, shares: Floats) -> Floats:
    """How far each item is among the most confident ``shares`` (m,), (m, n) in [0, 1].

    A tie at the threshold is answered in part.
    """
    n = len(ranks.order)
    limit = shares[:, None] * n
    inside = np.empty((len(shares), n))
    inside[:, ranks.order] = np.clip((limit - ranks.first) / ranks.length, 0.0, 1.0)
    return inside


def auac_values(ranks: Ranked, hit: Floats) -> Floats:
    """Influence values (n,) of the area under the accuracy-coverage curve; their mean is AUAC."""
    n = len(hit)
    sorted_hit = hit[ranks.order]
    starts = np.unique(ranks.first)
    shared = np.add.reduceat(sorted_hit, starts) / np.diff(np.append(starts, n))
    even = np.repeat(shared, np.diff(np.append(starts, n)))
    inverse = 1.0 / np.arange(1.0, n + 1.0)
    below = np.cumsum((even * inverse)[::-1])[::-1]
    share = np.cumsum(inverse[::-1])[::-1]
    values = np.empty(n)
    values[ranks.order] = (
        hit.mean() + sorted_hit * _tied(share, starts, n) - _tied(below, starts, n)
    )
    return values


def _tied(values: Floats, starts: Ints, n: int) -> Floats:
    """Return values (n,) averaged within ties."""
    lengths = np.diff(np.append(starts, n))
    return np.repeat(np.add.reduceat(values, starts) / lengths, lengths)
