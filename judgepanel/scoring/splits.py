"""Calibration/evaluation splits: seeded, groups kept whole, one random stream per split.

Units are what is drawn, left out and counted as one: a group of items, or a single item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Ints
from judgepanel.votes.errors import InputError

Codes = NDArray[np.int64]

_FOLDABLE = 4
"""Number of units from which two calibrate and at least one is left, whatever their sizes."""


def unit_codes(units: Codes) -> tuple[Codes, int]:
    """Number the units that are present from 0, in their order; return also how many there are.

    Parameters
    ----------
    units : int (n,), codes of at least 0, of which some may be absent.

    Returns
    -------
    codes : int (n,), without gaps.
    n_units : number of different codes.
    """
    present = np.zeros(int(units.max(initial=-1)) + 1, dtype=bool)
    present[units] = True
    number = np.cumsum(present)
    return number[units] - 1, int(number[-1]) if len(number) else 0


def n_share(n_items: int, fraction: float) -> int:
    """Number of items in a fraction of them, rounded down: 63 of 90 for .7, which is 62.99... ."""
    return int(np.floor(n_items * fraction * (1.0 + 1e-12)))


def are_single(units: Codes) -> bool:
    """Whether no two items share a unit; ``units`` (n,) are codes of at least 0."""
    return int(np.bincount(units).max(initial=0)) <= 1


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One split: its ``number``, and two disjoint, sorted int arrays of item positions."""

    number: int
    calibration: Ints
    evaluation: Ints


def split(units: Ints, number: int, *, fraction: float = 0.5, seed: int = 0) -> Split:
    """Draw split ``number`` from ``SeedSequence(seed, spawn_key=(number,))``.

    Units (groups, or single items) are permuted and assigned to calibration until it holds as close
    to ``fraction`` of the items as whole units allow: at least two of four or more, since choices
    inside calibration need folds. A split depends on no other split, worker or order of work: the
    first ten of a hundred splits equal ten splits.

    Parameters
    ----------
    units : int (n_items,), codes 0..n_units-1 (:attr:`judgepanel.votes.VoteMatrix.units`).
    fraction : share of items that calibrate, in (0, 1).

    Raises
    ------
    InputError
        Fewer than two units, or a fraction outside (0, 1).
    """
    if not 0.0 < fraction < 1.0:
        raise InputError("the calibration share must lie between 0 and 1", value=fraction)
    n_items = len(units)
    n_units = int(units.max()) + 1 if n_items else 0
    if n_units < 2:
        raise InputError("at least 2 items (or groups of items) with labels are needed to split")
    least = 2 if n_units >= _FOLDABLE else 1
    calibrates = _share(units, n_units, fraction, seed, (number,), least=least)
    return Split(number, np.flatnonzero(calibrates), np.flatnonzero(~calibrates))


def subsplit(
    units: Ints, rows: Ints, *, fraction: float, seed: int, key: tuple[int, ...]
) -> tuple[Ints, Ints]:
    """Divide ``rows`` in two, units whole: about ``fraction`` of them, and the rest.

    The stream is ``SeedSequence(seed, spawn_key=key)``; both parts are sorted positions.

    Raises
    ------
    InputError
        Fewer than two units among the rows.
    """
    codes, n_units = unit_codes(units[rows])
    if n_units < 2:
        raise InputError("at least 2 items (or groups of items) are needed to hold some out")
    first = _share(codes, n_units, fraction, seed, key)
    return rows[first], rows[~first]


def fold_of(inner_splits: Sequence[Split], n_items: int) -> Ints:
    """Number of the fold that evaluates each item, (n_items,); -1 if none does."""
    fold = np.full(n_items, -1, dtype=np.int64)
    for inner in inner_splits:
        fold[inner.evaluation] = inner.number
    return fold


def nested_rows(
    units: Ints, rows: Ints, sizes: Sequence[int], *, seed: int, key: tuple[int, ...]
) -> list[Ints]:
    """Return nested subsets of ``rows`` of the given ``sizes``, from one random order, sorted.

    Units stay whole, so a subset is as close to its size as they allow and holds at least one unit;
    smaller subsets lie inside larger ones. The stream is ``SeedSequence(seed, spawn_key=key)``.
    """
    codes, n_units = unit_codes(units[rows])
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    order = rng.permutation(n_units)
    reached = np.cumsum(np.bincount(codes)[order])
    place = np.empty(n_units, dtype=np.int64)
    place[order] = np.arange(n_units)
    return [rows[place[codes] <= int(np.abs(reached - size).argmin())] for size in sizes]


def _share(
    units: Ints,
    n_units: int,
    fraction: float,
    seed: int,
    key: tuple[int, ...],
    *,
    least: int = 1,
) -> NDArray[np.bool_]:
    """Mask of items in the units drawn until their share is as close as whole units allow.

    At least ``least`` units are drawn, and one is left.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    order = rng.permutation(n_units)
    reached = np.cumsum(np.bincount(units, minlength=n_units)[order])
    away = np.abs(reached[:-1] - n_share(len(units), fraction))
    cut = least + int(np.argmin(away[least - 1 :]))
    chosen = np.zeros(n_units, dtype=bool)
    chosen[order[:cut]] = True
    return chosen[units]


def folds(units: Ints, rows: Ints, n_folds: int, *, seed: int, key: tuple[int, ...]) -> list[Split]:
    """K-fold partition of ``rows`` inside one side of a split; units stay whole.

    Returns splits whose ``calibration`` and ``evaluation`` are positions into the full array. The
    stream is ``SeedSequence(seed, spawn_key=key)``. There are at most as many folds as units.
    """
    codes, n_units = unit_codes(units[rows])
    n_folds = min(n_folds, n_units)
    if n_folds < 2:
        raise InputError(
            "too few labels: the calibration rows of a split are cut into folds, and that needs at "
            "least 2 items (or groups of items)",
            value=n_units,
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    fold_of = np.empty(n_units, dtype=np.int64)
    fold_of[rng.permutation(n_units)] = np.arange(n_units) % n_folds
    item_fold = fold_of[codes]
    return [Split(f, rows[item_fold != f], rows[item_fold == f]) for f in range(n_folds)]
