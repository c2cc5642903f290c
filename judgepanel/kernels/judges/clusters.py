"""Clusters of judges that err together: average linkage on 1 - correlation, data-driven cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.judges.redundancy import ErrorCorrelation

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
    labels = (
        scipy.cluster.hierarchy.fcluster(tree, height, "distance")
        if np.isfinite(cut)
        else np.arange(len(judges))
    )
    label[judges] = _by_size(np.asarray(labels, dtype=np.int64))
    if len(judges) <= ORDERED_JUDGES:
        tree = scipy.cluster.hierarchy.optimal_leaf_ordering(tree, apart)
    return Clusters(label, judges[scipy.cluster.hierarchy.leaves_list(tree)], cut)


def _by_size(labels: Ints) -> Ints:
    """Return the same partition numbered by size, then by first member."""
    _, first, codes, size = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.lexsort((first, -size))] = np.arange(1, len(size) + 1)
    return rank[codes]


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
    return FamilyAgreement(
        rand=_rand(codes[placed], label[placed]),
        within=_mean(correlation.value[pairs & same]),
        between=_mean(correlation.value[pairs & ~same]),
        n_judges=int(placed.sum()),
        n_families=len(np.unique(codes[placed])),
    )


def _rand(codes: Ints, label: Ints) -> float:
    if len(codes) < 2:
        return float("nan")
    # Imported here because sklearn imports scipy.stats, which scoring does not need.
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

    return float(adjusted_rand_score(codes, label))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
