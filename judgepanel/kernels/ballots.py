"""Ballots: votes as signed arrays, with judges in the order that breaks ties."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgepanel.kernels.aggregate.vote_cells import part_of, sparse_of
from judgepanel.scoring.splits import unit_codes

if TYPE_CHECKING:
    from judgepanel.kernels.aggregate.vote_cells import Cells, Sparse


@dataclass(frozen=True, eq=False)  # Slots would leave no place for what is computed once.
class Ballots:
    """Labelled items ready for the kernels.

    Attributes
    ----------
    votes : int8 (n_items, n_judges), V = 2y - 1 in {-1, +1}, 0 where the vote is missing.
    signs : int8 (n_items,), s = 2z - 1 in {-1, +1}.
    units : int64 (n_items,), group code of an item (its own position without groups).
    symmetric : every fit uses each item and its swap; no intercept, no label prior.
    unlabelled : int8 (n_unlabelled, n_judges), signed votes on unlabelled items, for aggregators
        that learn from votes alone; None if there are none.
    ties : bool (n_items, n_judges), missing votes that were given as ties, None if there are none.
        No aggregator reads them: they separate ties from votes that were not given.
    margins : float64 (n_items, n_judges), at least 0, distance of a vote's grade from its judge's
        threshold; 0 without a grade, None if no judge gives grades. The vote has the side: swapping
        the two responses of an item keeps its margins.

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

    @cached_property
    def sparse(self) -> Sparse | None:
        """The votes as a sparse matrix; None where they are few, or most of them are there."""
        return sparse_of(self.votes)

    @cached_property
    def digest(self) -> bytes:
        """A digest of all that aggregators read."""
        arrays = (self.votes, self.signs, self.units, self.unlabelled, self.margins)
        return digest_of(bytes([self.symmetric]), *arrays)

    def part(self, rows: NDArray[np.int64], judges: NDArray[np.int64]) -> Cells:
        """Return the votes (n, k) of some judges on some items, as products take them."""
        return part_of(self.votes, self.sparse, rows, judges)

    def of_judges(self, judges: ArrayLike) -> Ballots:
        """Return the same items with some of the judges: a mask, or positions of columns."""
        columns = np.asarray(judges)
        unlabelled, ties, margins = self.unlabelled, self.ties, self.margins
        return replace(
            self,
            votes=self.votes[:, columns],
            unlabelled=None if unlabelled is None else unlabelled[:, columns],
            ties=None if ties is None else ties[:, columns],
            margins=None if margins is None else margins[:, columns],
        )

    def of_items(self, items: NDArray[np.int64]) -> Ballots:
        """Return some of the labelled items, with their groups numbered from 0."""
        return replace(
            self,
            votes=self.votes[items],
            signs=self.signs[items],
            units=unit_codes(self.units[items])[0],
            ties=None if self.ties is None else self.ties[items],
            margins=None if self.margins is None else self.margins[items],
        )

    @property
    def n_items(self) -> int:
        return int(self.votes.shape[0])

    @property
    def n_judges(self) -> int:
        return int(self.votes.shape[1])


def digest_of(first: bytes, *arrays: NDArray[Any] | None) -> bytes:
    """Return a digest of bytes, and of arrays with their shapes; None differs from all arrays."""
    digest = hashlib.blake2b(first, digest_size=20)
    for array in arrays:
        digest.update(repr(None if array is None else (array.shape, array.dtype.str)).encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
