"""Stacking and joint: judges weighed together, with the ridge chosen by inner cross-validation.

Write V in {-1, 0, +1} for votes. Stacking is ridge logistic regression on V. Joint is

    logit p = b + tau l(V) + V delta + g(V),

l the one-coin score and g a smooth function of which past items the votes resemble
(:mod:`kernels.joint`). Only delta and g are shrunk by the ridge C, so that without
evidence of more it is the one-coin sum on a fitted temperature. tau is fitted to one-coin scores
whose counts leave the item's own unit out.

The ridge is averaged over: every C counts by its likelihood on folds its inner models have not
seen. Logits are linear in the parameters, so the average is one model. The inner model of fit f
that leaves out fold g learns from the same rows as that of fit g leaving out fold f: 5 folds need
16 models at every C, not 31.

Monotone forms are linear in the votes, and hold the weights of judges at 0 or above, but for judges
that are shown to be below chance. No other vote counts against what it says, whoever else is there.

What one joint or stacking model learns from: its votes, its one-coin score, its centre.

Which past items an item's votes resemble: a similarity of votes, and features that span it.

Two items with votes V and V' agree by

    d = sum_j w_j^2 V_j V'_j / sum_j w_j^2,        in [-1, 1],

w the one-coin weights, so that judges who know something decide what counts as alike. The kernel
(d^3 + d^5) / 2 is odd in the votes and positive semi-definite, being a sum of powers of an inner
product. It is spanned by its leading directions over at most ``PROTOTYPES`` of the items learned
from (the Nystroem approximation, Williams and Seeger 2001).

Near-copies among judges: several of them know what one of them knows.

A one-coin sum counts a judge that was asked twice twice. Judges whose errors are almost the same
are put into one group, and a sum that counts each of a group of m by 1/m counts the group once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.kernels import ballots as cells
from judgepanel.kernels import maps, redundancy, ridge, threads
from judgepanel.kernels.ballots import Ballots, Cells
from judgepanel.kernels.prefixes import Fit, Ranking, counts, one_coin_weight, rank
from judgepanel.scoring import clustered, splits

PROTOTYPES = 150
DIRECTIONS = 50
_SMALLEST = 1e-4
CODED = 39  # judges whose votes and a label make a number of 64 bits in base 3
_ROWS, _BLOCK = 4_096, 8_192


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Similarity to prototypes: ``shares`` (k,) of the judges, ``prototypes`` int8 (m, k)."""

    shares: Floats
    prototypes: Votes

    def similarity(self, votes: Cells) -> Floats:
        """(d^3 + d^5) / 2 of signed votes (n, k) to every prototype, (n, m)."""
        weighted = (self.prototypes * self.shares).T
        similarity = np.empty((votes.shape[0], len(self.prototypes)))
        for start in range(0, len(similarity), _ROWS):
            d = votes[start : start + _ROWS].astype(np.float64) @ weighted
            square = d * d
            d *= 0.5
            d *= square
            square += 1.0
            d *= square
            similarity[start : start + _ROWS] = d
        return similarity

    def along(self, votes: Cells, directions: Floats) -> Floats:
        """Features (n, r) of signed votes (n, k) along ``directions`` (m, r) of prototypes."""
        span = np.empty((votes.shape[0], directions.shape[1]))
        for start in range(0, len(span), _BLOCK):
            rows = slice(start, start + _BLOCK)
            span[rows] = self.similarity(votes[rows]) @ directions
        return span


def agreement_among(votes: Cells, weights: Floats) -> tuple[Agreement, Floats]:
    """Prototypes among signed votes (n, k), evenly spaced, and their directions (m, r).

    Features ``similarity @ directions`` have inner products close to the kernel. There are r of
    them, at most ``DIRECTIONS``; those that carry next to nothing are left out. One-coin
    ``weights`` (k,) of 0 leave nothing to compare.
    """
    squares = weights * weights
    total = float(squares.sum())
    some = np.flatnonzero(cells.has_votes(votes))
    chosen = np.unique(np.linspace(0, len(some) - 1, min(PROTOTYPES, len(some))).astype(np.int64))
    prototypes = cells.dense_of(votes[some[chosen]])
    times, alike = np.ones(len(prototypes)), alike_rows(prototypes)
    if alike is not None:
        # Equal ones and opposite ones (the kernel is odd) span one direction. Their eigenproblem is
        # that of the distinct ones, each scaled by the root of how often it is there.
        _, first, repeats = np.unique(np.abs(alike), return_index=True, return_counts=True)
        order = np.argsort(first)
        prototypes, times = prototypes[first[order]], repeats[order].astype(np.float64)
    agreement = Agreement(squares / total if total > 0.0 else squares, prototypes)
    if not len(prototypes) or total <= 0.0:
        return agreement, np.zeros((len(prototypes), 0))
    often = np.sqrt(times)
    similarity = agreement.similarity(prototypes)
    values, vectors = np.linalg.eigh(similarity * often * often[:, None])
    leading = np.argsort(-values, kind="stable")[:DIRECTIONS]
    leading = leading[values[leading] > _SMALLEST * values.max()]
    directions = vectors[:, leading] * (often[:, None] / np.sqrt(values[leading]))
    return agreement, directions


def alike_rows(votes: Votes) -> NDArray[np.int64] | None:
    """A number (n,) for each row of signed votes (n, k), which changes sign with the votes; the
    same for the same votes alone. None where judges are so many that rows seldom are the same.
    """
    k = votes.shape[1]
    return votes.astype(np.int64) @ 3 ** np.arange(k) if k < CODED else None


ALIKE = 0.9
"""Copies are shown to have a larger error correlation: the lower 95 % limit (Fisher 1921) is."""
LEAST_ITEMS, LEAST_CASES = 30, 5
MOST_JUDGES = 1000


def copies(votes: Cells, signs: NDArray[np.int8]) -> Bools | None:
    """Which pairs of judges (k, k) are near-copies, from signed votes (n, k) and labels (n,).

    Two judges need ``LEAST_ITEMS`` items in common, with ``LEAST_CASES`` right and as many wrong
    votes of each, before anything is shown. Above ``MOST_JUDGES`` no judges are compared. None
    where nobody has any.
    """
    n_items, k = votes.shape
    if not 2 <= k <= MOST_JUDGES or n_items < LEAST_ITEMS:
        return None
    counts = redundancy.error_counts(votes, signs)
    n, wrong = counts.joint, counts.wrong
    enough = (n >= LEAST_ITEMS) & (wrong >= LEAST_CASES) & (n - wrong >= LEAST_CASES)
    enough &= enough.T
    if not (enough & ~np.eye(k, dtype=bool)).any():
        return None
    spread = wrong * (n - wrong)
    scale = np.sqrt(np.where(enough, spread * spread.T, 1.0))
    phi = np.where(enough, n * counts.both - wrong * wrong.T, 0.0) / scale
    z = np.arctanh(np.clip(phi, -0.9999, 0.9999))
    lower = z - 1.96 / np.sqrt(np.maximum(n - 3.0, 1.0))
    alike = np.asarray(lower > np.arctanh(ALIKE))
    np.fill_diagonal(alike, False)
    return alike if alike.any() else None


def groups_among(alike: Bools | None, k: int) -> Ints:
    """Group (k,) of each of the first k judges, from pairs that are near-copies: the first judge
    that it is tied to, be it through others. Each is its own where fewer than k were compared.
    """
    groups = np.arange(k)
    if alike is None or k > len(alike) or not alike[:k, :k].any():
        return groups
    tied = alike[:k, :k] | np.eye(k, dtype=bool)
    while True:
        first = np.where(tied, groups, k).min(axis=1)
        if np.array_equal(first, groups):
            return groups
        groups = first


def copy_shares(groups: Ints) -> NDArray[np.float64]:
    """What each judge (k,) of a group of m counts: 1/m."""
    return np.asarray(1.0 / np.bincount(groups)[groups])


CAUTION = 3.0
"""Prior rate of tau per unit of the design effect: see :class:`Verdicts`."""
BELOW = 0.025
"""Level of the one-sided test of a judge: the upper limit of its 95 % interval is below 1/2."""
_COLUMNS = 128


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of one model with k judges on its n learn rows, before label signs.

    Attributes
    ----------
    judges : int (k,), columns of the ballots, best first.
    times : float (n,), how many learn rows each row stands for: those that are alike in all that
        follows can be one. 1 for each unless :func:`features` is asked for ``distinct`` ones.
    votes : (n, k), signed votes: int8, or sparse where they are large and sparse.
    signs : float (n,), signs of the labels; 0 for rows that none of these judges voted on.
    groups : int (k,), near-copies share a number (:mod:`kernels.joint`).
    base : float (k,), one-coin weights; a group of m near-copies counts once, each by 1/m.
    score : float (n,), their sums from counts without the row's own unit.
    agreement, directions : see :mod:`kernels.joint`; ``None`` and (0, 0) without.
    span : float (n, r), agreement features; as many in every model of k judges.
    rate : prior rate of tau, ``CAUTION`` times the design effect of the one-coin sums.
    level : prior mean of the intercept, see :func:`prior_level`.
    bounded : bool (k,), judges whose vote may not count against what it says: all but those that
        are shown to be below chance (:func:`below_chance`). None where nobody is bounded.
    shrink : in [0, 1], how far features are centred, see :func:`centring`.
    scale, intercept : whether the model has tau and an intercept.
    """

    judges: Ints
    times: Floats
    votes: Cells
    signs: Floats
    groups: Ints
    base: Floats
    score: Floats
    agreement: Agreement | None
    directions: Floats
    span: Floats
    rate: float
    level: float
    bounded: NDArray[np.bool_] | None
    shrink: float
    scale: bool
    intercept: bool

    @property
    def dense(self) -> NDArray[np.int8]:
        """The votes (n, k) as an array."""
        return cells.dense_of(self.votes)

    def middle(self, columns: Floats | Cells) -> Floats:
        """Centre (q,) of features (n, q): the classes' midpoint, shrunk; each mean is shrunk by a
        zero row.
        """
        if not self.shrink:
            return np.zeros(columns.shape[1])
        share = np.zeros(len(self.signs))
        for sign in (1.0, -1.0):
            times = self.times * (self.signs == sign)
            share += times / (times.sum() + 1.0)
        return np.asarray(share @ columns * (self.shrink / 2.0), dtype=np.float64)

    def centre(self) -> Floats:
        """Centre (k + r + scale,) of votes, agreement and one-coin score."""
        beside = np.concatenate(self.beside(), axis=1)
        return np.concatenate([self.middle(self.votes), self.middle(beside)])

    def beside(self) -> list[Floats]:
        """Features after those of the votes: agreement (n, r), and one-coin scores (n, 1)."""
        return [self.span, self.score[:, None]] if self.scale else [self.span]


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Right and wrong votes of k judges on n rows, and how far their errors go together.

    Attributes
    ----------
    right : (n, k), +1 where a vote was right, -1 where it was wrong, 0 where it is missing.
    times : float (n,), how many rows each row stands for.
    correct, voted : float (k,), right votes and votes.
    """

    right: Cells
    times: Floats
    correct: Floats
    voted: Floats

    def design_effect(self, weights: Floats) -> float:
        """How many times the variance of a weighted sum of votes exceeds that under independent
        errors; at least 1, and 1 without votes.

        With e what is left of ``right`` without the judge's mean (shrunk by two votes of 0), it is
        sum_i (sum_j w_j e_ij)^2 / sum_ij (w_j e_ij)^2. For m judges with one error correlation rho
        and equal weights this is 1 + rho (m - 1) (Kish 1965): m judges are worth m divided by it.
        Cost: O(n k).
        """
        mean = (2.0 * self.correct - self.voted) / (self.voted + 2.0)
        wrong = self.voted - self.correct
        squares = self.correct * (1.0 - mean) ** 2 + wrong * (1.0 + mean) ** 2
        alone = float(np.vecdot(weights * weights, squares))
        together, sums = 0.0, cells.row_sums(self.right, weights, -weights * mean)
        for start in range(0, len(sums), cells.ROWS):
            rows = slice(start, start + cells.ROWS)
            together += float(np.vecdot(self.times[rows], sums[rows] * sums[rows]))
        return max(together / alone, 1.0) if alone > 0.0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What rows say of judges one by one, and of pairs: panels of any of the best share it.

    Attributes
    ----------
    judges : int (K,), columns of the ballots, best first; all else is in this order.
    correct, voted : float (K,), right votes and votes on these rows.
    copies : bool (q, q), which of the q best are near-copies; None where nobody is.
    """

    judges: Ints
    correct: Floats
    voted: Floats
    copies: NDArray[np.bool_] | None

    @classmethod
    def of(cls, ballots: Ballots, rows: Ints, judges: Ints, compared: int) -> Record:
        """Of some judges, the first ``compared`` of whom are compared with each other."""
        correct, voted = (total[judges] for total in counts(ballots, rows))
        pairs = None
        if compared:
            pairs = copies(ballots.part(rows, judges[:compared]), ballots.signs[rows])
        return cls(judges, correct, voted, pairs)


def features(
    ballots: Ballots,
    rows: Ints,
    judges: Ints,
    *,
    one_coin: bool,
    agreement: bool,
    monotone: bool = False,
    distinct: bool = False,
    record: Record | None = None,
) -> Features:
    """Everything a model may know of its learn rows.

    ``record`` is that of these rows, if it is known; ``judges`` are its first ones. ``distinct``
    makes rows one that are alike, where each item is a unit of its own.
    """
    if record is None:
        record = Record.of(ballots, rows, judges, len(judges) if one_coin else 0)
    k = len(judges)
    correct, voted = record.correct[:k], record.voted[:k]
    votes = ballots.part(rows, judges)
    labels, units = ballots.signs[rows], ballots.units[rows]
    signs = np.where(cells.has_votes(votes), labels, 0).astype(np.float64)
    groups = groups_among(record.copies, k) if one_coin else np.arange(k)
    shares = copy_shares(groups)
    weights = one_coin_weight(correct, voted)
    level = 0.0 if ballots.symmetric else prior_level(signs)
    alike, directions = None, np.zeros((0, 0))
    if agreement:
        alike, directions = agreement_among(votes, weights * np.sqrt(shares))
        directions = directions * np.sqrt(float(k))
    times = np.ones(len(rows))
    if distinct and isinstance(votes, np.ndarray) and splits.are_single(units):
        some, times = _distinct_rows(votes, labels)
        votes, labels, units, signs = votes[some], labels[some], units[some], signs[some]
    right = cells.signed(votes, labels)
    score = left_out_margins(right, units, correct, voted, shares) * signs
    base = weights * shares if one_coin else np.zeros_like(weights)
    verdicts = Verdicts(right, times, correct, voted)
    return Features(
        judges=judges,
        times=times,
        votes=votes,
        signs=signs,
        groups=groups,
        base=base,
        score=score,
        agreement=alike,
        directions=directions,
        span=np.zeros((len(units), 0)) if alike is None else alike.along(votes, directions),
        rate=CAUTION * verdicts.design_effect(base),
        level=level,
        bounded=~below_chance(right, units) if monotone else None,
        shrink=0.0 if ballots.symmetric else centring(score, signs, times),
        scale=one_coin,
        intercept=not ballots.symmetric,
    )


def _distinct_rows(votes: NDArray[np.int8], labels: NDArray[np.int8]) -> tuple[Ints, Floats]:
    """Rows that differ in votes or label, and how many there are of each."""
    codes = alike_rows(np.concatenate([labels[:, None], votes], axis=1))
    if codes is None:
        return np.arange(len(votes)), np.ones(len(votes))
    _, some, times = np.unique(codes, return_index=True, return_counts=True)
    return some, times.astype(np.float64)


def below_chance(right: Cells, units: Ints) -> NDArray[np.bool_]:
    """Judges (k,) whose accuracy has a 95 % interval below 1/2, counted by units.

    ``right`` (n, k) is +1 where a vote was right, -1 where it was wrong.
    """
    below = np.zeros(right.shape[1], dtype=bool)
    for start in range(0, len(below), _COLUMNS):
        block = cells.dense_of(right[:, start : start + _COLUMNS])
        p = clustered.below_half_p(clustered.unit_counts(block > 0, block != 0, units))
        below[start : start + _COLUMNS] = p < BELOW
    return below


def centring(score: Floats, signs: Floats, times: Floats | None = None) -> float:
    """How far the midpoint of the classes' mean scores differs from 0 by more than noise."""
    times = np.ones(len(signs)) if times is None else times
    mean, error = 0.0, 0.0
    for of_class in (signs > 0, signs < 0):
        own, often = score[of_class], times[of_class]
        n = float(often.sum())
        if n < 2.0:
            return 0.0
        average = float(often @ own) / n
        mean += average / 2.0
        error += float(often @ (own - average) ** 2) / n**2 / 4.0
    return _shrinkage(mean, error)


def prior_level(signs: Floats) -> float:
    """Log-odds log((n1 + 1) / (n0 + 1)) of the labels, as far as it differs from 0."""
    ones, zeros = np.sum(signs > 0) + 1.0, np.sum(signs < 0) + 1.0
    level = float(np.log(ones / zeros))
    return level * _shrinkage(level, float(1.0 / ones + 1.0 / zeros))


def _shrinkage(mean: float, variance: float) -> float:
    """Shrinkage of one normal mean towards 0, positive part (James and Stein 1961), in [0, 1]."""
    return 1.0 - variance / mean**2 if mean * mean > variance else 0.0


def problem(example: Features) -> tuple[ridge.Problem, Floats]:
    """The ridge fit of one model on signed, centred features: votes, agreement, one-coin score,
    intercept; and their centre (k + r + scale,).
    """
    signed, centre = _signed(example, [example.dense, *example.beside()])
    return ridge.Problem(
        signed,
        example.times,
        n_weights=len(example.judges) + example.span.shape[1],
        rate=example.rate if example.scale else None,
        level=example.level if example.intercept else None,
    ), centre


def _signed(example: Features, columns: list[Any]) -> tuple[Floats, Floats]:
    """Columns (n, q) centred, with an intercept, times the label's sign; and their centre (q,)."""
    q = sum(part.shape[1] for part in columns)
    signed = np.empty((len(example.signs), q + example.intercept))
    features, signs = signed[:, :q], example.signs[:, None]
    np.concatenate(columns, axis=1, out=features)
    centre = example.middle(features)
    features -= centre
    features *= signs
    signed[:, q:] = signs
    return signed, centre


def design(batch: list[Features]) -> ridge.DenseDesign | ridge.SparseDesign:
    """Signed, centred features of a batch: votes, agreement, one-coin score, intercept.

    One large model with sparse votes keeps them sparse.
    """
    first = batch[0]
    if len(batch) == 1 and not isinstance(first.votes, np.ndarray):
        return ridge.SparseDesign.of(
            scipy.sparse.csr_array(cells.signed(first.votes, first.signs)),
            signs=first.signs,
            centre=first.middle(first.votes),
            beside=_signed(first, first.beside())[0],
        )
    return ridge.DenseDesign.of([problem(example)[0].features for example in batch])


def prior_of(batch: list[Features]) -> ridge.Prior:
    """The priors of the models of a batch."""
    first = batch[0]
    rate = np.array([example.rate for example in batch]) if first.scale else None
    level = np.array([example.level for example in batch]) if first.intercept else None
    return ridge.Prior(n_weights=len(first.judges) + first.span.shape[1], rate=rate, level=level)


def left_out_margins(
    right: Cells, units: Ints, correct: Floats, voted: Floats, shares: Floats
) -> Floats:
    """One-coin scores (n,), times the label's sign, from counts without the item's own unit.

    ``right`` (n, k) is +1 where a vote was right, -1 where it was wrong; ``correct`` and ``voted``
    (k,) are its counts, ``shares`` (k,) is what each judge counts.
    """
    if splits.are_single(units):
        return _alone(right, correct, voted, shares)
    codes, _ = splits.unit_codes(units)
    member = scipy.sparse.csr_array((np.ones(len(units)), (codes, np.arange(len(units)))))

    def of_unit(cell: Floats) -> Floats:
        return np.asarray(member @ cell)[codes]

    total = np.zeros(len(units))
    for start in range(0, right.shape[1], _COLUMNS):
        block = slice(start, start + _COLUMNS)
        columns = right[:, block].astype(np.float64)
        cell = columns if isinstance(columns, np.ndarray) else columns.toarray()
        own, cast = of_unit(cell), of_unit(np.abs(cell))
        rest = voted[block] - cast
        weights = one_coin_weight(correct[block] - (cast + own) / 2.0, rest) * shares[block]
        total += np.vecdot(cell, weights)
    return total


def _alone(right: Cells, correct: Floats, voted: Floats, shares: Floats) -> Floats:
    """The same without groups: a weight for the judge's right votes, and one for its wrong ones."""
    when_right = np.log(np.maximum(correct, 1.0)) - np.log(voted - correct + 1.0)
    when_wrong = np.log(correct + 1.0) - np.log(np.maximum(voted - correct, 1.0))
    mean = shares * (when_right + when_wrong) / 2.0
    half = shares * (when_right - when_wrong) / 2.0
    return cells.row_sums(right, mean, half)


CS = tuple(float(c) for c in np.geomspace(1e-4, 1.0, 9))
BATCH_CELLS = 300_000


@dataclass(frozen=True, slots=True, eq=False)
class JointPanel:
    """A fitted panel: logit = intercept + sum of V_j w_j + what agreement adds.

    Attributes
    ----------
    judges : int (k,), columns of the ballots; all else is in this order.
    weights : float (k,), w = tau * (one-coin weights) + delta.
    intercept : 0 under ``symmetric``.
    tau : how much of the one-coin weights is in the weights; 0 for stacking.
    agreement : similarity to m prototypes, None for a panel that is linear in the votes.
    agreement_weights : float (m,), what similarity to each prototype adds.
    Cs, C_weights, cv_nll : float (n_C,), the ridges, their share in the panel, and the NLL of each
        on folds left out; ``cv_nll`` is None where there was one C, or one fold only: the smallest
        C is taken then.
    """

    judges: Ints
    weights: Floats
    intercept: float
    tau: float
    agreement: Agreement | None
    agreement_weights: Floats
    Cs: Floats
    C_weights: Floats
    cv_nll: Floats | None

    def logits(self, votes: NDArray[np.int8]) -> Floats:
        """Raw logits (n,) of signed votes (n, n_judges); 0 where none of the judges voted."""
        return self._logits(
            np.arange(len(votes)),
            lambda rows: cells.cells_of(cells.taken(votes, rows, self.judges)),
        )

    def scores(self, ballots: Ballots, rows: Ints) -> Floats:
        """The same of the votes on some items (n,) of ballots."""
        return self._logits(rows, lambda block: ballots.part(block, self.judges))

    def _logits(self, rows: Ints, votes_on: Callable[[Ints], Cells]) -> Floats:
        logits = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS):
            seen = votes_on(rows[start : start + _ROWS])
            sums = seen.astype(np.float64) @ self.weights + self.intercept
            if self.agreement is not None:
                sums += self.agreement.similarity(seen) @ self.agreement_weights
            logits[start : start + _ROWS] = np.where(cells.has_votes(seen), sums, 0.0)
        return logits


@dataclass(frozen=True, slots=True)
class Form:
    """What panels of one aggregator learn from. It is a ``Kernel`` (:mod:`kernels.prefixes`).

    Attributes
    ----------
    one_coin, agreement : whether the one-coin score and agreement with past items are features;
        joint has both, stacking neither.
    monotone : whether the weight of every judge is at least 0 unless the learn rows show the judge
        to be below chance. Agreement is not bounded.
    """

    one_coin: bool
    agreement: bool = False
    monotone: bool = False

    def panels(
        self,
        ballots: Ballots,
        fits: Sequence[Fit],
        k: int,
        ranking: Ranking = "accuracy",
        *,
        Cs: Sequence[float] = CS,
        learn: Callable[[Ints], Features] | None = None,
    ) -> list[JointPanel]:
        """Fit the panel of the ``k`` best judges of every fit.

        Parameters
        ----------
        fits : fits of one cross-fitting, which share the numbering of folds.
        Cs : ridges, ascending; each fit starts from that of the C before.
        learn : features of ``k`` columns of the ballots from the rows of a model, where they are
            not those of the k best judges.
        """
        fitted = _fit_sizes(ballots, fits, [k], ranking, self, Cs, learn)
        return [panels[0] for panels in fitted]

    def __call__(
        self, ballots: Ballots, fits: Sequence[Fit], ks: Ints, ranking: Ranking
    ) -> list[Floats]:
        fitted = _fit_sizes(ballots, fits, ks.tolist(), ranking, self, CS)
        return [
            np.stack([panel.scores(ballots, fit.score) for panel in panels])
            for fit, panels in zip(fits, fitted, strict=True)
        ]


stacking = Form(one_coin=False)
joint = Form(one_coin=True, agreement=True)
stacking_monotone = Form(one_coin=False, monotone=True)
joint_monotone = Form(one_coin=True, monotone=True)


def _fit_sizes(
    ballots: Ballots,
    fits: Sequence[Fit],
    ks: Sequence[int],
    ranking: Ranking,
    form: Form,
    Cs: Sequence[float],
    learn: Callable[[Ints], Features] | None = None,
) -> list[list[JointPanel]]:
    """For every fit, the panels of its ``ks`` best judges; ``learn`` as in :meth:`Form.panels`."""
    problems, outer, inner = _plan(fits, choose=len(Cs) > 1)
    records = {} if learn is not None else _records(ballots, problems, ks, ranking, form)

    def features_of(k: int, left: _Left) -> Features:
        if learn is not None:
            return learn(problems[left])
        return features(
            ballots,
            problems[left],
            records[left].judges[:k],
            one_coin=form.one_coin,
            agreement=form.agreement,
            monotone=form.monotone,
            distinct=not form.monotone,
            record=records[left],
        )

    def fitted(batch: list[tuple[int, _Left]]) -> list[_Model]:
        learned = [features_of(k, left) for k, left in batch]
        return _fit(learned, Cs)

    batches = list(_batches(problems, ks, of_one_size=form.monotone))
    models: dict[tuple[int, _Left], _Model] = {}
    for batch, result in zip(batches, threads.each(fitted, batches), strict=True):
        models.update(zip(batch, result, strict=True))
    ridges = np.asarray(Cs, dtype=np.float64)

    def averaged(number: int) -> list[JointPanel]:
        fit, own, left_out = fits[number], outer[number], inner[number]
        panels = []
        for k in ks:
            by_fold = {fold: models[k, left] for fold, left in left_out.items()}
            panels.append(_average(ballots, fit, models[k, own], by_fold, ridges))
        return panels

    return threads.each(averaged, range(len(fits)))


_Left = frozenset[int]
"""The folds that a model has not seen."""


def _records(
    ballots: Ballots, problems: dict[_Left, Ints], ks: Sequence[int], ranking: Ranking, form: Form
) -> dict[_Left, Record]:
    """What the rows of every model say of its best judges; panels of all sizes share it."""
    compared = max((k for k in ks if k <= MOST_JUDGES), default=0) if form.one_coin else 0

    def record(rows: Ints) -> Record:
        return Record.of(ballots, rows, rank(ballots, rows, ranking)[: max(ks)], compared)

    return dict(zip(problems, threads.each(record, list(problems.values())), strict=True))


def _plan(
    fits: Sequence[Fit], *, choose: bool
) -> tuple[dict[_Left, Ints], list[_Left], list[dict[int, _Left]]]:
    """Rows of every model to be fitted; for each fit its own model and its inner ones by fold."""
    everywhere = set[int]().union(*(fit.fold.tolist() for fit in fits))
    problems: dict[_Left, Ints] = {}
    outer: list[_Left] = []
    inner: list[dict[int, _Left]] = []
    for fit in fits:
        present = sorted(set(fit.fold.tolist()))
        own = frozenset(everywhere.difference(present))
        problems.setdefault(own, fit.learn)
        outer.append(own)
        left_out = {fold: own | {fold} for fold in present} if choose and len(present) > 1 else {}
        inner.append(left_out)
        for fold, left in left_out.items():
            problems.setdefault(left, fit.learn[fit.fold != fold])
    return problems, outer, inner


def _batches(
    problems: dict[_Left, Ints], ks: Sequence[int], *, of_one_size: bool
) -> Iterator[list[tuple[int, _Left]]]:
    """Models, so many that their votes stay within ``BATCH_CELLS``; of one panel size if asked."""
    batch: list[tuple[int, _Left]] = []
    total = 0
    order = sorted(problems, key=lambda left: -len(problems[left]))
    for k, left in ((k, left) for k in sorted(ks, reverse=True) for left in order):
        rows = len(problems[left])
        full = total + rows * k > BATCH_CELLS
        if batch and (full or (of_one_size and k != batch[0][0])):
            yield batch
            batch, total = [], 0
        batch.append((k, left))
        total += rows * k
    yield batch


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """One model at every C: ``weights`` (n_C, k), ``intercept`` and ``tau`` (n_C,); ``pull``
    (n_C, m) are the weights of the prototypes.
    """

    judges: Ints
    weights: Floats
    intercept: Floats
    tau: Floats
    agreement: Agreement | None
    pull: Floats

    def logits(self, seen: Cells) -> Floats:
        """Logits (n_C, n) of signed votes (n, k) of its judges."""
        values = self.weights @ seen.T.astype(np.float64) + self.intercept[:, None]
        if self.agreement is not None:
            values += self.pull @ self.agreement.similarity(seen).T
        return np.asarray(values)


def _fit(batch: list[Features], Cs: Sequence[float]) -> list[_Model]:
    """Models of a batch along the path of ridges."""
    if all(example.bounded is None and isinstance(example.votes, np.ndarray) for example in batch):
        taught = [problem(example) for example in batch]
        optima = ridge.solve_paths([fit for fit, _ in taught], Cs)
        fitted = zip(batch, optima, taught, strict=True)
        return [_model(example, path, centre) for example, path, (_, centre) in fitted]
    prior = prior_of(batch)
    bounded = [example.bounded for example in batch if example.bounded is not None]
    floor: ridge.Floor | None = None
    if len(bounded) == len(batch):
        base = np.stack([example.base for example in batch])
        tau = prior.n_weights if batch[0].scale else None
        floor = ridge.Floor(np.stack(bounded), base, tau)
    paths = ridge.solve_path(design(batch), prior, Cs, floor, problems=len(batch))
    return [_model(example, paths[:, b], example.centre()) for b, example in enumerate(batch)]


def _model(example: Features, optima: Floats, centre: Floats) -> _Model:
    """A model in terms of raw votes, from parameters (n_C, p) of features around a centre."""
    k, r = len(example.judges), example.span.shape[1]
    none: Floats = np.zeros(len(optima))
    tau = optima[:, k + r] if example.scale else none
    level = optima[:, -1] - optima[:, : len(centre)] @ centre if example.intercept else none
    return _Model(
        judges=example.judges,
        weights=optima[:, :k] + tau[:, None] * example.base,
        intercept=level,
        tau=tau,
        agreement=example.agreement,
        pull=optima[:, k : k + r] @ example.directions.T,
    )


def _average(
    ballots: Ballots, fit: Fit, own: _Model, left_out: dict[int, _Model], Cs: Floats
) -> JointPanel:
    """The fit's own model, every C weighed by its likelihood on the folds that were left out."""
    total, scored = np.zeros(len(Cs)), 0
    for fold, model in left_out.items():
        rows = fit.learn[fit.fold == fold]
        seen = ballots.part(rows, model.judges)
        some = cells.has_votes(seen)
        margins = model.logits(seen[some]) * ballots.signs[rows[some]]
        total += maps.softplus(-margins).sum(axis=1)
        scored += len(margins[0])
    shares = np.exp(total.min() - total) if scored else np.eye(len(Cs))[0]
    shares /= shares.sum()
    return JointPanel(
        judges=own.judges,
        weights=shares @ own.weights,
        intercept=float(shares @ own.intercept),
        tau=float(shares @ own.tau),
        agreement=own.agreement,
        agreement_weights=shares @ own.pull,
        Cs=Cs,
        C_weights=shares,
        cv_nll=total / scored if scored else None,
    )
