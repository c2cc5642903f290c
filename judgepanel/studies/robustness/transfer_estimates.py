"""Levels, losses and gains from the scores of (sources x methods) arms on two targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import estimate, holm
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.studies.accumulate import ITEM_METRICS, METRICS, Tally
from judgepanel.studies.compare import RANGES
from judgepanel.studies.robustness.difficulty_transfer_result import ABROAD, SOURCES
from judgepanel.studies.robustness.strata import Strata

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def transfer_estimates(tallies: tuple[Tally, ...], units: Ints, strata: Strata) -> dict[str, Any]:
    """Return the score-based fields of :class:`DifficultyTransfer`; NaN ends from a single split.

    Labels are sampled from the source's items and scores from the target's: the variance of the
    former depends on how many other labels the source has (docs/inference.md).
    """
    n_c = tallies[0].item_sums.shape[1]
    # TARGETS are the first of SOURCES.
    readers = [
        [_Reader(scores, units, strata, c, home) for home, scores in enumerate(tallies)]
        for c in range(n_c)
    ]
    losses = [[reader.loss() for reader in row] for row in readers]
    p = np.stack([np.stack([values for _, values in row], axis=-1) for row in losses])
    nll = _matrix([[reader.level("nll") for reader in row] for row in readers])
    accuracy = _matrix([[reader.level("accuracy", "share") for reader in row] for row in readers])
    return {
        "nll": nll.clip(*RANGES["nll"]),
        "accuracy": accuracy.clip(*RANGES["accuracy"]),
        "delta": _matrix([[delta for delta, _ in row] for row in losses]),
        "p": p,
        "p_holm": _holm_abroad(p),
        "gain": _matrix([[reader.gain() for reader in row] for row in readers]),
        "null_nll": np.stack([scores.null_nll.mean(axis=0) for scores in tallies], axis=-1),
        "constant_nll": np.stack([scores.constant_nll.mean(axis=0) for scores in tallies], axis=-1),
    }


def _matrix(rows: list[list[Interval]]) -> Interval:
    """Return one array: calibrators first, targets last, (methods, sources) in between."""
    return Interval.stacked([Interval.stacked(row, axis=-1) for row in rows])


class _Reader:
    """Reads the arms of one target and calibrator as (methods, sources, ...)."""

    def __init__(self, scores: Tally, units: Ints, strata: Strata, c: int, home: int) -> None:
        item_means, seen = scores.item_means()
        self.items = item_means[:, c, :-1]
        self.splits = scores.split_means[:, :, c, :-1]
        self.units = units[seen]
        self.home = home
        self.n_labels = float(scores.n_calibration.mean())
        self.n_scored = float(scores.n_evaluation.mean())
        pools = np.array([len(strata.easy), len(strata.hard), len(units)], dtype=np.float64)
        self.others = np.maximum(pools - self.n_labels, 1.0)

    def level(self, metric: str, unit: Unit = "nats") -> Interval:
        """Return the scores of every cell."""
        return self._estimated(*self._arms(metric), self.others, unit)[0]

    def loss(self) -> tuple[Interval, Floats]:
        """Return NLL minus that of the target's own source under the same method, and p-values."""
        items, splits = (arms - arms[:, [self.home]] for arms in self._arms("nll"))
        others = np.minimum(self.others, self.others[self.home])
        loss, p = self._estimated(items, splits, others)
        p[:, self.home] = np.nan  # no test within a stratum
        return loss, p

    def gain(self) -> Interval:
        """Return NLL minus that of the first method from the same source."""
        items, splits = (arms - arms[[0]] for arms in self._arms("nll"))
        return self._estimated(items, splits, self.others)[0]

    def _arms(self, metric: str) -> tuple[Floats, Floats]:
        """Return item means (methods, sources, n) and split means (methods, sources, S)."""
        items, splits = (
            values.reshape(len(SOURCES), -1, values.shape[-1]).swapaxes(0, 1)
            for values in (
                self.items[ITEM_METRICS.index(metric)],
                self.splits[:, METRICS.index(metric)].T,
            )
        )
        return items, splits

    def _estimated(
        self, items: Floats, splits: Floats, others: Floats, unit: Unit = "nats"
    ) -> tuple[Interval, Floats]:
        """Return intervals and p-values, (methods, sources) each."""
        shape = items.shape[:2]
        if splits.shape[-1] < 2:
            none = np.full(shape, np.nan)
            return Interval(items.mean(axis=-1), none, none, unit=unit), none
        fitted = estimate(
            items.reshape(-1, items.shape[-1]),
            splits.reshape(-1, splits.shape[-1]).T,
            self.units,
            self.n_labels,
            self.n_scored,
            n_others=np.broadcast_to(others, shape).ravel(),
            joint=False,
        )
        return Interval.of(fitted, unit).reshape(*shape), fitted.p.reshape(shape)


def _holm_abroad(p: Floats) -> Floats:
    """Holm over both transfers, for every calibrator and method; NaN in the other cells."""
    abroad = np.full(p.shape, np.nan)
    for c, m in np.ndindex(p.shape[:2]):
        adjusted = holm([p[c, m, s, t] for s, t in ABROAD])
        for (s, t), value in zip(ABROAD, adjusted, strict=True):
            abroad[c, m, s, t] = value
    return abroad
