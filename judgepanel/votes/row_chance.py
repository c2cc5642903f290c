"""An upper estimate of the probability of a row of votes, for rows that occur twice.

The estimate is a pseudo-likelihood (Besag 1975, doi:10.2307/2987782): the product over judges of
the probability of a vote given the label and all other votes of the item. On average it exceeds the
probability of the row, since conditioning lowers entropy (the erasure entropy is at most the
entropy: Verdu and Weissman 2008, doi:10.1109/TIT.2008.926402). Judges that copy each other and
items that all judges find easy increase it further, so rows on which a panel agrees are never
improbable. The pattern of missing votes is conditioned on.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def log_chance(votes: Votes, labels: Votes, rows: NDArray[np.int64]) -> Floats:
    """Return the log pseudo-likelihood of some rows of votes given their labels, (n,).

    The expected vote of a judge given the others is linear (one inverse covariance matrix gives it
    for all judges); its quantile bins turn it into a probability. Cost for K judges: O(K) time per
    vote, O(K³) once, and O(n K) memory; the fit uses at most ``MOST_FITTED`` of all rows.

    Parameters
    ----------
    votes : int8 (n_items, n_judges) in {0, 1, -1 missing}.
    labels : int8 (n_items,) in {0, 1}.
    rows : int64 (n,), the rows to look at; the probabilities are fitted to all.
    """
    n_items, n_judges = votes.shape
    sample = np.linspace(0, n_items - 1, min(n_items, MOST_FITTED)).astype(np.int64)
    means = _class_means(votes[sample], labels[sample])
    learnt = _Centred.of(votes[sample], labels[sample], means)
    asked = _Centred.of(votes[rows], labels[rows], means)
    slopes = _slopes_of_the_others(learnt.values, votes[sample] != MISSING)
    total = np.zeros(len(rows))
    step = max(1, _CELLS // max(1, len(sample), len(rows)))
    for start in range(0, n_judges, step):
        judges = slice(start, min(start + step, n_judges))
        known, expected = learnt.expected(slopes, judges), asked.expected(slopes, judges)
        for j, (of_known, of_judge) in enumerate(zip(known, expected, strict=True), start):
            own = np.flatnonzero(learnt.votes[:, j] != MISSING)
            cast = np.flatnonzero(asked.votes[:, j] != MISSING)
            if len(cast):
                edges, log_share = _log_shares(of_known[own], learnt.votes[own, j])
                place = np.searchsorted(edges, of_judge[cast], side="right")
                total[cast] += log_share[asked.votes[cast, j], place]
    return total


@dataclass(frozen=True, slots=True, eq=False)
class _Centred:
    """Votes (n, n_judges), labels (n,), the mean signed vote (2, n_judges) by label, and signed
    votes minus this mean, 0 if missing: ``values`` (n, n_judges), sparse if few are cast.
    """

    votes: Votes
    labels: Votes
    means: Floats
    values: Any

    @classmethod
    def of(cls, votes: Votes, labels: Votes, means: Floats) -> _Centred:
        """Centre votes."""
        return cls(votes, labels, means, _centred(votes, votes != MISSING, labels, means))

    def expected(self, slopes: Floats, judges: slice) -> Floats:
        """Expected votes (n_judges, n) of some judges given the others on the same row."""
        # One judge's expected votes are then neighbours in memory.
        expected = np.ascontiguousarray((self.values @ slopes[:, judges]).T)
        expected += self.means.T[judges][:, self.labels]
        # Rounded so that floating-point noise from the order of items and judges moves no value to
        # another bin.
        return np.asarray(np.round(expected, 9, out=expected))


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


def _log_shares(expected: Floats, votes: Votes) -> tuple[Floats, Floats]:
    """Return edges of bins of a judge's expected votes, and the log shares (2, n_bins) of its
    votes for label 0 and 1 in each.
    """
    n_bins = int(np.clip(len(expected) // _BIN_ITEMS, 1, _MOST_BINS))
    edges = np.quantile(expected, np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
    place = np.searchsorted(edges, expected, side="right")
    ones = np.bincount(place, votes == 1, minlength=n_bins)
    share = (ones + 0.5) / (np.bincount(place, minlength=n_bins) + 1.0)
    return edges, np.log(np.stack([1.0 - share, share]))
