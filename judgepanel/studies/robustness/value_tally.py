"""Exact, order-independent partial sums of item values over splits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import Estimate, estimate
from judgepanel.studies.partials import by_split, frozen, summed

_UNIT = 2.0**40


@frozen
class ValueTally:
    """V values of the items of S splits.

    ``sums`` int64 (V, N) is in units of 2^-40, ``seen`` (N,) counts evaluations; ``split_means``
    (S, V), ``n_calibration`` and ``n_evaluation`` (S,) are in the order of ``numbers``. Not every
    item that does not calibrate has to be evaluated.
    """

    numbers: Ints = by_split()
    n_calibration: Ints = by_split()
    n_evaluation: Ints = by_split()
    split_means: Floats = by_split()
    sums: Ints = summed()
    seen: Ints = summed()

    def item_means(self, values: slice = slice(None)) -> Floats:
        """Mean over its evaluations of every item that has any, (n, n_seen)."""
        seen = self.seen > 0
        return np.asarray(self.sums[values][:, seen] / (_UNIT * self.seen[seen]))

    def contrasts(self, weights: Floats, units: Ints) -> Estimate:
        """Estimates of ``weights @ values``, weights (n, V); all but values NaN from one split."""
        seen = self.seen > 0
        items = weights @ self.item_means()
        splits = self.split_means @ weights.T
        if len(splits) < 2:
            return Estimate.of_one_split(items.mean(axis=1))
        n_calibration, n_evaluation = self.n_calibration.mean(), self.n_evaluation.mean()
        return estimate(
            items,
            splits,
            units[seen],
            float(n_calibration),
            float(n_evaluation),
            n_others=float(len(units) - n_calibration),
            joint=False,
        )


def tally_values(
    scored: Iterable[tuple[int, Ints, int, Floats]], n_items: int, n_values: int
) -> ValueTally:
    """Sum (number of the split, scored rows, n_calibration, values (V, n_rows))."""
    sums = np.zeros((n_values, n_items), dtype=np.int64)
    seen = np.zeros(n_items, dtype=np.int64)
    numbers, calibrated, evaluated, means = [], [], [], []
    for number, rows, n_calibration, values in scored:
        sums[:, rows] += np.round(values * _UNIT).astype(np.int64)
        seen[rows] += 1
        numbers.append(number)
        calibrated.append(n_calibration)
        evaluated.append(len(rows))
        means.append(values.mean(axis=1))
    return ValueTally(
        np.array(numbers, dtype=np.int64),
        np.array(calibrated, dtype=np.int64),
        np.array(evaluated, dtype=np.int64),
        np.array(means).reshape(-1, n_values),
        sums,
        seen,
    )
