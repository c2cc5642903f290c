"""What :data:`DIFFICULTY_TRANSFER` finds: a matrix of scores from every source to every target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.codec import to_plain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Source = Literal["easy", "hard", "all"]
Target = Literal["easy", "hard"]
SOURCES: tuple[Source, ...] = ("easy", "hard", "all")
TARGETS: tuple[Target, ...] = ("easy", "hard")
ABROAD: tuple[tuple[int, int], ...] = ((0, 1), (1, 0))
"""Cells that leave home: easy to hard, hard to easy."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell in words and numbers, all in nats; see :class:`DifficultyTransfer`."""

    calibrator: str
    method: str
    source: str
    target: str
    nll: float
    nll_lo: float
    nll_hi: float
    accuracy: float
    accuracy_lo: float
    accuracy_hi: float
    null_nll: float
    constant_nll: float
    delta: float
    delta_lo: float
    delta_hi: float
    p: float
    p_holm: float
    gain: float
    gain_lo: float
    gain_hi: float
    effective: float


@dataclass(frozen=True, slots=True, eq=False)
class DifficultyTransfer:
    """Result of :data:`DIFFICULTY_TRANSFER`.

    Cells are (n_calibrators, n_methods, n_sources, n_targets) in the order of ``calibrators``,
    ``methods``, ``SOURCES`` and ``TARGETS``. ``nll`` is in nats per item, ``accuracy`` in [0, 1],
    with 95 % intervals for new items of the target and panels fitted on ``n_labels`` labels of the
    source. ``null_nll`` (n_sources, n_targets) is the base rate of the source's labels on the
    target; ``constant_nll`` (n_calibrators, n_sources, n_targets) a constant score through the
    plainly fitted calibrator.

    ``delta`` is NLL(source to target) - NLL(target to itself) under the same method, above 0 where
    the source is the worse teacher; 0 at home. ``p_holm`` is its p-value among both ways abroad
    (easy to hard, hard to easy) and NaN elsewhere. ``gain`` is NLL(method) - NLL(plain) in the same
    cell, below 0 where the method helps. ``effective`` (n_sources, n_targets) is the effective
    number of labels under importance weights as a share of ``n_labels``, ``clipped`` the share of
    weights that was cut back.

    Easy are the items up to ``easy_to`` and hard those from ``hard_from`` on, in units of ``by``;
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
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    null_nll: Floats
    constant_nll: Floats
    delta: Floats
    delta_lo: Floats
    delta_hi: Floats
    p: Floats
    p_holm: Floats
    gain: Floats
    gain_lo: Floats
    gain_hi: Floats
    effective: Floats
    clipped: Floats
    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
    n_judges: int
    n_splits: int
    planned_splits: int
    seed: int
    warnings: tuple[str, ...]

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "method": "How the panel is fitted for the other kind of items.",
            "source": "Items whose labels fit the panel.",
            "target": "Items that it is scored on.",
            "delta": "NLL from source to target less that of the target's own labels, in nats.",
            "gain": "NLL of the method less that of plain fitting, in nats; below 0 it helps.",
            "effective": "Effective number of labels under importance weights, as a share.",
            "null_nll": "NLL of the base rate of the source's labels on the target.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    def cell(self, calibrator: str, method: str, source: str, target: str) -> Cell:
        """One cell by name."""
        c, m = self.calibrators.index(calibrator), self.methods.index(method)
        s, t = SOURCES.index(source), TARGETS.index(target)
        at = (c, m, s, t)
        values = {name: float(getattr(self, name)[at]) for name in _BY_CELL}
        return Cell(
            calibrator=calibrator,
            method=method,
            source=source,
            target=target,
            null_nll=float(self.null_nll[s, t]),
            constant_nll=float(self.constant_nll[c, s, t]),
            effective=float(self.effective[s, t]) if method == "weighted" else 1.0,
            **values,
        )

    def cells(self) -> tuple[Cell, ...]:
        """All cells, in the order of the arrays."""
        return tuple(
            self.cell(calibrator, method, source, target)
            for calibrator in self.calibrators
            for method in self.methods
            for source in SOURCES
            for target in TARGETS
        )

    def frame(self) -> pd.DataFrame:
        """One row per cell."""
        table = pd.DataFrame([to_plain(cell) for cell in self.cells()])
        table.insert(0, "aggregator", self.aggregator)
        table.insert(5, "labels", self.n_labels)
        table["skill"] = 1.0 - table["nll"] / table["null_nll"]
        floats = [name for name in (*_BY_CELL, "effective") if name in table]
        table[floats] = table[floats].astype(float)
        return table

    def summary(self) -> dict[str, Any]:
        """Both ways abroad under every calibrator and method, and what was run."""
        return {
            "abroad": [
                to_plain(self.cell(calibrator, method, SOURCES[s], TARGETS[t]))
                for calibrator in self.calibrators
                for method in self.methods
                for s, t in ABROAD
            ],
            "by": self.by,
            "share": self.share,
            "easy_to": self.easy_to,
            "hard_from": self.hard_from,
            "n_easy": int(self.n_target[0]),
            "n_hard": int(self.n_target[1]),
            "n_labels": self.n_labels,
            "null_nll": self.null_nll.tolist(),
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "partial": self.partial,
        }


_BY_CELL = (
    "nll",
    "nll_lo",
    "nll_hi",
    "accuracy",
    "accuracy_lo",
    "accuracy_hi",
    "delta",
    "delta_lo",
    "delta_hi",
    "p",
    "p_holm",
    "gain",
    "gain_lo",
    "gain_hi",
)
