"""Repeated evaluations of items: sums by item and by split, means and shares with intervals.

Every item is evaluated in about half of the splits, each time by a panel that was not fitted to its
label. An item still counts once: all means, shares and counts weight each evaluation by one over
the number of evaluations of its item.

A share of a subset of evaluations (accuracy in a bin, coverage in a stratum) is a ratio of two
means, A = sum(x) / sum(w), where w is the weight of an evaluation in the subset. Its number of
items is the sum over items of the mean w: an item with half of its evaluations in a bin is half an
item there, and no item counts more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import Estimate, estimate, sampling_variance
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.roles import Sides
from judgepanel.studies.judges.judge_table import wilson
from judgepanel.studies.settings import Prepared

FEW_ITEMS = 10
"""Number of items below which figures of a bin or a stratum are uninformative."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """E evaluations of N items in S splits, in the order of their splits.

    ``item`` (E,) numbers the items evaluated at least once and ``split`` (E,) the splits; ``times``
    (N,) counts an item's evaluations, ``sizes`` (S,) a split's. ``seen`` (N,) are the items'
    positions among the labelled ones, ``units`` (N,) their groups, ``signs`` (E,) labels as -1 or
    +1. All labelled items that a split does not evaluate calibrate it, as in ``sides``.
    """

    item: Ints
    split: Ints
    times: Ints
    sizes: Ints
    seen: Ints
    units: Ints
    n_calibration: float
    sides: Sides
    signs: Floats
    symmetric: bool

    @property
    def n_items(self) -> int:
        """Number of items evaluated at least once."""
        return len(self.seen)

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.sizes)

    @property
    def per_split(self) -> Floats:
        """Weight of an evaluation (E,) when averaging splits; the weights sum to 1."""
        return np.asarray(1.0 / (self.n_splits * self.sizes[self.split]))

    def by_item(self, values: Floats, codes: Ints | None = None, n_codes: int = 1) -> Floats:
        """Mean over its evaluations of each item's value, split by code: (n_codes, N).

        ``values`` (E,) count only for their own code in 0..n_codes - 1.
        """
        weights = values / self.times[self.item]
        return _summed(self.item, self.n_items, codes, n_codes, weights)

    def by_split(self, values: Floats, codes: Ints | None = None, n_codes: int = 1) -> Floats:
        """Mean over a split's evaluations, split by code: (n_codes, S)."""
        weights = values / self.sizes[self.split]
        return _summed(self.split, self.n_splits, codes, n_codes, weights)

    def estimated(
        self,
        items: Floats,
        splits: Floats,
        *,
        sides: Sides | None = None,
        joint: bool = False,
    ) -> Estimate:
        """Means over new items from values by item (n, N) and by split (n, S).

        Without ``sides`` the interval also holds the figure of a single new panel
        (docs/confidence.md). With a single split the spread is unknown and ends are NaN. ``joint``
        as in :func:`~judgepanel.scoring.inference.estimate`.
        """
        if self.n_splits < 2:
            return Estimate.of_one_split(items.mean(axis=1))
        return estimate(
            items,
            splits.T,
            self.units,
            self.n_calibration,
            float(self.sizes.mean()),
            sides=sides,
            joint=joint,
        )

    def mean(self, values: Floats, *, sides: Sides | None = None, joint: bool = False) -> Estimate:
        """Means over new items of values (n, E), as :meth:`estimated`."""
        items = np.concatenate([self.by_item(value) for value in values])
        splits = np.concatenate([self.by_split(value) for value in values])
        return self.estimated(items, splits, sides=sides, joint=joint)

    def score(self, values: Floats, *, joint: bool = False) -> Estimate:
        """Mean scores of panels, from values (n, E): with the intervals of the panel curve."""
        return self.mean(values, sides=self.sides, joint=joint)


def repeats(
    prepared: Prepared, rows: Ints, n_calibration: Ints, n_evaluation: Ints
) -> dict[str, Any]:
    """Fields of :class:`Repeats` from rows (E,) in the order of their splits."""
    ballots = prepared.ballots
    seen, item, times = np.unique(rows, return_inverse=True, return_counts=True)
    split = np.repeat(np.arange(len(n_evaluation)), n_evaluation)
    evaluated = np.zeros((len(n_evaluation), ballots.n_items), dtype=bool)
    evaluated[split, rows] = True
    return {
        "item": item,
        "split": split,
        "times": times,
        "sizes": n_evaluation,
        "seen": seen,
        "units": ballots.units[seen],
        "n_calibration": float(n_calibration.mean()),
        "sides": Sides.of(~evaluated, evaluated[:, seen], ballots.units),
        "signs": ballots.signs[rows].astype(np.float64),
        "symmetric": ballots.symmetric,
    }


def _summed(
    owner: Ints, n_owners: int, codes: Ints | None, n_codes: int, weights: Floats
) -> Floats:
    place = owner if codes is None else codes * n_owners + owner
    sums = np.bincount(place, weights, n_codes * n_owners)
    return np.asarray(sums.reshape(n_codes, n_owners), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Means by item (n, N) and by split (n, S) of the weight ``w`` and the weighted value ``x``."""

    x_items: Floats
    x_splits: Floats
    w_items: Floats
    w_splits: Floats


def binned_sums(of: Repeats, x: Floats, codes: Ints, n_codes: int) -> Sums:
    """Sums of x (E,) by code (E,)."""
    ones = np.ones(len(x))
    return Sums(
        of.by_item(x, codes, n_codes),
        of.by_split(x, codes, n_codes),
        of.by_item(ones, codes, n_codes),
        of.by_split(ones, codes, n_codes),
    )


def weighted_sums(of: Repeats, x: Floats, w: Floats) -> Sums:
    """Sums of w x for x (E,) and weights (n, E)."""
    return Sums(
        np.concatenate([of.by_item(entry * x) for entry in w]),
        np.concatenate([of.by_split(entry * x) for entry in w]),
        np.concatenate([of.by_item(entry) for entry in w]),
        np.concatenate([of.by_split(entry) for entry in w]),
    )


def ratios(of: Repeats, sums: Sums) -> tuple[Estimate, Floats]:
    """Ratios of means (n,), by linearisation, and the number of items; 0 if it is 0.

    The value of an item is A + (x - A w) / mean(w): its mean is A, its variance that of A to first
    order (the delta method).
    """
    return of.estimated(*_linearised(sums)), sums.w_items.sum(axis=1)


def item_errors(of: Repeats, sums: Sums) -> Floats:
    """Standard errors (n,) of the same ratios due to the sampling of items alone.

    A ratio pooled over splits is a mean over their panels: the error of one panel is part of the
    ratio, not noise.
    """
    return np.sqrt(sampling_variance(_linearised(sums)[0], of.units))


def _linearised(sums: Sums) -> tuple[Floats, Floats]:
    weight = sums.w_items.mean(axis=1)
    live = weight > 0
    scale = np.where(live, weight, 1.0)
    ratio = np.where(live, sums.x_items.mean(axis=1) / scale, 0.0)
    items, splits = (
        ratio[:, None] + (x - ratio[:, None] * w) / scale[:, None]
        for x, w in ((sums.x_items, sums.w_items), (sums.x_splits, sums.w_splits))
    )
    return items, splits


def shares(of: Repeats, sums: Sums) -> tuple[Interval, Floats]:
    """Shares (n,), NaN if no item counts, and the number of items.

    Their intervals are those of :func:`share_intervals`. If all or none are right, whole groups are
    counted.
    """
    fitted, items = ratios(of, sums)
    at_ends = np.minimum(items, _groups(of, sums.w_items))
    return share_intervals(of, fitted.value, fitted.se, at_ends, items).where(items > 0), items


def share_intervals(
    of: Repeats, value: Floats, se: Floats, at_ends: Floats, items: Floats
) -> Interval:
    """Shares (n,) with 95 % intervals for new items and new panels; NaN ends from a single split.

    The intervals are Wilson's on A (1 - A) / se^2 items, at most the number ``items`` (Franco et
    al. 2019, doi:10.1093/jssam/smy019): groups, and panels that differ between splits, lower that
    number. If all or none are right there is no such variance, and ``at_ends`` is used.
    """
    value = np.clip(value, 0.0, 1.0)
    spread = value * (1.0 - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(spread > 1e-12, spread / se**2, at_ends)
    effective = np.minimum(np.where(np.isnan(effective), items, effective), items)
    if of.n_splits < 2:
        return Interval.alone(value, "share")
    return Interval(value, *wilson(value * effective, effective), unit="share")


def _groups(of: Repeats, w_items: Floats) -> Floats:
    """Effective number of groups (n,): (sum W)^2 / sum W^2 over the weight W of each."""
    _, codes = np.unique(of.units, return_inverse=True)
    by_group = np.zeros((int(codes.max()) + 1, len(w_items)))
    np.add.at(by_group, codes, w_items.T)
    total = by_group.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = total**2 / (by_group**2).sum(axis=0)
    return np.asarray(np.where(total > 0, values, 0.0))


def stacked(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Stack records of arrays and intervals along a new first axis."""
    return _together(records, Interval.stacked, np.stack)


def joined(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Concatenate records of arrays and intervals along their first axis."""
    return _together(records, Interval.joined, np.concatenate)


def _together(
    records: Sequence[Mapping[str, Any]],
    intervals: Callable[[list[Interval]], Interval],
    arrays: Callable[[list[Any]], Floats],
) -> dict[str, Any]:
    columns = {name: [record[name] for record in records] for name in records[0]}
    return {
        name: intervals(parts) if isinstance(parts[0], Interval) else arrays(parts)
        for name, parts in columns.items()
    }
