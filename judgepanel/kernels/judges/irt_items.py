"""Item difficulties of the 2PL model integrated out: posteriors, expected counts, likelihood.

With logits eta = alpha_j (theta_j - beta), the log-likelihood of an item's marks at difficulty beta
is the sum of eta over the judges that were right plus the sum of log(1 - P) over those that voted.
The first sum is linear in beta, so right marks enter by two matrix-vector products; the second is
one column sum for all items, minus the part of judges that did not vote. Complete marks therefore
cost O(items x judges + items x points), not O(items x judges x points).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from judgepanel.arrays import Floats

VOTES_TO_EXPAND = 10
_BLOCK_CELLS = 2_000_000
_SPARSE_SHARE = 0.1
_DENSE_CELLS = 20_000_000
_TAIL = 6.0
_COARSE_POINTS = 65


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Right and wrong marks as matrices, each in the form that makes products cheap.

    ``right`` (n_items, n_judges) is 1 where a judge was right. ``mask`` of the same shape is 1
    where a judge voted, or where it did not if ``inverted``; both are dense or CSR. ``complete``
    means that every judge voted on every item, ``is_sparse`` that ``mask`` is CSR. ``n_right`` and
    ``n_voted`` are (n_judges,), ``most_votes`` is the maximum over items. ``few_votes`` means fewer
    than ``VOTES_TO_EXPAND`` votes per item on average.
    """

    right: Any
    mask: Any
    inverted: bool
    complete: bool
    is_sparse: bool
    n_right: Floats
    n_voted: Floats
    most_votes: int
    few_votes: bool

    @property
    def n_items(self) -> int:
        return int(self.right.shape[0])

    def voted(self, rows: slice) -> Floats:
        """Dense (n_rows, n_judges): 1 where a judge voted, else 0."""
        mask = self.mask[rows]
        dense = np.asarray(mask.toarray() if self.is_sparse else mask)
        return 1.0 - dense if self.inverted else dense


@dataclass(frozen=True, slots=True, eq=False)
class ItemPosterior:
    """Statistics of the items for the judges' update.

    ``points`` (Q,) are difficulties; ``counts``, ``spread`` and ``spread_squared`` are (n_judges or
    1, Q): expected number of voted items at each point, unweighted and weighted by the item's
    posterior variance or by its square. ``mean``, ``variance`` (n_items,) are of the posterior of
    beta; ``log_likelihood`` is the sum over items of the log of the integral. ``information`` (3,
    n_judges) is the sum of outer products of mean scores in (theta, log alpha), tt, ta, aa, if
    items have few votes, else None.
    """

    points: Floats
    counts: Floats
    spread: Floats
    spread_squared: Floats
    mean: Floats
    variance: Floats
    log_likelihood: float
    information: Floats | None


def as_marks(marks: NDArray[np.int8]) -> Marks:
    """Marks int8 (n_items, n_judges) in {-1 wrong, 0 no vote, +1 right} as matrices."""
    voted = marks != 0
    inverted = bool(voted.mean() > 0.5)
    mask = _matrix(~voted if inverted else voted)
    return Marks(
        right=_matrix(marks > 0),
        mask=mask,
        inverted=inverted,
        complete=bool(voted.all()),
        is_sparse=sparse.issparse(mask),
        n_right=(marks > 0).sum(axis=0).astype(np.float64),
        n_voted=voted.sum(axis=0).astype(np.float64),
        most_votes=int(voted.sum(axis=1).max(initial=0)),
        few_votes=bool(voted.sum() < VOTES_TO_EXPAND * len(voted)),
    )


def _matrix(flags: NDArray[np.bool_]) -> Any:
    if flags.mean() < _SPARSE_SHARE or flags.size > _DENSE_CELLS:
        return sparse.csr_array(flags, dtype=np.float64)
    return flags.astype(np.float64)


def log_wrong(eta: Floats) -> Floats:
    """log(1 - P) = -log(1 + exp(eta)), without overflow."""
    return np.asarray(-np.maximum(eta, 0.0) - np.log1p(np.exp(-np.abs(eta))))


def quadrature(theta: Floats, alpha: Floats, most_votes: int) -> Floats:
    """Return equally spaced difficulties (Q,), fine and wide enough for every item's posterior.

    The step is at most the smallest posterior standard deviation an item can have, at which the
    trapezoid rule for a normal density has an error of 5e-9; the ends lie six standard deviations
    beyond the modes of items that every judge got wrong, or right. Step and ends are rounded (to
    powers of two, to integers), so they stay constant while parameters converge.
    """
    low, high = -_extreme_mode(-theta, alpha), _extreme_mode(theta, alpha)
    ends = (np.floor(min(low, 0.0) - _TAIL), np.ceil(max(high, 0.0) + _TAIL))
    coarse = np.linspace(*ends, _COARSE_POINTS)
    p = expit(alpha[:, None] * (theta[:, None] - coarse))
    information = np.sort(alpha[:, None] ** 2 * p * (1.0 - p), axis=0)[-max(most_votes, 1) :]
    finest = 1.0 / np.sqrt(1.0 + information.sum(axis=0).max())
    step = 2.0 ** np.floor(np.log2(finest))
    return np.asarray(np.arange(ends[0], ends[1] + step / 2, step))


def _extreme_mode(theta: Floats, alpha: Floats) -> float:
    """Posterior mode of an item that every judge got wrong: b = sum alpha P(b), by bisection."""
    low, high = 0.0, float(alpha.sum())
    for _ in range(30):
        middle = (low + high) / 2
        above = float(alpha @ expit(alpha * (theta - middle))) > middle
        low, high = (middle, high) if above else (low, middle)
    return high


def item_posterior(marks: Marks, theta: Floats, alpha: Floats) -> ItemPosterior:
    """Posterior of every beta ~ N(0, 1) given the judges, (n_judges,) each."""
    points = quadrature(theta, alpha, marks.most_votes)
    counts = np.zeros((1 if marks.complete else len(theta), len(points)))
    spread, squared = np.zeros_like(counts), np.zeros_like(counts)
    mean, variance = np.empty(marks.n_items), np.empty(marks.n_items)
    total = 0.0
    information = np.zeros((3, len(theta))) if marks.few_votes else None
    for rows, density, log_mass in _densities(marks, theta, alpha, points):
        mean[rows] = density @ points
        variance[rows] = np.maximum(density @ points**2 - mean[rows] ** 2, 0.0)
        total += float(log_mass.sum())
        counts += _voted_sums(marks, rows, density, np.ones(len(density)))
        spread += _voted_sums(marks, rows, density, variance[rows])
        squared += _voted_sums(marks, rows, density, variance[rows] ** 2)
        if information is not None:
            information += _score_products(marks, rows, density, theta, alpha, points)
    return ItemPosterior(points, counts, spread, squared, mean, variance, total, information)


def _score_products(
    marks: Marks, rows: slice, density: Floats, theta: Floats, alpha: Floats, points: Floats
) -> Floats:
    """Products (3, n_judges) of posterior mean scores, summed over the votes of these items."""
    items, judges = np.nonzero(marks.voted(rows))
    distance = theta[:, None] - points
    wrong = expit(alpha[:, None] * distance)
    result = np.zeros((3, len(theta)))
    step = max(1, _BLOCK_CELLS // len(points))
    for start in range(0, len(items), step):
        i, j = items[start : start + step], judges[start : start + step]
        right = np.asarray(marks.right[rows][i, j]).ravel()[:, None]
        score = density[i] * (right - wrong[j]) * alpha[j, None]
        pull, turn = score.sum(axis=1), (score * distance[j]).sum(axis=1)
        for k, product in enumerate((pull**2, pull * turn, turn**2)):
            result[k] += np.bincount(j, weights=product, minlength=len(theta))
    return result


def right_probability(marks: Marks, theta: Floats, alpha: Floats) -> Floats:
    """Posterior mean of P(right) for every item and judge, voted or not, (n_items, n_judges)."""
    points = quadrature(theta, alpha, marks.most_votes)
    curve = expit(alpha * (theta - points[:, None]))
    result = np.empty(marks.right.shape)
    for rows, density, _ in _densities(marks, theta, alpha, points):
        result[rows] = density @ curve
    return np.clip(result, 0.0, 1.0)


def _densities(
    marks: Marks, theta: Floats, alpha: Floats, points: Floats
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield item blocks: rows, posterior masses (n_rows, Q), log likelihoods (n_rows,)."""
    table = log_wrong(alpha[:, None] * (theta[:, None] - points))
    offset = marks.right @ (alpha * theta)
    slope = marks.right @ alpha
    prior = -0.5 * points**2
    prior -= np.log(np.exp(prior).sum())
    step = max(1, _BLOCK_CELLS // len(points))
    for start in range(0, marks.n_items, step):
        rows = slice(start, start + step)
        density = prior - slope[rows, None] * points
        density += _voted_part(marks, rows, table)
        top = density.max(axis=1)
        density -= top[:, None]
        np.exp(density, out=density)
        mass = density.sum(axis=1)
        density /= mass[:, None]
        yield rows, density, np.log(mass) + top + offset[rows]


def _voted_part(marks: Marks, rows: slice, table: Floats) -> Floats:
    """Sum of the table's rows over the judges that voted, (n_rows, Q) or (1, Q)."""
    if not marks.inverted:
        return np.asarray(marks.mask[rows] @ table)
    everyone = table.sum(axis=0)[None, :]
    return everyone if marks.complete else np.asarray(everyone - marks.mask[rows] @ table)


def _voted_sums(marks: Marks, rows: slice, density: Floats, weight: Floats) -> Floats:
    """Weighted densities summed over the items each judge voted on, (n_judges, Q) or (1, Q)."""
    everyone = (weight @ density)[None, :]
    if marks.complete:
        return everyone
    mask = marks.mask[rows]
    weighted = mask.multiply(weight[:, None]).tocsr() if marks.is_sparse else mask * weight[:, None]
    part = np.asarray(weighted.T @ density)
    return everyone - part if marks.inverted else part
