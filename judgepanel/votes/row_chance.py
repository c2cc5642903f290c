"""An upper estimate of the probability of a row of votes, for rows that occur twice.

The estimate is a pseudo-likelihood (Besag 1975, doi:10.2307/2987782): the product over judges of
the probability of a vote given the label and all other votes of the item. On average it exceeds the
probability of the row, since conditioning lowers entropy (the erasure entropy is at most the
entropy: Verdu and Weissman 2008, doi:10.1109/TIT.2008.926402). Judges that copy each other and
items that all judges find easy increase it further, so rows on which a panel agrees are never
improbable. The pattern of missing votes is conditioned on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.votes.matrix import MISSING

Floats = NDArray[np.float64]
Votes = NDArray[np.int8]

_RIDGE = 0.05
_BIN_ITEMS = 8
_MOST_BINS = 20
_FEW = 0.05
_CELLS = 4_000_000
"""Items by judges whose expected votes are held at once."""
MOST_FITTED = 20_000
"""Number of rows, spread evenly over the file, to which the probabilities are fitted."""


def log_chance(votes: Votes, labels: Votes) -> Floats:
    """Return the log pseudo-likelihood of every row of votes given its label, (n_items,).

    The expected vote of a judge given the others is linear (one inverse covariance matrix gives it
    for all judges); its quantile bins turn it into a probability. Cost for K judges: O(K) time per
    vote, of which the fit uses at most ``MOST_FITTED`` rows, O(K³) once, and O(n K) memory.

    Parameters
    ----------
    votes : int8 (n_items, n_judges) in {0, 1, -1 missing}.
    labels : int8 (n_items,) in {0, 1}.
    """
    n_items, n_judges = votes.shape
    cast = votes != MISSING
    learnt = np.linspace(0, n_items - 1, min(n_items, MOST_FITTED)).astype(np.int64)
    means = _class_means(votes[learnt], labels[learnt])
    centred = _centred(votes, cast, labels, means)
    slopes = _slopes_of_the_others(centred[learnt], cast[learnt])
    total = np.zeros(n_items)
    step = max(1, _CELLS // max(1, n_items))
    for start in range(0, n_judges, step):
        judges = slice(start, min(start + step, n_judges))
        # One judge's expected votes are then neighbours in memory.
        expected = np.ascontiguousarray((centred @ slopes[:, judges]).T)
        expected += means.T[judges][:, labels]
        # Rounded so that floating-point noise from the order of items and judges moves no value to
        # another bin.
        np.round(expected, 9, out=expected)
        for j, of_judge in enumerate(expected, start):
            rows = np.flatnonzero(cast[:, j])
            if len(rows):
                known = learnt[cast[learnt, j]]
                total[rows] += _log_share(of_judge, votes[:, j], rows, known)
    return total


def _class_means(votes: Votes, labels: Votes) -> Floats:
    """Mean signed vote (2, n_judges) of the items of each label."""
    means = np.zeros((2, votes.shape[1]))
    for label in (0, 1):
        ones, zeros = ((votes[labels == label] == vote).sum(axis=0) for vote in (1, 0))
        means[label] = (ones - zeros) / np.maximum(ones + zeros, 1)
    return means


def _centred(votes: Votes, cast: NDArray[np.bool_], labels: Votes, means: Floats) -> Any:
    """Signed votes minus their mean, 0 if missing, (n_items, n_judges); sparse if few are cast."""
    if np.count_nonzero(cast) >= _FEW * cast.size:
        return np.where(cast, 2.0 * votes - 1.0 - means[labels], 0.0)
    row, judge = np.nonzero(cast)
    values = 2.0 * votes[row, judge] - 1.0 - means[labels[row], judge]
    return scipy.sparse.csr_matrix((values, (row, judge)), shape=votes.shape)


def _slopes_of_the_others(centred: Any, cast: NDArray[np.bool_]) -> Floats:
    """Slopes (n_judges, n_judges) of the linear prediction of a judge's centred vote, a column,
    from the other votes of a row.

    The ridge penalty grows with judges per vote of a judge, so few rows cannot overfit.
    """
    product = centred.T @ centred
    covariance = (product if isinstance(product, np.ndarray) else product.toarray()) / len(cast)
    scale = float(np.mean(np.diag(covariance)))
    ridge = _RIDGE + cast.shape[1] / max(float(cast.sum(axis=0).mean()), 1.0)
    precision = np.linalg.inv(covariance + (ridge * scale + 1e-9) * np.eye(len(covariance)))
    own = np.diag(precision).copy()
    np.fill_diagonal(precision, 0.0)
    return np.asarray(precision / -own)


def _log_share(
    expected: Floats, votes: Votes, rows: NDArray[np.int64], known: NDArray[np.int64]
) -> Floats:
    """Return the log share of equal votes by this judge among items with the same expectation."""
    n_bins = int(np.clip(len(known) // _BIN_ITEMS, 1, _MOST_BINS))
    edges = np.quantile(expected[known], np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
    place = np.searchsorted(edges, expected[known], side="right")
    ones = np.bincount(place, votes[known] == 1, minlength=n_bins)
    share = (ones + 0.5) / (np.bincount(place, minlength=n_bins) + 1.0)
    log_share = np.log(np.stack([1.0 - share, share]))
    return np.asarray(log_share[votes[rows], np.searchsorted(edges, expected[rows], side="right")])
