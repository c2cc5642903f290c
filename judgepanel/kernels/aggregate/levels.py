"""Levels of grades: the distance of a vote from its judge's threshold, in at most four bands.

A vote V in {-1, +1} and its band b make a level; swapping the two responses of an item changes the
sign of V and keeps b. Bands are cut by the margins of a judge's votes, without labels: one band per
distinct margin if there are few, quarters of the votes if there are many. A judge without grades
has one band.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots

Bands = NDArray[np.int8]

MOST_BANDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """``edges`` (n_judges arrays, ascending): the smallest margin of each band above the lowest."""

    edges: tuple[Floats, ...]

    @property
    def n_bands(self) -> Ints:
        """int (n_judges,): number of bands of each judge, in 1..``MOST_BANDS``."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.int64)

    @property
    def several(self) -> bool:
        """Whether any judge has more than one band."""
        return any(len(edges) for edges in self.edges)

    def bands(self, margins: Floats | None, n_items: int) -> Bands:
        """Return bands from 0, int8, of margins, both (n_items, n_judges); all 0 for None."""
        bands = np.zeros((n_items, len(self.edges)), dtype=np.int8)
        if margins is not None:
            for judge in np.flatnonzero(self.n_bands > 1):
                bands[:, judge] = np.searchsorted(self.edges[judge], margins[:, judge], "right")
        return bands


def levels_on(ballots: Ballots, rows: Ints) -> Levels:
    """Return levels cut on these rows, without labels."""
    none = np.zeros(0)
    if ballots.margins is None:
        return Levels((none,) * ballots.n_judges)
    margins = np.where(ballots.votes[rows] != 0, ballots.margins[rows], 0.0)
    return Levels(tuple(_edges(margins[:, judge]) for judge in range(ballots.n_judges)))


def has_levels(ballots: Ballots) -> bool:
    """Whether any judge's votes are at different margins, so that grades tell more than votes."""
    return levels_on(ballots, np.arange(ballots.n_items)).several


def _edges(margins: Floats) -> Floats:
    """Return the edges (n_bands - 1,) of one judge's margins (n,), which are 0 without a grade."""
    values = np.sort(margins[margins > 0.0])
    edges: Floats = np.unique(values)
    if len(edges) > MOST_BANDS:
        edges = np.unique(values[np.arange(MOST_BANDS) * len(values) // MOST_BANDS])
    return edges[1:]
