"""Near-copies among judges: several of them know what one of them knows.

A one-coin sum counts a judge that was asked twice twice. Judges whose errors are almost the same
are put into one group, and a sum that counts each of a group of m by 1/m counts the group once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Ints
from judgepanel.kernels.judges.redundancy import error_counts

if TYPE_CHECKING:
    from judgepanel.kernels.aggregate.vote_cells import Cells


ALIKE = 0.9
"""Copies are shown to have a larger error correlation: the lower 95 % limit (Fisher 1921) is."""
LEAST_ITEMS, LEAST_CASES = 30, 5
MOST_JUDGES = 1000


def copies(votes: Cells, signs: NDArray[np.int8]) -> Bools | None:
    """Which pairs of judges (k, k) are near-copies, from signed votes (n, k) and labels (n,).

    Two judges need ``LEAST_ITEMS`` items in common, with ``LEAST_CASES`` right and as many wrong
    votes of each, before anything is shown. Above ``MOST_JUDGES`` no judges are compared. None
    where nobody has any.
    """
    n_items, k = votes.shape
    if not 2 <= k <= MOST_JUDGES or n_items < LEAST_ITEMS:
        return None
    counts = error_counts(votes, signs)
    n, wrong = counts.joint, counts.wrong
    enough = (n >= LEAST_ITEMS) & (wrong >= LEAST_CASES) & (n - wrong >= LEAST_CASES)
    enough &= enough.T
    if not (enough & ~np.eye(k, dtype=bool)).any():
        return None
    spread = wrong * (n - wrong)
    scale = np.sqrt(np.where(enough, spread * spread.T, 1.0))
    phi = np.where(enough, n * counts.both - wrong * wrong.T, 0.0) / scale
    z = np.arctanh(np.clip(phi, -0.9999, 0.9999))
    lower = z - 1.96 / np.sqrt(np.maximum(n - 3.0, 1.0))
    alike = np.asarray(lower > np.arctanh(ALIKE))
    np.fill_diagonal(alike, False)
    return alike if alike.any() else None


def groups_among(alike: Bools | None, k: int) -> Ints:
    """Group (k,) of each of the first k judges, from pairs that are near-copies: the first judge
    that it is tied to, be it through others. Each is its own where fewer than k were compared.
    """
    groups = np.arange(k)
    if alike is None or k > len(alike) or not alike[:k, :k].any():
        return groups
    tied = alike[:k, :k] | np.eye(k, dtype=bool)
    while True:
        first = np.where(tied, groups, k).min(axis=1)
        if np.array_equal(first, groups):
            return groups
        groups = first


def copy_shares(groups: Ints) -> NDArray[np.float64]:
    """What each judge (k,) of a group of m counts: 1/m."""
    return np.asarray(1.0 / np.bincount(groups)[groups])
