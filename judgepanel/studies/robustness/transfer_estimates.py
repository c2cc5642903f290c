"""From scores of (sources x methods) arms on two targets to levels, losses and gains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import Estimate, estimate
from judgepanel.scoring.multiplicity import holm
from judgepanel.studies.accumulate import ITEM_METRICS, METRICS, Tally
from judgepanel.studies.compare import RANGES
from judgepanel.studies.robustness.difficulty_transfer_result import ABROAD, SOURCES, TARGETS
from judgepanel.studies.robustness.strata import Strata

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def transfer_estimates(tallies: tuple[Tally, ...], units: Ints, strata: Strata) -> dict[str, Any]:
    """Fields of :class:`DifficultyTransfer` that rest on scores; bounds are NaN from one split.

    Labels are drawn from the source's items and scores from the target's: the variance of the
    former counts how many other labels the source could have given (docs/inference.md).
    """
    n_c, n_m = tallies[0].item_sums.shape[1], tallies[0].n_arms // len(SOURCES)
    shape = (n_c, n_m, len(SOURCES), len(TARGETS))
    names = ("delta", "delta_lo", "delta_hi", "p", "gain", "gain_lo", "gain_hi")
    estimates = {name: np.full(shape, np.nan) for name in names}
    for metric in ("nll", "accuracy"):
        for suffix in ("", "_lo", "_hi"):
            estimates[metric + suffix] = np.full(shape, np.nan)
    for t, scores in enumerate(tallies):
        home = t  # TARGETS are the first of SOURCES
        for c in range(n_c):
            reader = _Reader(scores, units, strata, c, n_m)
            for metric in ("nll", "accuracy"):
                level = reader.levels(metric)
                bounds = (np.clip(end, *RANGES[metric]) for end in level[1:])
                for suffix, value in zip(("", "_lo", "_hi"), (level[0], *bounds), strict=True):
                    estimates[metric + suffix][c, :, :, t] = value
            loss = reader.losses(home)
            for name, value in zip(("delta", "delta_lo", "delta_hi", "p"), loss, strict=True):
                estimates[name][c, :, :, t] = value
            gain = reader.gains()
            for name, value in zip(("gain", "gain_lo", "gain_hi"), gain[:3], strict=True):
                estimates[name][c, :, :, t] = value
    estimates["p_holm"] = _holm_abroad(estimates["p"])
    estimates["null_nll"] = np.stack([scores.null_nll.mean(axis=0) for scores in tallies], axis=-1)
    estimates["constant_nll"] = np.stack(
        [tally.constant_nll.mean(axis=0) for tally in tallies], axis=-1
    )
    return estimates


class _Reader:
    """Reads the arms of one target and calibrator as (methods, sources, ...)."""

    def __init__(self, scores: Tally, units: Ints, strata: Strata, c: int, n_m: int) -> None:
        item_means, seen = scores.item_means()
        self.items = item_means[:, c, :-1]
        self.splits = scores.split_means[:, :, c, :-1]
        self.units = units[seen]
        self.shape = (len(SOURCES), n_m)
        self.n_labels = float(scores.n_calibration.mean())
        self.n_scored = float(scores.n_evaluation.mean())
        pools = np.array([len(strata.easy), len(strata.hard), len(units)], dtype=np.float64)
        self.others = np.maximum(pools - self.n_labels, 1.0)

    def _arms(self, metric: str) -> tuple[Floats, Floats]:
        """Item means (methods, sources, n) and split means (methods, sources, S)."""
        items = self.items[ITEM_METRICS.index(metric)].reshape(*self.shape, -1)
        splits = self.splits[:, METRICS.index(metric)].T.reshape(*self.shape, -1)
        return items.swapaxes(0, 1), splits.swapaxes(0, 1)

    def _estimated(self, items: Floats, splits: Floats, others: Floats) -> Estimate:
        flat = items.reshape(-1, items.shape[-1])
        return estimate(
            flat,
            splits.reshape(len(flat), -1).T,
            self.units,
            self.n_labels,
            self.n_scored,
            n_others=others.ravel(),
            joint=False,
        )

    def levels(self, metric: str) -> tuple[Floats, ...]:
        """Value, lower and upper bound of every cell, (methods, sources) each."""
        items, splits = self._arms(metric)
        return self._bounds(items, splits, self.others)[:3]

    def losses(self, home: int) -> tuple[Floats, ...]:
        """NLL above that of the source ``home`` under the same method: value, bounds and p."""
        items, splits = (arms - arms[:, [home]] for arms in self._arms("nll"))
        bounds = self._bounds(items, splits, np.minimum(self.others, self.others[home]))
        bounds[3][:, home] = np.nan  # nothing is tested at home
        return bounds

    def gains(self) -> tuple[Floats, ...]:
        """NLL above that of the first method from the same source: value, bounds and p."""
        items, splits = (arms - arms[[0]] for arms in self._arms("nll"))
        return self._bounds(items, splits, self.others)

    def _bounds(self, items: Floats, splits: Floats, others: Floats) -> tuple[Floats, ...]:
        shape = items.shape[:2]
        if splits.shape[-1] < 2:
            return items.mean(axis=-1), *(np.full(shape, np.nan) for _ in range(3))
        fitted = self._estimated(items, splits, np.broadcast_to(others, shape))
        return tuple(part.reshape(shape) for part in (fitted.value, fitted.lo, fitted.hi, fitted.p))


def _holm_abroad(p: Floats) -> Floats:
    """Holm over both ways abroad, for every calibrator and method; NaN in the other cells."""
    abroad = np.full(p.shape, np.nan)
    for c, m in np.ndindex(p.shape[:2]):
        adjusted = holm([p[c, m, s, t] for s, t in ABROAD])
        for (s, t), value in zip(ABROAD, adjusted, strict=True):
            abroad[c, m, s, t] = value
    return abroad
