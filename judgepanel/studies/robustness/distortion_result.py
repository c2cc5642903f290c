"""Result of :data:`DISTORTION`: which calibrators repair which distortions of the raw score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.interval import Interval
from judgepanel.studies.frames import long_frame
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Distortion(SplitResult):
    """Result of :data:`DISTORTION`.

    Arrays are (n_distortions + 1, n_calibrators): rows follow ``distortions``, whose first is the
    undistorted score. ``nll`` (nats) and ``accuracy`` have 95 % intervals for new items. ``change``
    is NLL - NLL of the same calibrator on undistorted scores, with a 95 % interval; ``p`` is from
    two one-sided tests of |change| < ``margin``, 2 % of the latter NLL, and ``outcomes`` are
    ``repaired``, ``harmed``, ``better`` or ``undecided``.
    """

    aggregator: str
    distortions: tuple[str, ...]
    calibrators: tuple[str, ...]
    nll: Interval
    accuracy: Interval
    change: Interval
    p: Floats
    margin: Floats
    outcomes: tuple[tuple[str, ...], ...]
    null_nll: float
    constant_nll: Floats
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "distortion": "How the score was distorted.",
            "change": "NLL minus that of the same calibrator on undistorted scores, in nats.",
            "margin": "2 % of the NLL on undistorted scores, in nats.",
            "p": "p-value of two one-sided tests that the change is within the margin.",
            "outcome": "Repaired, harmed, better or undecided.",
        }
    )

    def repaired_by(self, calibrator: str) -> tuple[str, ...]:
        """Return the distortions that a calibrator repairs."""
        c = self.calibrators.index(calibrator)
        rows = zip(self.distortions[1:], self.outcomes[1:], strict=True)
        return tuple(name for name, row in rows if row[c] == "repaired")

    def frame(self) -> pd.DataFrame:
        """One row per distortion and calibrator."""
        return long_frame(
            self.nll.shape,
            {
                "aggregator": self.aggregator,
                "distortion": np.array(self.distortions)[:, None],
                "calibrator": self.calibrators,
                "n_splits": self.n_splits,
                "seed": self.seed,
                "nll": self.nll,
                "accuracy": self.accuracy,
                "change": self.change,
                "margin": self.margin,
                "p": self.p,
                "outcome": self.outcomes,
                "null_nll": self.null_nll,
                "constant_nll": self.constant_nll,
                "skill": 1.0 - self.nll.value / self.null_nll,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the distortions that each calibrator repairs."""
        return {"repaired": {name: list(self.repaired_by(name)) for name in self.calibrators}}
