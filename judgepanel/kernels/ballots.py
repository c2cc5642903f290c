"""Ballots: votes as signed arrays, with judges in the order that breaks ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Ballots:
    """Labelled items ready for the kernels.

    Attributes
    ----------
    votes : int8 (n_items, n_judges), V = 2y - 1 in {-1, +1}, 0 where the vote is missing.
    signs : int8 (n_items,), s = 2z - 1 in {-1, +1}.
    units : int64 (n_items,), group code of an item (its own position without groups).
    symmetric : every fit uses each item and its swap; no intercept, no label prior.
    unlabelled : int8 (n_unlabelled, n_judges), signed votes on items without a label, which
        aggregators that learn from votes alone may use; None where there are none.
    ties : bool (n_items, n_judges), missing votes that were given as ties, None where there are
        none. No aggregator reads them: they tell what was read from what was not.
    margins : float64 (n_items, n_judges), at least 0, how far the grade of a vote is from its
        judge's threshold; 0 where there is no grade, None where nobody gives any. The vote says on
        which side: swapping the two responses of an item leaves its margins.

    Judges are columns in the order of their names. Rankings are stable sorts, so equal accuracies
    are ordered by name and permuting the columns of a file changes no result.
    """

    votes: NDArray[np.int8]
    signs: NDArray[np.int8]
    units: NDArray[np.int64]
    symmetric: bool = False
    unlabelled: NDArray[np.int8] | None = None
    ties: NDArray[np.bool_] | None = None
    margins: NDArray[np.float64] | None = None

    @property
    def n_items(self) -> int:
        return int(self.votes.shape[0])

    @property
    def n_judges(self) -> int:
        return int(self.votes.shape[1])
