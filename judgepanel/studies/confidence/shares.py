"""Shares of evaluations that are not all there are: accuracy in a bin, coverage in a stratum.

A share is a ratio of two means, A = sum(x) / sum(w), where w says how much of an evaluation counts
(is in the bin). Its items are counted as sum over items of the mean w: an item that spends half of
its evaluations in a bin is half an item there, and none counts more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import Estimate, sampling_variance
from judgepanel.scoring.interval import Interval
from judgepanel.studies.confidence.repeats import Repeats
from judgepanel.studies.judges.judge_table import wilson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Means by item (n, N) and by split (n, S) of what counts ``w`` and what is counted ``x``."""

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
    """Ratios of means (n,), by their linearisation, and the items that count; 0 where none does.

    The value of an item is A + (x - A w) / mean(w): its mean is A, its variance that of A to first
    order (the delta method).
    """
    return of.estimated(*_linearised(sums)), sums.w_items.sum(axis=1)


def item_errors(of: Repeats, sums: Sums) -> Floats:
    """Standard errors (n,) of the same ratios by the draw of items alone.

    A ratio pooled over splits is a mean over their panels: what one panel is off by is in it and
    no noise of it.
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
    """Shares (n,), NaN where no item counts, and the items that do.

    Their intervals are those of :func:`share_intervals`. Where all or none is right whole groups
    are counted.
    """
    fitted, items = ratios(of, sums)
    at_ends = np.minimum(items, _groups(of, sums.w_items))
    return share_intervals(of, fitted.value, fitted.se, at_ends, items).where(items > 0), items


def share_intervals(
    of: Repeats, value: Floats, se: Floats, at_ends: Floats, items: Floats
) -> Interval:
    """Shares (n,) with 95 % intervals for new items and new panels; no ends from a single split.

    The intervals are Wilson's on A (1 - A) / se^2 items, at most the ``items`` there are (Franco et
    al. 2019, doi:10.1093/jssam/smy019): groups, and panels that differ from split to split, lower
    that number. Where all or none is right there is no such variance, and ``at_ends`` counts.
    """
    value = np.clip(value, 0.0, 1.0)
    spread = value * (1.0 - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(spread > 1e-12, spread / se**2, at_ends)
    effective = np.minimum(np.where(np.isnan(effective), items, effective), items)
    ends = wilson(value * effective, effective)
    if of.n_splits < 2:
        ends = (np.full_like(value, np.nan),) * 2
    return Interval(value, *ends, unit="share")


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
    """Records of arrays and intervals as one record, along a new first axis."""
    return _together(records, Interval.stacked, np.stack)


def joined(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Records of arrays and intervals as one record, along their first axis."""
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
