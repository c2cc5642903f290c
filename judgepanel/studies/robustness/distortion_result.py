"""What :data:`DISTORTION` finds: which calibrators repair which distortions of the raw score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Distortion(SplitResult):
    """Result of :data:`DISTORTION`.

    Arrays are (n_distortions + 1, n_calibrators): rows follow ``distortions``, whose first is the
    undistorted score. ``nll`` (nats) and ``accuracy`` have 95 % intervals for new items. ``change``
    is NLL - NLL of the same calibrator on undistorted scores, with a 95 % interval; ``p`` is that
    of two one-sided tests of |change| < ``margin``, 2 % of the latter, and ``outcomes`` what they
    say: ``repaired``, ``harmed``, ``better`` or ``undecided``.
    """

    aggregator: str
    distortions: tuple[str, ...]
    calibrators: tuple[str, ...]
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    change: Floats
    change_lo: Floats
    change_hi: Floats
    p: Floats
    margin: Floats
    outcomes: tuple[tuple[str, ...], ...]
    null_nll: float
    constant_nll: Floats
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "distortion": "What was done to the score.",
            "change": "NLL less that of the same calibrator on undistorted scores, in nats.",
            "margin": "2 % of the NLL on undistorted scores, in nats.",
            "p": "p-value of two one-sided tests that the change is within the margin.",
            "outcome": "Repaired, harmed, better or undecided.",
        }
    )

    def repaired_by(self, calibrator: str) -> tuple[str, ...]:
        """The distortions that cost a calibrator nothing."""
        c = self.calibrators.index(calibrator)
        rows = zip(self.distortions[1:], self.outcomes[1:], strict=True)
        return tuple(name for name, row in rows if row[c] == "repaired")

    def frame(self) -> pd.DataFrame:
        """One row per distortion and calibrator."""
        n_d, n_c = self.nll.shape
        columns: dict[str, Any] = {
            "aggregator": self.aggregator,
            "distortion": np.repeat(np.array(self.distortions, dtype=object), n_c),
            "calibrator": np.tile(np.array(self.calibrators, dtype=object), n_d),
            "n_splits": self.n_splits,
            "seed": self.seed,
        }
        for name in ("nll", "accuracy", "change"):
            for suffix in ("", "_lo", "_hi"):
                columns[name + suffix] = getattr(self, name + suffix).ravel()
        columns["margin"] = np.tile(self.margin, n_d)
        columns["p"] = self.p.ravel()
        columns["outcome"] = [outcome for row in self.outcomes for outcome in row]
        columns["null_nll"] = self.null_nll
        columns["constant_nll"] = np.tile(self.constant_nll, n_d)
        columns["skill"] = 1.0 - columns["nll"] / self.null_nll
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """What each calibrator repairs, and what was run."""
        return {
            "repaired": {name: list(self.repaired_by(name)) for name in self.calibrators},
            "aggregator": self.aggregator,
            "null_nll": self.null_nll,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "n_evaluation": self.n_evaluation,
            "seed": self.seed,
            "partial": self.partial,
        }
