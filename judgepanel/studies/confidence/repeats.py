"""Items evaluated again and again: sums by item and by split, and means with intervals.

Every item is evaluated in about half of the splits, each time by a panel that has not seen its
label. An item counts once all the same: whatever is a mean, a share or a count weighs each
evaluation with one over the number of evaluations of its item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import Estimate, estimate
from judgepanel.studies.settings import Prepared

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """E evaluations of N items in S splits, in the order of their splits.

    ``item`` (E,) numbers the items evaluated at least once and ``split`` (E,) the splits;
    ``times`` (N,) counts an item's evaluations, ``sizes`` (S,) a split's. ``seen`` (N,) are the
    items' positions among the labelled ones, ``units`` (N,) their groups, ``signs`` (E,) labels
    as -1 or +1.
    """

    item: Ints
    split: Ints
    times: Ints
    sizes: Ints
    seen: Ints
    units: Ints
    n_calibration: float
    signs: Floats
    symmetric: bool

    @property
    def n_items(self) -> int:
        """Items evaluated at least once."""
        return len(self.seen)

    @property
    def n_splits(self) -> int:
        """Splits done."""
        return len(self.sizes)

    @property
    def per_split(self) -> Floats:
        """What an evaluation counts for (E,) when splits are averaged; they sum to 1."""
        return np.asarray(1.0 / (self.n_splits * self.sizes[self.split]))

    def by_item(self, values: Floats, codes: Ints | None = None, n_codes: int = 1) -> Floats:
        """Mean over its evaluations of each item's value, split by code: (n_codes, N).

        ``values`` (E,) count for their own code in 0..n_codes - 1 and 0 for the others.
        """
        weights = values / self.times[self.item]
        return _summed(self.item, self.n_items, codes, n_codes, weights)

    def by_split(self, values: Floats, codes: Ints | None = None, n_codes: int = 1) -> Floats:
        """Mean over a split's evaluations, split by code: (n_codes, S)."""
        weights = values / self.sizes[self.split]
        return _summed(self.split, self.n_splits, codes, n_codes, weights)

    def estimated(self, items: Floats, splits: Floats) -> Estimate:
        """Means of new items from values by item (n, N) and by split (n, S).

        From a single split there is no spread to learn from; bounds are then NaN.
        """
        if self.n_splits < 2:
            value = items.mean(axis=1)
            blank = np.full_like(value, np.nan)
            return Estimate(value, blank, blank, blank, blank, blank, np.zeros((0, 0)))
        return estimate(
            items,
            splits.T,
            self.units,
            self.n_calibration,
            float(self.sizes.mean()),
            joint=False,
        )

    def mean(self, values: Floats) -> Estimate:
        """Means of new items of values (n, E)."""
        items = np.concatenate([self.by_item(value) for value in values])
        return self.estimated(items, np.concatenate([self.by_split(value) for value in values]))


def repeats(
    prepared: Prepared, rows: Ints, n_calibration: Ints, n_evaluation: Ints
) -> dict[str, Any]:
    """Fields of :class:`Repeats` from rows (E,) in the order of their splits."""
    ballots = prepared.ballots
    seen, item, times = np.unique(rows, return_inverse=True, return_counts=True)
    return {
        "item": item,
        "split": np.repeat(np.arange(len(n_evaluation)), n_evaluation),
        "times": times,
        "sizes": n_evaluation,
        "seen": seen,
        "units": ballots.units[seen],
        "n_calibration": float(n_calibration.mean()),
        "signs": ballots.signs[rows].astype(np.float64),
        "symmetric": ballots.symmetric,
    }


def _summed(
    owner: Ints, n_owners: int, codes: Ints | None, n_codes: int, weights: Floats
) -> Floats:
    place = owner if codes is None else codes * n_owners + owner
    sums = np.bincount(place, weights, n_codes * n_owners)
    return np.asarray(sums.reshape(n_codes, n_owners), dtype=np.float64)
