"""Result of :data:`DIFFICULTY_TRANSFER`: estimates from every source to every target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import estimate, holm
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.studies.accumulate import ITEM_METRICS, METRICS, Tally
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import RANGES
from judgepanel.studies.results import RunResult, long_frame
from judgepanel.studies.robustness.slices import Strata

Source = Literal["easy", "hard", "all"]
Target = Literal["easy", "hard"]
SOURCES: tuple[Source, ...] = ("easy", "hard", "all")
TARGETS: tuple[Target, ...] = ("easy", "hard")
ABROAD: tuple[tuple[int, int], ...] = ((0, 1), (1, 0))
"""Cells with transfer: easy to hard, hard to easy."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One cell in words and numbers; see :class:`DifficultyTransfer`."""

    calibrator: str
    method: str
    source: str
    target: str
    nll: Interval
    accuracy: Interval
    null_nll: float
    constant_nll: float
    delta: Interval
    p_holm: float
    gain: Interval
    effective: float


@dataclass(frozen=True, slots=True, eq=False)
class DifficultyTransfer(RunResult):
    """Result of :data:`DIFFICULTY_TRANSFER`.

    Cells are (n_calibrators, n_methods, n_sources, n_targets) in the order of ``calibrators``,
    ``methods``, ``SOURCES`` and ``TARGETS``. ``nll`` is in nats per item, ``accuracy`` in [0, 1],
    with 95 % intervals for new items of the target and panels fitted on ``n_labels`` labels of the
    source. ``null_nll`` (n_sources, n_targets) is the NLL of the source's base rate on the target;
    ``constant_nll`` (n_calibrators, n_sources, n_targets) that of a constant score through the
    plain calibrator.

    ``delta`` is NLL(source to target) - NLL(target to itself) under the same method, above 0 if the
    source is the worse training set; 0 within a stratum. ``p_holm`` is its p-value adjusted over
    both transfers (easy to hard, hard to easy) and NaN elsewhere. ``gain`` is NLL(method) -
    NLL(plain) in the same cell, below 0 if the method helps. ``effective`` (n_sources, n_targets)
    is the effective number of labels under importance weights as a share of ``n_labels``,
    ``clipped`` the share of clipped weights.

    While no split has easy and hard items on both sides, all of these are NaN.

    Items up to ``easy_to`` are easy and those from ``hard_from`` on are hard, in units of ``by``;
    ``n_target`` (n_targets,) counts them.
    """

    calibrators: tuple[str, ...]
    methods: tuple[str, ...]
    aggregator: str
    by: str
    share: float
    easy_to: float
    hard_from: float
    n_target: Ints
    n_labels: float
    nll: Interval
    accuracy: Interval
    null_nll: Floats
    constant_nll: Floats
    delta: Interval
    p: Floats
    p_holm: Floats
    gain: Interval
    effective: Floats
    clipped: Floats
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "method": "How the calibrator is transferred to the other kind of items.",
            "source": "Items whose labels the panel is fitted on.",
            "target": "Items on which it is scored.",
            "delta": "NLL from source to target minus that with the target's own labels, in nats.",
            "gain": "NLL of the method minus that of plain fitting, in nats; below 0 it helps.",
            "effective": "Effective number of labels under importance weights, as a share.",
            "null_nll": "NLL of the base rate of the source's labels on the target.",
        }
    )

    def cell(self, calibrator: str, method: str, source: str, target: str) -> Cell:
        """Return one cell by name."""
        c, m = self.calibrators.index(calibrator), self.methods.index(method)
        s, t = SOURCES.index(source), TARGETS.index(target)
        at = (c, m, s, t)
        return Cell(
            calibrator=calibrator,
            method=method,
            source=source,
            target=target,
            nll=self.nll[at],
            accuracy=self.accuracy[at],
            null_nll=float(self.null_nll[s, t]),
            constant_nll=float(self.constant_nll[c, s, t]),
            delta=self.delta[at],
            p_holm=float(self.p_holm[at]),
            gain=self.gain[at],
            effective=float(self.effective[s, t]) if method == "weighted" else 1.0,
        )

    def frame(self) -> pd.DataFrame:
        """One row per cell."""
        methods = np.array(self.methods)[:, None, None]
        return long_frame(
            self.nll.shape,
            {
                "aggregator": self.aggregator,
                "calibrator": np.array(self.calibrators)[:, None, None, None],
                "method": methods,
                "source": np.array(SOURCES)[:, None],
                "target": TARGETS,
                "labels": self.n_labels,
                "nll": self.nll,
                "accuracy": self.accuracy,
                "null_nll": self.null_nll,
                "constant_nll": self.constant_nll[:, None],
                "delta": self.delta,
                "p": self.p,
                "p_holm": self.p_holm,
                "gain": self.gain,
                "effective": np.where(methods == "weighted", self.effective, 1.0),
                "skill": 1.0 - self.nll.value / self.null_nll,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return both transfers under every calibrator and method."""
        cells = self.frame().drop(columns=["aggregator", "labels", "skill"])
        abroad = cells[(cells["source"] != "all") & (cells["source"] != cells["target"])]
        return {
            "abroad": to_plain(abroad.to_dict(orient="records")),
            "n_easy": int(self.n_target[0]),
            "n_hard": int(self.n_target[1]),
            "null_nll": self.null_nll.tolist(),
        }


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


def no_estimates(n_calibrators: int, n_methods: int) -> dict[str, Any]:
    """Return the score-based fields of :class:`DifficultyTransfer` while no split has scores."""
    matrix = (len(SOURCES), len(TARGETS))
    cells = (n_calibrators, n_methods, *matrix)
    return {
        "n_labels": np.nan,
        **{name: Interval.full(cells, np.nan) for name in ("nll", "delta", "gain")},
        "accuracy": Interval.full(cells, np.nan, "share"),
        **{name: np.full(cells, np.nan) for name in ("p", "p_holm")},
        "constant_nll": np.full((n_calibrators, *matrix), np.nan),
        **{name: np.full(matrix, np.nan) for name in ("null_nll", "effective", "clipped")},
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
