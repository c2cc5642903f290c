"""Juries of judges with independent errors: exact errors and theoretical bounds.

All functions take signed votes (n_items, n_judges), best judge first, and consider the k best
judges who voted on an item; missing votes are ignored. Ties, and items without votes, count as half
an error. The results are what independence implies, for comparison with a panel's observed errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints, Votes

_MOST_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class JuryExponents:
    """Exponents of error bounds, each (n_k, n_items) and at least 0.

    ``jury`` is sum C_k: the best weighting errs with probability at most exp(-jury) / 2 (the
    paper's calibrated jury theorem). ``weighted`` and ``majority`` are Hoeffding's E: those votes
    err with probability at most exp(-E).
    """

    jury: Floats
    weighted: Floats
    majority: Floats


def independent_majority_error(votes: Votes, accuracies: Floats, ks: Ints) -> Floats:
    """Exact error (n_k, n_items) of a majority vote of independent judges, by item.

    The number of right votes is Poisson-binomial over the judges who voted; its distribution is
    updated judge by judge for all items at once. Time is O(votes x votes per item), memory
    O(n_items x votes per item).

    Parameters
    ----------
    accuracies : float (n_judges,) in [0, 1].
    ks : int (n_k,), increasing, in 1..n_judges.
    """
    voted = votes != 0
    n, most = len(votes), int(voted.sum(axis=1).max(initial=0))
    state = np.zeros((n, most + 1))
    state[:, 0] = 1.0
    cast = np.zeros(n, dtype=np.int64)
    errors = np.empty((len(ks), n))
    start = 0
    for j, p in enumerate(accuracies[: int(ks[-1])]):
        rows: slice | Ints = slice(None) if voted[:, j].all() else np.flatnonzero(voted[:, j])
        part = state[rows]
        right = part[:, :-1] * p
        part = part * (1.0 - p)
        part[:, 1:] += right
        state[rows] = part
        cast[rows] += 1
        if j + 1 == ks[start]:
            errors[start] = _half_tail(state, cast)
            start += 1
    return errors


def independent_error_slopes(votes: Votes, accuracies: Floats, ks: Ints) -> Floats:
    """Mean over items of d error / d accuracy of every judge, (n_k, n_judges), at most 0.

    The error of :func:`independent_majority_error` is affine in each accuracy: its slope is minus
    the probability that the other votes leave the decision to that judge, P(Y = t) among 2 t + 1
    votes and (P(Y = t - 1) + P(Y = t)) / 2 among 2 t. These come from the characteristic function
    of all votes with that judge divided out (Hong 2013, doi:10.1016/j.csda.2012.10.006, gives the
    transform), at an odd number of frequencies, among which a judge at 1/2 has no zero. Slopes are
    0 for judges beyond a prefix and on items they did not vote on. Memory is bounded; time is
    O(n_items x n_judges x votes per item) per prefix.
    """
    n, n_judges = votes.shape
    voted = votes != 0
    n_frequencies = int(voted.sum(axis=1).max(initial=0)) | 1
    angles = 2.0 * np.pi * np.arange((n_frequencies + 1) // 2) / n_frequencies
    one_vote = 1.0 + accuracies[:, None] * (np.exp(1j * angles) - 1.0)
    logs, halves = np.log(one_vote), np.where(angles > 0, 2.0, 1.0) / n_frequencies
    values = np.zeros((len(ks), n_judges))
    block = max(1, _MOST_CELLS // max(n_judges, len(angles)))
    for start in range(0, n, block):
        cast = voted[start : start + block].astype(np.float64)
        total = np.zeros((len(cast), len(angles)), dtype=np.complex128)
        n_before = 0
        for row, k in enumerate(ks):
            total += cast[:, n_before:k] @ logs[n_before:k]
            n_before = int(k)
            number = cast[:, :k].sum(axis=1)[:, None]
            upper, lower = number // 2, (number - 1) // 2
            turns = (np.exp(-1j * upper * angles) + np.exp(-1j * lower * angles)) / 2.0
            decided = np.exp(total) * turns * halves
            values[row, :k] -= ((cast[:, :k].T @ decided) / one_vote[:k]).real.sum(axis=1)
    return np.asarray(values / max(n, 1))


def _half_tail(state: Floats, cast: Ints) -> Floats:
    """P(right < wrong) + P(tie) / 2 of distributions (n, most + 1) of right votes."""
    twice = 2 * np.arange(state.shape[1])
    fewer = np.vecdot(state, (twice < cast[:, None]).astype(np.float64))
    tied = np.vecdot(state, (twice == cast[:, None]).astype(np.float64))
    return np.asarray(np.clip(fewer + tied / 2.0, 0.0, 1.0))


def jury_exponents(votes: Votes, accuracies: Floats, ks: Ints) -> JuryExponents:
    """Exponents by item and prefix; ``accuracies`` (n_judges,) lie inside (0, 1).

    C_k = -log(1 - (2 p_k - 1)^2) / 2, for weights log(p / (1 - p)) (the paper, theorem 1). E = (sum
    (2 p - 1) w)^2 / (2 sum w^2), w those weights or 1 (the paper's appendix; Hoeffding 1963,
    doi:10.2307/2282952); a majority of judges that are wrong on average has no such bound, so its E
    is 0.
    """
    voted = (votes != 0).astype(np.float64)
    edge = 2.0 * accuracies - 1.0
    weight = np.log(accuracies) - np.log1p(-accuracies)

    def sums(values: Floats) -> Floats:
        return np.asarray(np.cumsum(voted * values, axis=1)[:, ks - 1].T)

    return JuryExponents(
        jury=sums(-0.5 * np.log1p(-(edge**2))),
        weighted=_hoeffding(sums(edge * weight), sums(weight**2)),
        majority=_hoeffding(sums(edge), sums(np.ones(len(edge)))),
    )


def _hoeffding(lean: Floats, squares: Floats) -> Floats:
    """lean^2 / (2 squares) if the lean is to the right side, else 0."""
    square = np.maximum(lean, 0.0) ** 2
    return np.asarray(np.divide(square, 2.0 * squares, out=np.zeros_like(lean), where=squares > 0))


def majority_errors(votes: Votes, signs: NDArray[np.int8], ks: Ints) -> Floats:
    """Observed error (n_k, n_items) in {0, 1/2, 1} of a majority of the first k judges."""
    lean = np.cumsum(votes * signs[:, None], axis=1, dtype=np.int64)[:, ks - 1].T
    return np.asarray((1.0 - np.sign(lean)) / 2.0)


def equivalent_jury(error: float, accuracy: float, most: int) -> float:
    """Number of independent judges of one ``accuracy`` with this majority error, in [1, ``most``].

    The logarithm of the error is interpolated linearly between odd numbers (an even number errs as
    often as one judge fewer). NaN if the accuracy is not above 1/2: more judges do not help then.
    """
    if not accuracy > 0.5 or not np.isfinite(error):
        return float("nan")
    sizes = np.arange(1, max(most, 1) + 1, 2)
    tails = np.asarray(scipy.stats.binom.logcdf((sizes - 1) // 2, sizes, accuracy))
    if error <= 0.0:
        return float(most)
    size = float(np.interp(-np.log(error), -tails, sizes))
    return float(most) if -np.log(error) >= -tails[-1] else size
