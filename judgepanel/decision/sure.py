"""How often a choice is sure of its decision on new items, and right when it is.

A decision is sure if its stated confidence max(p, 1 - p) is at least ``SURE``, as in the study
:mod:`judgepanel.studies.trust.selective`, whose intervals these are too. Only sums over splits are
kept, so a file of any size can be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import Estimate, estimate
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.results import by_split, frozen, summed
from judgepanel.studies.trust.probabilities import Sums, shares

SURE = 0.9
_ROUNDING = 1e-9


@frozen
class SureSums:
    """Sure decisions of R choices in the splits ``numbers`` (S,), and those of them that are right.

    ``items`` uint16 (2, R, N) counts them by item, ``splits`` (S, 2, R) are shares by split.
    """

    numbers: Ints = by_split()
    splits: Floats = by_split()
    items: NDArray[np.uint16] = summed()


def sure_sums(n_items: int, scored: list[tuple[Split, Floats]]) -> SureSums:
    """Return the sums of some splits from the NLL (R, n_evaluation) of the choices in each."""
    items = np.zeros((2, len(scored[0][1]), n_items), dtype=np.uint16)
    splits = []
    for drawn, nll in scored:
        p_true = np.exp(-nll)
        inside = np.maximum(p_true, 1.0 - p_true) >= SURE - _ROUNDING
        both = np.stack([inside, inside & (p_true > 0.5)])
        items[:, :, drawn.evaluation] += both
        splits.append(both.mean(axis=-1))
    return SureSums(np.array([drawn.number for drawn, _ in scored]), np.array(splits), items)


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """Means over new items from means by item and by split; ``units`` (n,) are groups of items."""

    units: Ints
    n_splits: int
    sizes: tuple[float, float]

    def estimated(self, items: Floats, splits: Floats) -> Estimate:
        if self.n_splits < 2:
            return Estimate.of_one_split(items.mean(axis=1))
        return estimate(items, splits.T, self.units, *self.sizes)


def sure_levels(sums: SureSums, tally: Tally, units: Ints) -> tuple[Interval, Interval]:
    """Return the share (R,) of items with a sure decision, and the share of them that is right.

    The second is NaN where no decision is sure.
    """
    seen = tally.evaluated > 0
    sizes = float(tally.n_calibration.mean()), float(tally.n_evaluation.mean())
    of = _Means(units[seen], len(tally.numbers), sizes)
    inside, right = np.asarray(sums.items[:, :, seen] / tally.evaluated[seen])
    inside_splits, right_splits = np.moveaxis(sums.splits, 0, -1)
    ones = np.ones((1, inside.shape[1])), np.ones((1, of.n_splits))
    sure = [
        shares(of, Sums(items[None], splits[None], *ones))[0]
        for items, splits in zip(inside, inside_splits, strict=True)
    ]
    return Interval.joined(sure), shares(of, Sums(right, right_splits, inside, inside_splits))[0]
