"""The paper's inference over repeated splits: displayed for comparison, never used for decisions.

The bootstrap over splits treats overlapping splits as independent draws, and the permutation test
within a split is conditional on its evaluation items and one fixed calibration set; neither covers
the expected difference on new items (docs/inference.md has the measured coverage). The joint test
over label budgets has the first problem, too.

Intervals of NLL based on few wrong decisions, which allow for one more than observed.

A panel that is nearly always right is nearly always confident, and its loss comes from the few
items that it gets wrong. A sample without such an item shows no spread at all, however often they
occur. The variance implied by the panel's own probabilities, the mean of p (1 - p) logit(p)^2, does
not help: overconfident panels are exactly the problem. The upper end of a mean NLL is therefore
that of the sample with one more wrong decision,

    value + w + t sqrt(se^2 + w^2),    w = (mean loss of a wrong decision) / (number of units).

If all wrong decisions cost the same this is close to the score interval of a count (Wilson 1927,
doi:10.1080/01621459.1927.10502953), and slightly shorter than adding an event of the largest weight
to a weighted sum of counts (Fay and Feuer 1997,
doi:10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#). A difference may lack a wrong
decision on either side, so both of its ends move.

Practical equivalence of two arms: two one-sided tests against a margin.

A difference that is not significant may still be large; equivalence needs its own test. Schuirmann
1987 (doi:10.1007/BF01068419): two arms are equivalent at level 5 % if both "the difference is at or
below -margin" and "at or above +margin" are rejected, each at 5 %; that is the same as a 90 %
interval inside the margin.

Learning curves: a power law of score against labels, and where a curve reaches a goal.

The form is a + b n^-c with a floor a >= 0, b >= 0 and c between ``EXPONENTS``, as inverse power
laws of learning assume (Figueroa et al. 2012, doi:10.1186/1472-6947-12-8). It is linear given c, so
a grid over c with weighted least squares fits many curves at once.

Agreement beyond chance of verdicts 0 and 1, with jackknife intervals.

Cohen's kappa (1960, doi:10.1177/001316446002000104) subtracts the agreement of two raters who vote
1 as often as these, independently. It falls where nearly all verdicts are equal, whatever the
raters are worth. Gwet's AC1 (2008, doi:10.1348/000711006X126600) subtracts that of verdicts
that are guessed, and does not. Krippendorff's alpha (2004, ISBN 9780761915454) compares any number
of raters with missing verdicts: 1 minus the disagreement within items over that of any two
verdicts.

All are functions of counts, which add up over blocks of items; intervals come from leaving out one
block after the other, and blocks keep the items of a unit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.distributions import t_ppf
from judgepanel.scoring import metrics, splits
from judgepanel.scoring.inference import LEVEL, Estimate, t_quantile
from judgepanel.scoring.interval import Interval

Singles = NDArray[np.float32]

FLIPS = 10_000
RESAMPLES = 2_000
JOINT_DRAWS = 10_000
_SIGN_CELLS = 4_000_000
_IMPOSSIBLE = 1e-15
"""Signs are not drawn if the probability that a flip reaches the observed sum is below this."""
_FLIPS_TOGETHER, _ITEMS_TOGETHER = 256, 8_192
"""Flips by items whose signs are unpacked at once: they stay in a core's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperInference:
    """Median difference over splits, bootstrap interval of its mean, median t and p; each (n,)."""

    median: Floats
    lo: Floats
    hi: Floats
    t: Floats
    p: Floats


def sign_flip(differences: Floats, *, seed: int, flips: int = FLIPS) -> tuple[Floats, Floats]:
    """Item-level paired sign-flip permutation test of a zero mean (the paper's appendix D).

    A sum of flipped values reaches r with a probability of at most 2 exp(-r^2 / (2 sum of squares))
    (Hoeffding 1963, doi:10.1080/01621459.1963.10500830). Where this excludes that any flip reaches
    the observed sum, and where all values are 0, signs need not be drawn to count those that do.

    Parameters
    ----------
    differences : float (n, m), n paired comparisons on the same m items.

    Returns
    -------
    t : float (n,), the studentised mean.
    p : float (n,), (1 + #{|flipped| >= |observed|}) / (flips + 1). All comparisons and splits use
        the same signs, so p depends only on the seed.
    """
    n, m = differences.shape
    observed = differences.sum(axis=1)
    spread = differences.std(axis=1, ddof=1) if m > 1 else np.zeros(n)
    t = np.divide(observed / m, spread / np.sqrt(m), out=np.zeros(n), where=spread > 0)
    reach = np.abs(observed) * (1.0 - 1e-5)
    squares = np.vecdot(differences, differences)
    never = reach**2 > 2.0 * squares * np.log(2.0 * flips / _IMPOSSIBLE)
    always = squares == 0.0
    hits = np.where(always, float(flips), 0.0)
    undecided = np.flatnonzero(~(never | always))
    if len(undecided):
        batches = _flipped_sums(differences[undecided], observed[undecided], seed, flips)
        hits[undecided] = sum((np.abs(sums) >= reach[undecided]).sum(axis=0) for sums in batches)
    return t, (1.0 + hits) / (flips + 1.0)


def _flipped_sums(differences: Floats, observed: Floats, seed: int, flips: int) -> Iterator[Floats]:
    """Yield sums of the differences (n, m) with random signs, as many as ``flips`` (some, n)."""
    m = differences.shape[1]
    rng = splits.stream(seed, 7, 2)
    # A sum with flipped signs is (total) - 2 (total of the flipped values), so bits suffice.
    values = differences.T.astype(np.float32)
    step = max(1, _SIGN_CELLS // max(m, 1))
    bits = (
        rng.integers(0, 256, (min(step, flips - start), (m + 7) // 8), np.uint8)
        for start in range(0, flips, step)
    )
    while batch := list(islice(bits, max(1, _FLIPS_TOGETHER // step))):
        yield observed - 2.0 * _sums_of_chosen(np.concatenate(batch), values)


def _sums_of_chosen(packed: NDArray[np.uint8], values: Singles) -> Singles:
    """Sums (flips, n) of the ``values`` (m, n) whose bit in ``packed`` (flips, m / 8) is 1."""
    sums = np.zeros((len(packed), values.shape[1]), dtype=np.float32)
    for start in range(0, len(values), _ITEMS_TOGETHER):
        part = values[start : start + _ITEMS_TOGETHER]
        own = packed[:, start // 8 : (start + _ITEMS_TOGETHER) // 8]
        sums += metrics.single_product(np.unpackbits(own, axis=1, count=len(part)), part)
    return sums


def paper_inference(differences: Floats, t: Floats, p: Floats, *, seed: int) -> PaperInference:
    """Summarise S splits: ``differences``, ``t`` and ``p`` are each (S, n)."""
    picks = splits.stream(seed, 7, 3).integers(0, len(differences), (RESAMPLES, len(differences)))
    means = differences[picks].mean(axis=1)
    lo, hi = np.quantile(means, (0.025, 0.975), axis=0)
    return PaperInference(
        np.median(differences, axis=0), lo, hi, np.median(t, axis=0), np.median(p, axis=0)
    )


@dataclass(frozen=True, slots=True)
class PaperJoint:
    """Largest |t| over the budgets, its 95 % critical value, and the p-value: all invalid."""

    t: float
    critical: float
    p: float


def paper_joint(differences: Floats, *, seed: int) -> PaperJoint:
    """The paper's joint test over label budgets (its appendix "Joint Test Across Label Budgets").

    sqrt(S) mean / sd over splits at every budget; the largest is compared with Gaussians with the
    splits' correlation (Chernozhukov, Chetverikov and Kato 2013, doi:10.1214/13-AOS1161). It treats
    the S splits as independent samples. They share their items, so t grows with sqrt(S) whatever
    the data: with equal arms p is below .05 in most data sets
    (``benchmarks/results/label_budget.md``). Displayed for comparison, never used for decisions.

    Parameters
    ----------
    differences : float (S, m), NLL(top-k) - NLL(all) of every split at m budgets; S >= 2.
    """
    n_splits = len(differences)
    spread = differences.std(axis=0, ddof=1)
    live = spread > 0
    if not live.any():
        same = not differences.any()
        return PaperJoint(0.0 if same else np.inf, 0.0, 1.0 if same else 0.0)
    centred = (differences - differences.mean(axis=0))[:, live] / spread[live]
    largest = np.abs(np.sqrt(n_splits) * differences.mean(axis=0)[live] / spread[live]).max()
    rng = splits.stream(seed, 7, 4)
    # Sums of centred splits with Gaussian multipliers have the correlation of the splits.
    multipliers = rng.standard_normal((JOINT_DRAWS, n_splits)) / np.sqrt(n_splits - 1)
    maxima = np.abs(multipliers @ centred).max(axis=1)
    hits = int(np.count_nonzero(maxima >= largest))
    return PaperJoint(
        float(largest), float(np.quantile(maxima, 0.95)), (1.0 + hits) / (1.0 + JOINT_DRAWS)
    )


FEW_ERRORS = 10
"""Number of units with a wrong decision from which the observed spread suffices."""
_ROUNDING = 1e-9
"""Mean losses of items are rounded to 2^-40."""


def one_more_error(losses: Floats, units: NDArray[np.int64]) -> Floats:
    """Increase of each panel's mean loss with one more wrong decision, (n,).

    It is 0 for panels with ``FEW_ERRORS`` or more units with a wrong decision. The cost of a wrong
    decision is the mean of -log(1 - p) over the items, with p the probability of the decision,
    weighted by the probability that the item's decision is wrong. Items of one unit go wrong
    together.

    Parameters
    ----------
    losses : float (n, N), mean NLL of each item over its evaluations.
    units : int (N,), group codes on which variances cluster.
    """
    codes, n_units = splits.unit_codes(units)
    # Units with a wrong decision; a tie is none, however its loss is rounded.
    by_panel = (codes[np.flatnonzero(row > np.log(2.0) + _ROUNDING)] for row in losses)
    counts = [np.count_nonzero(np.bincount(wrong, minlength=n_units)) for wrong in by_panel]
    few = np.array(counts, dtype=np.intp) < FEW_ERRORS
    p = np.clip(np.exp(-losses[few]), metrics.CLIP, 1.0 - metrics.CLIP)
    doubt = np.minimum(p, 1.0 - p)
    cost = np.vecdot(doubt, -np.log(doubt)) / doubt.sum(axis=1)
    more = np.zeros(len(losses))
    more[few] = cost / n_units
    return more


def between(left: Floats, right: Floats) -> Floats:
    """Change of a difference of two panels with one more wrong decision, in either direction.

    0 if one of them has enough wrong decisions to show how they differ.
    """
    return np.where((left > 0.0) & (right > 0.0), np.maximum(left, right), 0.0)


def allow_level(fitted: Estimate, extra: Floats) -> Estimate:
    """Mean NLLs whose upper ends allow for one more wrong decision, which adds ``extra`` (n,)."""
    hi = np.where(extra > 0.0, fitted.value + _reach(fitted, extra), fitted.hi)
    return replace(fitted, hi=hi)


def allow_difference(fitted: Estimate, extra: Floats) -> Estimate:
    """Differences of NLL that allow for one more wrong decision of either panel.

    Standard errors, p-values and the covariance follow the interval.
    """
    if not (extra > 0.0).any():
        return fitted
    moved = extra > 0.0
    reach = _reach(fitted, extra)
    se = np.where(moved, reach / t_quantile(fitted.df), fitted.se)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(fitted.value) / se
    covariance = fitted.covariance.copy()
    if covariance.size:
        np.fill_diagonal(covariance, np.where(moved, se**2, np.diagonal(covariance)))
    return replace(
        fitted,
        se=se,
        lo=np.where(moved, fitted.value - reach, fitted.lo),
        hi=np.where(moved, fitted.value + reach, fitted.hi),
        p=np.where(moved, 2.0 * distributions.t_sf(t, fitted.df), fitted.p),
        covariance=covariance,
    )


def _reach(fitted: Estimate, extra: Floats) -> Floats:
    return np.asarray(extra + t_quantile(fitted.df) * np.sqrt(fitted.se**2 + extra**2))


Equivalent = Literal["equivalent", "different", "inconclusive"]

ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Equivalence:
    """``n`` tests of equivalence.

    ``p`` (n,) is the larger of the two one-sided p-values, [``lo``, ``hi``] (n,) the 90 % interval,
    ``margin`` (n,) is in the units of the values.
    """

    p: Floats
    lo: Floats
    hi: Floats
    margin: Floats

    @property
    def outcomes(self) -> tuple[Equivalent, ...]:
        """``equivalent`` if inside the margin, ``different`` if outside, else ``inconclusive``."""
        inside = self.p < ALPHA
        outside = (self.lo > self.margin) | (self.hi < -self.margin)
        return tuple(
            "equivalent" if same else "different" if apart else "inconclusive"
            for same, apart in zip(inside, outside, strict=True)
        )


def equivalence(fitted: Estimate, margin: float | Floats) -> Equivalence:
    """Two one-sided t-tests of every estimate against its margin (> 0).

    An estimate without spread is equivalent if it lies inside the margin: p is then 0, else 1.
    """
    bound = np.broadcast_to(np.asarray(margin, dtype=np.float64), fitted.value.shape)
    if not (bound > 0).all():
        raise ValueError("a margin of equivalence must be above 0")
    room = bound - np.abs(fitted.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(fitted.se > 0, room / fitted.se, np.where(room > 0, np.inf, -np.inf))
    reach = np.asarray(distributions.t_ppf(1.0 - ALPHA, fitted.df)) * fitted.se
    p = np.asarray(distributions.t_sf(t, fitted.df))
    return Equivalence(p, fitted.value - reach, fitted.value + reach, bound)


EXPONENTS = (0.1, 3.0)
FEWEST_POINTS = 4
_GRID = 60
_FARTHEST = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class LearningCurve:
    """Curves a + b (n / scale)^-c, each array (D,); ``a`` is the asymptotic floor."""

    a: Floats
    b: Floats
    c: Floats
    scale: float

    def at(self, n: float | Floats) -> Floats:
        """Scores (D, m) at m numbers of labels."""
        ratio = np.atleast_1d(np.asarray(n, dtype=np.float64)) / self.scale
        return np.asarray(self.a[:, None] + self.b[:, None] * ratio ** -self.c[:, None])

    def needed(self, goal: Floats) -> Floats:
        """Labels (D,) at which each curve reaches its goal.

        inf if the goal is at or below the floor, or if ``_FARTHEST`` times the scale are not
        enough.
        """
        room = goal - self.a
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            n = self.scale * (self.b / room) ** (1.0 / self.c)
        return np.where((room > 0) & (n <= _FARTHEST * self.scale), n, np.inf)


def fit_learning_curve(n: Floats, values: Floats, se: Floats) -> LearningCurve:
    """Fit every row by weighted least squares.

    Parameters
    ----------
    n : float (B,), numbers of labels, increasing.
    values : float (D, B), scores at those numbers.
    se : float (B,), their standard errors; weights are 1 / se^2, equal if one is 0.
    """
    weight = np.ones(len(n)) if not (se > 0).all() else (se.min() / se) ** 2
    scale = float(n[-1])
    best = np.full(len(values), np.inf)
    a, b, c = (np.zeros(len(values)) for _ in range(3))
    for exponent in np.geomspace(*EXPONENTS, _GRID):
        x = (n / scale) ** -exponent
        floor, height = _line(x, values, weight)
        error = ((values - floor[:, None] - height[:, None] * x) ** 2) @ weight
        better = error < best
        best = np.where(better, error, best)
        a, b = np.where(better, floor, a), np.where(better, height, b)
        c = np.where(better, exponent, c)
    return LearningCurve(a, b, c, scale)


def _line(x: Floats, values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Intercepts and slopes of values on x, both at least 0."""
    share = weight / weight.sum()
    centre, mean = float(x @ share), values @ share
    spread = float(((x - centre) ** 2) @ share)
    slope = np.maximum((values * share) @ (x - centre) / max(spread, 1e-300), 0.0)
    # A decrease within rounding error counts as none, whichever BLAS kernel summed it.
    rounding = 16.0 * np.finfo(np.float64).eps * np.abs(values).max(axis=1)
    slope = np.where(slope * np.ptp(x) > rounding, slope, 0.0)
    floor = mean - slope * centre
    through_zero = np.maximum((values * share) @ x / float((x * x) @ share), 0.0)
    below = floor < 0
    return np.where(below, 0.0, floor), np.where(below, through_zero, slope)


def first_reached(n: Floats, values: Floats, goal: Floats) -> Floats:
    """Labels (D,) at which each row first reaches its goal or falls below it; inf if it never does.

    The score is interpolated linearly in log n; a row at its goal from the start gets the smallest
    number.

    Parameters
    ----------
    n : float (B,), numbers of labels, increasing.
    values : float (D, B), scores at those numbers.
    goal : float (D,).
    """
    there = values <= goal[:, None]
    first = there.argmax(axis=1)
    before = np.maximum(first - 1, 0)
    rows = np.arange(len(values))
    high, low = values[rows, before], values[rows, first]
    drop = np.where(high > low, high - low, 1.0)
    share = np.where(first > 0, np.clip((high - goal) / drop, 0.0, 1.0), 0.0)
    array = np.minimum(n[before] * (n[first] / n[before]) ** share, n[first])
    return np.where(there.any(axis=1), array, np.inf)


MOST_BLOCKS = 100
T_95 = 1.9842169515864174
"""``t_ppf(0.975, MOST_BLOCKS - 1)``, for commands that need nothing else of scipy.special."""


@dataclass(frozen=True, slots=True, eq=False)
class WithLabels:
    """Kappa and AC1 (J,) of every judge with the labels, and alpha of all judges, of n items."""

    kappa: Interval
    ac1: Interval
    alpha: Interval
    n_items: int


def with_labels(
    votes: Votes,
    labels: Votes,
    units: Ints,
    *,
    symmetric: bool = False,
    seed: int = 0,
    most_votes: int | None = None,
) -> WithLabels:
    """Return the agreement of judges with labels and with each other.

    Parameters
    ----------
    votes, labels : int8 (n, J) and (n,), 1 and -1, 0 where a vote is missing.
    units : int (n,), codes of items that belong together.
    symmetric : whether every pair counts together with its swap.
    seed : of the blocks that are left out, and of the draw.
    most_votes : cells of ``votes`` that are counted at most: of more, items are drawn at random.
    """
    most = len(votes) if most_votes is None else max(most_votes // max(votes.shape[1], 1), 1)
    if len(votes) > most:
        rows = np.sort(np.random.default_rng(seed).choice(len(votes), most, replace=False))
        votes, labels, units = votes[rows], labels[rows], units[rows]
    blocks = blocks_of(units, seed=seed)
    pairs, items = pair_counts(votes, labels[:, None], blocks), item_counts(votes, blocks)
    if symmetric:
        pairs, items = with_swaps(pairs), items_with_swaps(items)
    together = jackknifed(alpha, items)
    return WithLabels(
        jackknifed(kappa, pairs), jackknifed(ac1, pairs), single(together), len(votes)
    )


def kappa(counts: Floats) -> Floats:
    """Cohen's kappa of counts (..., 2, 2), first rater by second; NaN if undefined."""
    agreed, first, second = _shares(counts)
    return _beyond(agreed, first * second + (1.0 - first) * (1.0 - second))


def ac1(counts: Floats) -> Floats:
    """Gwet's AC1 of counts (..., 2, 2); NaN without items."""
    agreed, first, second = _shares(counts)
    ones = (first + second) / 2.0
    return _beyond(agreed, 2.0 * ones * (1.0 - ones))


def alpha(counts: Floats) -> Floats:
    """Krippendorff's alpha of counts (..., 3) of :func:`item_counts`; NaN if undefined."""
    disagreed, ones, zeros = np.moveaxis(counts, -1, 0)
    total = ones + zeros
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = 2.0 * ones * zeros / (total - 1.0)
        return np.where(expected > 0.0, 1.0 - disagreed / expected, np.nan)


def blocks_of(units: Ints, *, seed: int = 0, most: int = MOST_BLOCKS) -> Ints:
    """Return the block (n,) of every item; units stay whole, and blocks are as even as they are."""
    codes, n_units = splits.unit_codes(units)
    return np.asarray(np.random.default_rng(seed).permutation(n_units)[codes] % most)


def pair_counts(votes: Votes, others: Votes, blocks: Ints) -> Floats:
    """Count the items (n_blocks, J, 2, 2) by signs of two raters; 0 is a missing vote.

    ``votes`` are (n, J), ``others`` (n, J) or (n, 1), which all are compared with.
    """
    n_blocks = int(blocks.max(initial=-1)) + 1
    counts = np.zeros((n_blocks, votes.shape[1], 2, 2))
    for i, first in enumerate((-1, 1)):
        for j, second in enumerate((-1, 1)):
            both = (votes == first) & (others == second)
            for rater in range(votes.shape[1]):
                counts[:, rater, i, j] = np.bincount(blocks[both[:, rater]], minlength=n_blocks)
    return counts


def item_counts(votes: Votes, blocks: Ints) -> Floats:
    """Return disagreement within items, verdicts 1 and verdicts 0 by block (n_blocks, 3).

    Items with a single vote do not count.
    """
    ones, zeros = (votes > 0).sum(axis=1), (votes < 0).sum(axis=1)
    several = ones + zeros > 1
    apart = 2.0 * ones * zeros / np.maximum(ones + zeros - 1, 1)
    n_blocks = int(blocks.max(initial=-1)) + 1
    parts = [
        np.bincount(blocks[several], values[several], n_blocks) for values in (apart, ones, zeros)
    ]
    return np.stack(parts, axis=1)


def with_swaps(counts: Floats) -> Floats:
    """Return counts (..., 2, 2) of pairs and of their swaps, as of as many pairs."""
    return np.asarray((counts + counts[..., ::-1, ::-1]) / 2.0)


def items_with_swaps(counts: Floats) -> Floats:
    """Return counts (..., 3) of :func:`item_counts` of pairs and of their swaps."""
    ones = counts[..., 1:].mean(axis=-1)
    return np.stack([counts[..., 0], ones, ones], axis=-1)


def single(ends: Interval) -> Interval:
    """Return an interval of arrays () as one of numbers."""
    return Interval.single(float(ends.value), float(ends.lo), float(ends.hi), unit="")


def jackknifed(measure: Callable[[Floats], Floats], counts: Floats) -> Interval:
    """Return a measure of all blocks (axis 0 of ``counts``) with its 95 % interval."""
    total = counts.sum(axis=0)
    return around(measure(total), measure(total - counts))


def around(value: Floats, without: Floats) -> Interval:
    """Return a value with its 95 % interval, from those without each block (axis 0).

    NaN ends from a single block.
    """
    n = len(without)
    gaps = without - without.mean(axis=0)
    spread = np.sqrt((n - 1.0) / n * (gaps**2).sum(axis=0)) if n > 1 else np.nan * gaps[0]
    quantile = T_95 if n == MOST_BLOCKS else t_ppf(0.5 + LEVEL / 2.0, max(n - 1.0, 1.0))
    reach = quantile * spread
    return Interval(value, np.clip(value - reach, -1, 1), np.clip(value + reach, -1, 1), unit="")


def _shares(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Shares of items with equal verdicts, and of verdicts 1 of the first and second rater."""
    n = counts.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / n[..., None, None]
    agreed = shares[..., 0, 0] + shares[..., 1, 1]
    return agreed, shares[..., 1, :].sum(axis=-1), shares[..., :, 1].sum(axis=-1)


def _beyond(agreed: Floats, chance: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < 1.0 - 1e-12, (agreed - chance) / (1.0 - chance), np.nan)
