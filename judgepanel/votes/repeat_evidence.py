"""Evidence of copies beside repeated rows: item ids and features, and how rare a row of votes is.

Ids and features show copies where votes alone cannot. The probability of a row is a
pseudo-likelihood (Besag 1975, doi:10.2307/2987782): the product over judges of the probability of a
vote given the label and all other votes of the item. On average it exceeds the probability of the
row, since conditioning lowers entropy (the erasure entropy is at most the entropy: Verdu and
Weissman 2008, doi:10.1109/TIT.2008.926402). Judges that copy each other and items that all judges
find easy increase it further, so rows on which a panel agrees are never improbable. The pattern of
missing votes is conditioned on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from judgepanel.votes import distributions
from judgepanel.votes.matrix import MISSING, VoteMatrix

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Votes = NDArray[np.int8]

LEVEL = 1e-4
_COPY = re.compile(
    r"[\s._\-#(]+(?:copy|dup|duplicate|rep|repeat)[\s._\-#]*\d{0,6}\)?$", re.IGNORECASE
)
_COPY_WORDS = ("copy", "dup", "rep")
_NUMBER = re.compile(r"[._\-#]\d{1,6}$")
_LONGEST_ID = 300
_FEWEST = 5
_ALIKE = 0.95
_RARER = 10.0
_RIDGE = 0.05
_BIN_ITEMS = 8
_MOST_BINS = 20
_FEW = 0.05
_CELLS = 4_000_000
"""Items by judges whose expected votes are held at once."""
MOST_FITTED = 20_000
"""Number of rows, spread evenly over the file, to which the probabilities are fitted."""


def keyed_copies(votes: VoteMatrix, rows: Codes, units: Codes) -> Iterator[tuple[str, Codes]]:
    """Yield kinds of evidence (``ids``, ``features``) and sets (n,) of labelled items, -1 if none.

    Two items are copies if their votes, missing votes and labels are the same (``rows``) and

    * one's id is the other's followed by ``copy``, ``dup`` or ``repeat`` and a number, and such
      items nearly always have the same row, or
    * their ids differ only in a final number, or all their features are equal, and such items
      nearly always have the same row and differ ``_RARER`` times less often than random pairs of
      items.
    """
    names = [name[:_LONGEST_ID] for name in votes.item_ids]
    # Looking for the word in all ids at once is much faster than for the suffix in each.
    text = "\n".join(names).lower()
    marked = any(word in text for word in _COPY_WORDS)
    stems = [_COPY.sub("", name) for name in names] if marked else names
    if stems != names:
        stem_codes = _text_codes(stems)
        if _nearly_always(stem_codes, rows):
            yield "ids", _repeated(_pairs_of(stem_codes, rows))
    else:
        bare = [_NUMBER.sub("", name) for name in names]
        sets = _alike(_text_codes(bare), rows, units)
        if sets is not None:
            yield "ids", sets
    if votes.features is not None and len(votes.features.columns):
        sets = _alike(_feature_codes(votes.features), rows, units)
        if sets is not None:
            yield "features", sets


def _nearly_always(keys: Codes, rows: Codes) -> bool:
    """Whether enough pairs share a key and nearly all of these pairs share a row."""
    n_same_key = _n_pairs(keys)
    return n_same_key >= _FEWEST and _n_pairs(_pairs_of(keys, rows)) >= _ALIKE * n_same_key


def _alike(keys: Codes, rows: Codes, units: Codes) -> Codes | None:
    """Return sets of equal key and row; None unless equal keys nearly always share a row."""
    if not _nearly_always(keys, rows):
        return None
    both = _pairs_of(keys, rows)
    chance = _n_pairs(rows) / (len(rows) * (len(rows) - 1) / 2.0)
    if 1.0 - _n_pairs(both) / _n_pairs(keys) > (1.0 - chance) / _RARER:
        return None
    # Pairs within a key are not independent, so each key counts its items minus one.
    n_keys = len(np.unique(keys))
    trials = len(keys) - n_keys
    hits = len(keys) - len(np.unique(both))
    if float(distributions.binom_sf(hits - 1, trials, chance)) >= LEVEL:
        return None
    return _repeated(both)


def _n_pairs(codes: Codes) -> float:
    count = np.bincount(codes).astype(float)
    return float((count * (count - 1.0)).sum() / 2.0)


def _pairs_of(left: Codes, right: Codes) -> Codes:
    return np.asarray(
        np.unique(left * (int(right.max(initial=0)) + 1) + right, return_inverse=True)[1]
    )


def _text_codes(texts: list[str]) -> Codes:
    return np.asarray(pd.factorize(np.array(texts, dtype=object))[0], dtype=np.int64)


def _feature_codes(features: pd.DataFrame) -> Codes:
    codes = np.zeros(len(features), dtype=np.int64)
    for name in features.columns:
        own = pd.factorize(features[name], use_na_sentinel=False)[0].astype(np.int64)
        codes = _pairs_of(codes, own)
    return codes


def _repeated(codes: Codes) -> Codes:
    """Return codes that occur twice or more renumbered from 0; -1 for the others."""
    kinds, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    live = (count >= 2) & (kinds >= 0)
    return np.asarray(np.where(live, np.cumsum(live) - 1, -1)[place], dtype=np.int64)


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
