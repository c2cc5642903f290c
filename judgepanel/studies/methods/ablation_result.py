"""Result of the pipeline ablation: figures by panel and step, and sets by level and panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.conformal import SET_NAMES
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import METRICS
from judgepanel.studies.codec import to_plain
from judgepanel.studies.frames import long_frame
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEP_WORDS = {
    "1": "aggregator",
    "1-2": "+ residual correction",
    "1-3": "+ calibrator",
    "1-4": "+ conformal sets",
    "1+3": "calibrator without step 2",
}
SHARE_NAMES = ("neither", "only_0", "only_1", "both")
BEFORE = {"1": "1", "1-2": "1", "1-3": "1-2", "1-4": "1-3", "1+3": "1"}
"""The step with which each one is compared."""


@dataclass(frozen=True, slots=True, eq=False)
class PipelineAblation(SplitResult):
    """Result of the study ``pipeline_ablation``.

    Arrays are (n_panels, n_steps) in the order of ``k`` and ``steps``. NLL is in nats per item,
    Brier, ECE and accuracy in [0, 1], with 95 % intervals for new items (of ECE: the central 95 %
    of splits). ``delta`` is NLL(step) - NLL(the step it builds on), below 0 if it helps;
    ``residual_delta`` (n_panels,) is NLL(1-3) - NLL(1+3), the effect of step 2 before the same
    calibrator. Sets are (n_levels, n_panels): ``coverage`` and ``size`` in [0, 2] with intervals,
    and ``shares`` (n_levels, n_panels, 4) of ``SET_NAMES``. ``constant_nll`` (n_steps,) is the NLL
    of a constant score instead of votes, with the same features.
    """

    k: Ints
    steps: tuple[str, ...]
    aggregator: str
    calibrator: str
    features: tuple[str, ...]
    nll: Interval
    brier: Interval
    accuracy: Interval
    ece: Interval
    delta: Interval
    residual_delta: Interval
    levels: tuple[float, ...]
    coverage: Interval
    size: Interval
    shares: Floats
    n_slice: float
    null_nll: float
    constant_nll: Floats
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "step": "Step of the pipeline.",
            "delta": "NLL of the step minus that of the step it builds on; below 0 it helps.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """Return one row per panel and step; sets are in the rows of step 1-4."""
        raw = ("1", "1-2")
        return long_frame(
            self.nll.shape,
            {
                "k": self.k[:, None],
                "step": self.steps,
                "aggregator": self.aggregator,
                "calibrator": ["none" if step in raw else self.calibrator for step in self.steps],
                "n_splits": self.n_splits,
                **{metric: getattr(self, metric) for metric in METRICS},
                "null_nll": self.null_nll,
                "skill": 1.0 - self.nll.value / self.null_nll,
                "constant_nll": self.constant_nll,
                "delta": self.delta,
                **self._sets(),
            },
        )

    def _sets(self) -> dict[str, Any]:
        """Return figures of the sets (n_panels, n_steps), named by level."""
        with_sets = np.array(self.steps) == "1-4"
        sets: dict[str, Any] = {}
        for row, level in enumerate(self.levels):
            percent = round(100 * level)
            sets[f"coverage_{percent}"] = self.coverage[row, :, None].where(with_sets)
            sets[f"size_{percent}"] = self.size[row, :, None].where(with_sets)
            for name, share in zip(SHARE_NAMES, self.shares[row].T, strict=True):
                sets[f"share_{percent}_{name}"] = np.where(with_sets, share[:, None], np.nan)
        return sets

    def decisions(self) -> dict[str, Any]:
        """Return the effect of each step for all judges, and the sets of step 4."""
        steps = [
            {
                "step": step,
                "nll": nll,
                "skill": 1.0 - nll / self.null_nll,
                "delta": delta,
                "delta_lo": lo,
                "delta_hi": hi,
            }
            for step, nll, delta, lo, hi in zip(
                self.steps, self.nll.value[-1], *self.delta[-1], strict=True
            )
        ]
        sets = [
            {
                "level": level,
                "coverage": coverage,
                "coverage_lo": lo,
                "coverage_hi": hi,
                "size": size,
                "shares": dict(zip(SET_NAMES, shares, strict=True)),
            }
            for level, coverage, lo, hi, size, shares in zip(
                self.levels,
                *self.coverage[:, -1],
                self.size.value[:, -1],
                self.shares[:, -1],
                strict=True,
            )
        ]
        return {"features": list(self.features), "steps": to_plain(steps), "sets": to_plain(sets)}
