"""Error correlations of all pairs of judges, and the effective number of judges of a panel.

Everything follows from three K x K tables of counts over the items that two judges both voted on,
each a matrix product; memory is a dozen K x K arrays and one block of items, whatever n_items.
Swapping the two responses of an item changes neither errors nor any figure here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats
from judgepanel.kernels.aggregate.vote_cells import signed
from judgepanel.scoring.single import single_product

if TYPE_CHECKING:
    from judgepanel.kernels.aggregate.vote_cells import Cells


PRIOR_ITEMS = 50.0
_BLOCK_CELLS = 8_000_000
_SPARSE_DENSITY = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class ErrorCounts:
    """Float (n_judges, n_judges) counts over items both judges voted on.

    ``joint[j, k]`` counts those items, ``wrong[j, k]`` those on which j erred, ``both[j, k]`` those
    on which both did. The diagonals are a judge's own votes and errors.
    """

    joint: Floats
    wrong: Floats
    both: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ErrorCorrelation:
    """Correlations of 0/1 errors.

    ``value`` float (n_judges, n_judges) in [-1, 1], symmetric, diagonal 1: shrunk towards ``mean``
    according to the uncertainty of a pair, equal to ``mean`` for unknown pairs. ``known`` bool,
    same shape: at least two joint items, and both judges sometimes right and sometimes wrong.
    ``mean`` is the mean over pairs, ``spread`` the standard deviation of the true correlations
    about it, without sampling noise; both NaN if no pair is known.
    """

    value: Floats
    known: Bools
    mean: float
    spread: float


def error_counts(votes: Cells, signs: NDArray[np.int8]) -> ErrorCounts:
    """Return exact counts; ``votes`` (n_items, n_judges) in {-1, 0 missing, 1}, ``signs`` (n,)."""
    n_judges = votes.shape[1]
    joint, wrong, both = (np.zeros((n_judges, n_judges)) for _ in range(3))
    step = max(1, _BLOCK_CELLS // max(n_judges, 1))
    for start in range(0, len(signs), step):
        voted, wrongly = _marks(votes[start : start + step], signs[start : start + step])
        joint += _dense(single_product(voted.T, voted))
        wrong += _dense(single_product(wrongly.T, voted))
        both += _dense(single_product(wrongly.T, wrongly))
    return ErrorCounts(joint, wrong, both)


def _marks(votes: Cells, signs: NDArray[np.int8]) -> tuple[Any, Any]:
    """Return where votes are, and where they are wrong."""
    if isinstance(votes, np.ndarray):
        held = votes != 0
        return _matrix(held), _matrix(held & (votes != signs[:, None]))
    wrongly = signed(votes, signs) < 0.0
    return abs(votes).astype(np.float32), wrongly.astype(np.float32)


def _matrix(marks: Bools) -> Any:
    """Return marks as float32, sparse if few are set."""
    if np.count_nonzero(marks) < _SPARSE_DENSITY * marks.size:
        return scipy.sparse.csr_array(marks, dtype=np.float32)
    return marks.astype(np.float32)


def _dense(product: Any) -> Any:
    return product.toarray() if isinstance(product, scipy.sparse.csr_array) else product


def error_correlation(counts: ErrorCounts) -> ErrorCorrelation:
    """Correlation of every pair, the mean over pairs and their spread (docs/redundancy.md).

    A pair's estimate is its unbiased covariance on joint items divided by the standard deviations
    of both judges there, whose error rates are shrunk to each judge's overall rate as if it had
    ``PRIOR_ITEMS`` more joint items. With complete votes this is the phi coefficient. Estimates are
    then shrunk to their mean as in a random-effects meta-analysis (DerSimonian and Laird 1986,
    doi:10.1016/0197-2456(86)90046-2).
    """
    n = counts.joint
    own = np.diag(n)
    rate = np.diag(counts.wrong) / np.maximum(own, 1.0)
    here = (counts.wrong + PRIOR_ITEMS * rate[:, None]) / (n + PRIOR_ITEMS)
    variance = here * (1.0 - here) * (own / np.maximum(own - 1.0, 1.0))[:, None]
    scale = np.sqrt(variance * variance.T)
    known = (n >= 2.0) & (scale > 0.0)
    np.fill_diagonal(known, False)
    covariance = counts.both - counts.wrong * counts.wrong.T / np.maximum(n, 1.0)
    covariance /= np.maximum(n - 1.0, 1.0)
    raw = np.divide(covariance, scale, out=np.zeros_like(scale), where=known)
    if not known.any():
        return ErrorCorrelation(np.eye(len(n)), known, float("nan"), float("nan"))
    skew = (1.0 - 2.0 * rate) / np.sqrt(np.maximum(rate * (1.0 - rate), 1e-12))
    mean, spread = _random_effects(raw, n, known, skew)
    trust = n / (n + PRIOR_ITEMS)
    noise = _noise(trust * raw + (1.0 - trust) * mean, n, skew)
    weight = np.divide(
        spread**2, spread**2 + noise, out=np.zeros_like(noise), where=spread**2 + noise > 0
    )
    value = np.clip(np.where(known, mean + weight * (raw - mean), mean), -1.0, 1.0)
    np.fill_diagonal(value, 1.0)
    return ErrorCorrelation(value, known, mean, spread)


def _random_effects(raw: Floats, n: Floats, known: Bools, skew: Floats) -> tuple[float, float]:
    """Mean over pairs and standard deviation of the true correlations about it."""
    pairs = np.triu(known)
    correlations, extra = raw[pairs], n[pairs] - 1.0
    pooled = float(np.clip(extra @ correlations / extra.sum(), -1.0, 1.0))
    noise = _noise(np.full_like(raw, pooled), n, skew)[pairs]
    excess = float(extra @ ((correlations - pooled) ** 2 - noise) / extra.sum())
    spread = float(np.sqrt(max(0.0, excess)))
    weight = 1.0 / np.maximum(spread**2 + noise, 1e-12)
    return float(np.clip(weight @ correlations / weight.sum(), -1.0, 1.0)), spread


def _noise(rho: Floats, n: Floats, skew: Floats) -> Floats:
    """Sampling variance of an estimate about a true correlation ``rho``, by the delta method.

    ``share`` is the share of joint items among those behind the standard deviations: at 0 these are
    effectively known; at 1 they are estimated on the same items. Errors are 0 or 1, so all moments
    follow from their skewness.
    """
    product = skew[:, None] * skew
    squares = skew[:, None] ** 2 + skew**2
    given = 1.0 + product * rho - rho**2
    estimated = 1.0 - rho**2 + product * rho * (1.0 + rho**2 / 2.0) - 0.75 * rho**2 * squares
    own = np.sqrt(np.diag(n))
    share = (n + PRIOR_ITEMS * n / np.maximum(own[:, None] * own, 1.0)) / (n + PRIOR_ITEMS)
    blend = share * np.maximum(estimated, 0.0) + (1.0 - share) * np.maximum(given, 0.0)
    normal = (1.0 - rho**2) ** 2  # value without skewness; small counts can undershoot
    return np.asarray(np.maximum(blend, normal) / np.maximum(n - 1.0, 1.0))


def effective_number(n_judges: int, mean: float) -> float:
    """K / (1 + (K - 1) rho), in [1, K]: number of uncorrelated judges with the same error variance.

    The mean of K standardised errors has variance (1 + (K - 1) rho) / K, that of this many
    uncorrelated errors (the design effect, Kish 1965).
    """
    inflation = 1.0 + (n_judges - 1) * mean
    return float(n_judges) if inflation <= 1.0 else max(1.0, n_judges / inflation)


def dimensions(n_judges: int, mean: float, spread: float) -> float:
    """K / (1 + (K - 1) E[rho^2]), in [1, K]: participation ratio of the correlation matrix.

    (sum of eigenvalues)^2 / sum of squared eigenvalues. Reversing all votes of a judge changes only
    signs of correlations, so anti-experts count for the information they add.
    """
    return effective_number(n_judges, mean**2 + spread**2)
