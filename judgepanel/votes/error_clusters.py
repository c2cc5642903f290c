"""Do judges err alike on items that share a value of a column?

An item's error is the mean over its votes of wrong minus the judge's share of wrong votes. The sum
over values of (sum of errors)² / items is compared with what it is when the values are dealt to the
items at random, which is exact for errors of any distribution and values of any sizes. Draws stop
once ``_ENOUGH`` of them are as large (Besag & Clifford 1991, doi:10.1093/biomet/78.2.301), so that
only a column that matters costs all of them. Cost: O(n K) for the errors, then O(n) for each draw,
n at most 20,000 items.

Values that stand for a measurement (a length, a count) repeat too, and errors may depend on them
although items are independent. So differences between the values of columns with few of them, and
a trend over numbers, are taken out of the errors first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.matrix import MISSING, VoteMatrix

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

FEWEST_SHARED = 20
"""Values that several items must share before their errors are compared."""
DRAWS = 1_999
_ENOUGH = 20
_DEGREE = 3
_MOST_ITEMS = 20_000


def item_errors(votes: VoteMatrix, strata: Sequence[Codes] = ()) -> Floats:
    """Return the error of each item (n_items,); NaN without a label or votes.

    The mean error of each value of ``strata``, codes (n_items,) with -1 for missing, is taken out.
    """
    wrong, given = _errors(votes)
    counts = given.sum(axis=1)
    errors = np.where(counts > 0, wrong.sum(axis=1) / np.maximum(counts, 1), np.nan)
    for values in strata:
        used = (values >= 0) & ~np.isnan(errors)
        sizes = np.bincount(values[used])
        means = np.bincount(values[used], weights=errors[used]) / np.maximum(sizes, 1)
        errors[used] -= means[values[used]]
    return errors


def alike_p(errors: Floats, values: Codes, numbers: Floats | None = None) -> float:
    """Return p of errors (n_items,) as alike within ``values`` (n_items,) as they are.

    ``values`` are codes, -1 if missing; ``numbers`` (n_items,) are what they stand for if they are
    numbers. 1 if fewer than ``FEWEST_SHARED`` values, or less than half of the items, are shared.
    """
    used = np.flatnonzero((values >= 0) & ~np.isnan(errors))[:_MOST_ITEMS]
    _, codes, sizes = np.unique(values[used], return_inverse=True, return_counts=True)
    shared = sizes > 1
    if shared.sum() < FEWEST_SHARED or 2 * sizes[shared].sum() < len(codes):
        return 1.0
    centred = errors[used] - errors[used].mean()
    if numbers is not None:
        centred = _without_trend(centred, numbers[used])

    def between(dealt: Codes) -> float:
        return float((np.bincount(dealt, weights=centred) ** 2 / sizes).sum())

    # Rounding must not tell a draw from the values themselves.
    observed = between(codes) - 1e-9 * float((centred**2).sum())
    rng = np.random.default_rng(0)
    as_large = 0
    for draw in range(1, DRAWS + 1):
        as_large += between(rng.permutation(codes)) >= observed
        if as_large == _ENOUGH:
            return as_large / draw
    return (as_large + 1) / (DRAWS + 1)


def times_as_wide(votes: VoteMatrix, values: Codes) -> float:
    """Return how many times as wide intervals of accuracies are with ``values`` as groups.

    The root of the design effect of all judges' errors; an item without a value is alone.
    """
    errors, _ = _errors(votes)
    alone = float((errors**2).sum())
    if alone == 0.0:
        return 1.0
    own = values.max(initial=-1) + 1 + np.arange(len(values))
    _, groups = np.unique(np.where(values >= 0, values, own), return_inverse=True)
    sums = np.zeros((int(groups.max()) + 1, votes.n_judges))
    np.add.at(sums, groups, errors)
    return float(np.sqrt((sums**2).sum() / alone))


def _errors(votes: VoteMatrix) -> tuple[Floats, NDArray[np.bool_]]:
    """Return wrong less the judge's share of wrong votes, 0 without a vote, and where votes are."""
    given = (votes.votes != MISSING) & votes.labelled[:, None]
    wrong = (votes.votes != votes.labels[:, None]) & given
    rates = wrong.sum(axis=0) / np.maximum(given.sum(axis=0), 1)
    return np.where(given, wrong - rates, 0.0), given


def _without_trend(errors: Floats, numbers: Floats) -> Floats:
    """Return errors less a cubic in the ranks of the numbers."""
    _, ranks = np.unique(numbers, return_inverse=True)
    place = 2.0 * ranks / max(int(ranks.max()), 1) - 1.0
    basis = np.polynomial.legendre.legvander(place, _DEGREE)
    return np.asarray(errors - basis @ np.linalg.lstsq(basis, errors, rcond=None)[0])
