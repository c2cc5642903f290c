"""Result of :data:`DIFFICULTY_TRANSFER`: a matrix of scores from every source to every target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.frames import long_frame
from judgepanel.studies.split_result import RunResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
