"""Error correlations of all pairs of judges, and the effective number of judges of a panel.

Everything follows from three K x K tables of counts over the items that two judges both voted on,
each a matrix product; memory is a dozen K x K arrays and one block of items, whatever n_items.
Swapping the two responses of an item changes neither errors nor any figure here.

Clusters of judges that err together: average linkage on 1 - correlation, data-driven cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import ballots, maps
from judgepanel.scoring.metrics import single_product

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


def error_counts(votes: ballots.Cells, signs: NDArray[np.int8]) -> ErrorCounts:
    """Return exact counts; ``votes`` (n_items, n_judges) in {-1, 0 missing, 1}, ``signs`` (n,)."""
    n_judges = votes.shape[1]
    joint, wrong, both = (np.zeros((n_judges, n_judges)) for _ in range(3))
    for block in maps.column_blocks(len(signs), n_judges, _BLOCK_CELLS):
        voted, wrongly = _marks(votes[block], signs[block])
        joint += _dense(single_product(voted.T, voted))
        wrong += _dense(single_product(wrongly.T, voted))
        both += _dense(single_product(wrongly.T, wrongly))
    return ErrorCounts(joint, wrong, both)


def _marks(votes: ballots.Cells, signs: NDArray[np.int8]) -> tuple[Any, Any]:
    """Return where votes are, and where they are wrong."""
    if isinstance(votes, np.ndarray):
        held = votes != 0
        return _matrix(held), _matrix(held & (votes != signs[:, None]))
    wrongly = ballots.signed(votes, signs) < 0.0
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


ORDERED_JUDGES = 300
_TIE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A clustering of the judges.

    ``label`` int (n_judges,) is 1 for the largest cluster, 2 for the next, ... (ties by the first
    judge); 0 for a judge without a known pair. ``order`` int lists the judges with a label, similar
    judges adjacent and clusters contiguous. ``cut`` is the mean correlation at which clusters stop
    merging.
    """

    label: Ints
    order: Ints
    cut: float


@dataclass(frozen=True, slots=True)
class FamilyAgreement:
    """Agreement of clusters with given families, over the judges that have both.

    ``rand`` is the adjusted Rand index (Hubert and Arabie 1985, doi:10.1007/BF01908075): 1 if the
    partitions are equal, 0 on average by chance. ``within`` and ``between`` are mean error
    correlations of known pairs within a family and across families; NaN if there is no such pair.
    ``rand`` is NaN with fewer than two judges.
    """

    rand: float
    within: float
    between: float
    n_judges: int
    n_families: int


def cut_correlation(correlation: ErrorCorrelation) -> float:
    """Return the threshold between low and high pair correlations, never below their mean.

    It minimises the variance within the two groups of known pairs (Otsu 1979,
    doi:10.1109/TSMC.1979.4310076). It is infinite, so that nothing merges, if no correlation
    differs from the mean by more than chance.
    """
    values = np.sort(correlation.value[np.triu(correlation.known)])
    if len(values) < 2 or not correlation.spread > 0.0 or values[0] == values[-1]:
        return float("inf")
    below = np.cumsum(values)[:-1]
    count = np.arange(1, len(values))
    rest = len(values) - count
    gap = below / count - (values.sum() - below) / rest
    best = int(np.argmax(count * rest * gap**2))
    return max(float(values[best] + values[best + 1]) / 2.0, correlation.mean)


def clusters(correlation: ErrorCorrelation) -> Clusters:
    """Return clusters whose mean correlation is above the cut; time and memory O(K^2).

    Up to ``ORDERED_JUDGES`` judges the order makes adjacent judges as similar as possible
    (Bar-Joseph et al. 2001, doi:10.1093/bioinformatics/17.suppl_1.S22); beyond, it is that of the
    tree.
    """
    label = np.zeros(len(correlation.value), dtype=np.int64)
    judges = np.flatnonzero(correlation.known.any(axis=1))
    cut = cut_correlation(correlation)
    if len(judges) < 2:
        return Clusters(label, judges, cut)
    apart = scipy.spatial.distance.squareform(
        1.0 - correlation.value[np.ix_(judges, judges)], checks=False
    )
    tree = scipy.cluster.hierarchy.linkage(apart, "average")
    height = 1.0 - cut - _TIE
    labels: Ints = np.arange(len(judges))
    if np.isfinite(cut):
        labels = scipy.cluster.hierarchy.fcluster(tree, height, "distance").astype(np.int64)
    # The same partition numbered by size, then by first member.
    _, first, codes, size = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.lexsort((first, -size))] = np.arange(1, len(size) + 1)
    label[judges] = rank[codes]
    if len(judges) <= ORDERED_JUDGES:
        tree = scipy.cluster.hierarchy.optimal_leaf_ordering(tree, apart)
    return Clusters(label, judges[scipy.cluster.hierarchy.leaves_list(tree)], cut)


def mean_with(correlation: ErrorCorrelation, label: Ints) -> tuple[Floats, Floats]:
    """Mean correlation of each judge with its own cluster and with all others, (n_judges,) each.

    Known pairs only; NaN if there are none.
    """
    same = (label[:, None] == label) & (label > 0)
    own, rest = correlation.known & same, correlation.known & ~same
    return _row_means(correlation.value, own), _row_means(correlation.value, rest)


def _row_means(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    total, count = (values * chosen).sum(axis=1), chosen.sum(axis=1)
    return np.asarray(np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0))


def family_agreement(
    correlation: ErrorCorrelation, label: Ints, families: tuple[str, ...]
) -> FamilyAgreement:
    """Compare clusters with ``families`` (n_judges,), '' if a judge's family is unknown."""
    codes = np.unique(np.array(families, dtype=object), return_inverse=True)[1]
    given = np.array([name != "" for name in families])
    placed = given & (label > 0)
    pairs = np.triu(correlation.known) & given[:, None] & given
    same = codes[:, None] == codes
    rand = float("nan")
    if np.count_nonzero(placed) >= 2:
        # Imported here because sklearn imports scipy.stats, which scoring does not need.
        from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

        rand = float(adjusted_rand_score(codes[placed], label[placed]))
    return FamilyAgreement(
        rand=rand,
        within=_mean(correlation.value[pairs & same]),
        between=_mean(correlation.value[pairs & ~same]),
        n_judges=int(placed.sum()),
        n_families=len(np.unique(codes[placed])),
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
