"""Conformal sets of many splits: exact sums, and shares with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.pipeline import PipelineScores
from judgepanel.scoring.conformal import ONE, ZERO, Kinds, covers
from judgepanel.scoring.inference import estimate
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.compare import mean_sizes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WHOLE = 2
_COVERED = 4


@dataclass(frozen=True, slots=True, eq=False)
class SetTally:
    """Sets of S splits at L levels under C panels.

    ``item_sums`` int64 (L, C, 5, N) counts, for every item, its sets of each kind and those that
    hold its label, in halves; ``split_sums`` (S, L, C, 5) are the same over the items of a split.
    Under ``symmetric`` a set of one label counts as half {0} and half {1}: one for the item and one
    for its swap.
    """

    numbers: Ints
    n_slice: Ints
    split_sums: Ints
    item_sums: Ints

    def in_order(self) -> SetTally:
        """Return the same splits sorted by number."""
        order = np.argsort(self.numbers, kind="stable")
        return replace(
            self,
            numbers=self.numbers[order],
            n_slice=self.n_slice[order],
            split_sums=self.split_sums[order],
        )


def tally_sets(scored: Iterable[tuple[Split, PipelineScores]], ballots: Ballots) -> SetTally:
    """Count the sets of these splits, at least one."""
    numbers, n_slice, split_sums = [], [], []
    item_sums: Ints = np.zeros(0, dtype=np.int64)
    for split, scores in scored:
        labels = (ballots.signs[split.evaluation] > 0).astype(np.int64)
        counts = _halves(scores.kinds, labels, symmetric=ballots.symmetric)
        if not item_sums.size:
            item_sums = np.zeros((*counts.shape[:-1], ballots.n_items), dtype=np.int64)
        item_sums[..., split.evaluation] += counts
        numbers.append(split.number)
        n_slice.append(scores.n_slice)
        split_sums.append(counts.sum(axis=-1))
    return SetTally(np.array(numbers), np.array(n_slice), np.array(split_sums), item_sums)


def combine_sets(left: SetTally, right: SetTally) -> SetTally:
    """Combine two sets of splits; exact and independent of order."""
    return SetTally(
        np.concatenate([left.numbers, right.numbers]),
        np.concatenate([left.n_slice, right.n_slice]),
        np.concatenate([left.split_sums, right.split_sums]),
        left.item_sums + right.item_sums,
    )


def set_estimates(sets: SetTally, units: Ints, tally: Tally) -> dict[str, Any]:
    """Fields ``coverage`` and ``size``, intervals (L, C), and ``shares`` (L, C, 4).

    Intervals are for new items (docs/inference.md), NaN from a single split.
    """
    seen = tally.evaluated > 0
    items = sets.item_sums[..., seen] / (_WHOLE * tally.evaluated[seen])
    splits = sets.split_sums / (_WHOLE * tally.n_evaluation[:, None, None, None])
    shares = items.mean(axis=-1)[..., :_COVERED]

    def measured(weight: Floats, unit: Unit) -> Interval:
        per_item = np.einsum("lckn,k->lcn", items, weight)
        per_split = splits @ weight
        unknown = np.full(per_item.shape[:2], np.nan)
        figure = Interval(per_item.mean(axis=-1), unknown, unknown, unit=unit)
        if len(splits) < 2:
            return figure
        fitted = estimate(
            per_item.reshape(-1, per_item.shape[-1]),
            per_split.reshape(len(splits), -1),
            units[seen],
            *mean_sizes(tally),
            joint=False,
        )
        lo, hi = (end.reshape(figure.shape) for end in (fitted.lo, fitted.hi))
        return replace(figure, lo=lo, hi=hi).clip(0.0, weight.max())

    return {
        "coverage": measured(np.array([0, 0, 0, 0, 1.0]), "share"),
        "size": measured(np.array([0, 1.0, 1.0, 2.0, 0]), "count"),
        "shares": shares,
    }


def _halves(kinds: Kinds, labels: Ints, *, symmetric: bool) -> Ints:
    """(L, C, 5, n): the kind of every set and whether it covers, in units of one half."""
    counts = np.stack([_WHOLE * (kinds == kind) for kind in range(_COVERED)], axis=2)
    if symmetric:
        single = (counts[:, :, ZERO] + counts[:, :, ONE]) // 2
        counts[:, :, ZERO] = counts[:, :, ONE] = single
    held = _WHOLE * covers(kinds, labels)
    return np.concatenate([counts, held[:, :, None]], axis=2).astype(np.int64)
