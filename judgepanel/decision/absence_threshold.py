"""The threshold of the fallback: the share of absent weight beyond which it scores an item.

Every measured row was scored twice, by the panel's own rule and by the fallback. A threshold
decides which of the two counts, and its NLL is the mean over rows and absences: half of the weight
is on no judge being absent, so that ordinary gaps in the votes count as much as outages; the other
half is shared equally by all other absences. Of ``GRID`` thresholds, the largest within one
standard error of the best is chosen; the largest of all means no fallback.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats, Ints

NEVER = 1.0
GRID = 60
_SMALLEST = 1e-6
"""A complete item is scored by the panel itself, as is one short of it by rounding error."""
_KEY = (7, 61)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """NLL (n_arms, n_rows) by the panel's rule (``main``) and by the fallback (``other``).

    ``missing`` is the share of absent weight, same shape.
    """

    main: Floats
    other: Floats
    missing: Floats

    def under(self, limits: Floats) -> Floats:
        """NLL (n_arms, n_rows) if the fallback scores beyond ``limits`` (n_rows,)."""
        return np.where(self.missing > limits, self.other, self.main)


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Losses of one fold.

    ``new`` are losses on its own ``rows``, ``common`` on rows ``shared`` with all other folds, most
    of which were in the fit. ``owner`` (n_arms,) is the absence to which an arm belongs, 0 for
    none.
    """

    rows: Ints
    shared: Ints
    owner: Ints
    new: Scored
    common: Scored
    n_calibration: int

    def averaged(self, values: Floats) -> Floats:
        """Return means over the draws of each absence, (n_figures, n_rows)."""
        starts = np.flatnonzero(np.r_[True, np.diff(self.owner) > 0])
        sums = np.add.reduceat(values, starts, axis=0)
        return np.asarray(sums / np.bincount(self.owner)[:, None])

    def between_draws(self, values: Floats) -> Floats:
        """Variance between the means of draws, (n_figures,); 0 for a single draw."""
        means, counts = values.mean(axis=1), np.bincount(self.owner)
        centred = means - (np.bincount(self.owner, means) / counts)[self.owner]
        return np.asarray(np.bincount(self.owner, centred**2) / np.maximum(counts - 1, 1))

    def gains(self, grid: Floats) -> Floats:
        """NLL saved on each row by falling back beyond each threshold, (n_grid, n_rows)."""
        counts = np.bincount(self.owner)
        n_others = max(len(counts) - 1, 1)
        weights = np.where(self.owner == 0, 0.5, 0.5 / n_others / counts[self.owner])
        saved = weights[:, None] * (self.new.main - self.new.other)
        return np.array([(saved * (self.new.missing > limit)).sum(axis=0) for limit in grid])


@dataclass(frozen=True, slots=True, eq=False)
class Threshold:
    """``beyond`` from all items; ``cross`` (n_items,) for each item from the half it is not in."""

    beyond: float
    cross: Floats


def threshold(losses: list[Losses], units: Ints, seed: int) -> Threshold:
    """Choose the threshold on measured rows; units stay whole when items are halved."""
    shares = np.concatenate([one_loss.new.missing.ravel() for one_loss in losses])
    levels = np.unique(np.quantile(shares, np.linspace(0.0, 1.0, GRID)))
    between = (levels[1:] + levels[:-1]) / 2.0
    grid = np.append(between[between > _SMALLEST], NEVER)
    n_units = int(units.max()) + 1
    gains, times = np.zeros((n_units, len(grid))), np.zeros(n_units)
    for loss in losses:
        np.add.at(gains, units[loss.rows], loss.gains(grid).T)
        np.add.at(times, units[loss.rows], 1.0)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_KEY))
    half = rng.permutation(n_units) % 2 == 0
    first, second = (
        _taken(grid, gains[side & (times > 0)], times[side & (times > 0)]) for side in (half, ~half)
    )
    return Threshold(
        beyond=_taken(grid, gains[times > 0], times[times > 0]),
        cross=np.where(half[units], second, first),
    )


def _taken(grid: Floats, gains: Floats, times: Floats) -> float:
    """The largest threshold within one standard error of the best.

    ``gains`` (n_units, n_grid) are sums over ``times`` (n_units,) rows.
    """
    if not len(times):
        return NEVER
    total = times.sum()
    behind = gains[:, [int(gains.sum(axis=0).argmax())]] - gains
    mean = behind.sum(axis=0) / total
    error = np.sqrt(((behind - mean * times[:, None]) ** 2).sum(axis=0)) / total
    return float(grid[mean <= error].max())
