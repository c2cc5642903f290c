"""What the pipeline ablation found: figures by panel and step, and sets by level and panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.conformal import SET_NAMES
from judgepanel.studies.accumulate import METRICS
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
"""The step each one is held against."""


@dataclass(frozen=True, slots=True, eq=False)
class PipelineAblation(SplitResult):
    """Result of the study ``pipeline_ablation``.

    Arrays are (n_panels, n_steps) in the order of ``k`` and ``steps``. NLL is in nats per item,
    Brier, ECE and accuracy in [0, 1]; ``lo`` and ``hi`` bound 95 % intervals for new items (of ECE:
    the central 95 % of splits). ``delta`` is NLL(step) - NLL(the step it builds on), below 0 where
    it helps; ``residual_delta`` (n_panels,) is NLL(1-3) - NLL(1+3), what step 2 adds behind the
    same calibrator. Arrays of sets are (n_levels, n_panels): coverage and ``size`` in [0, 2] with
    intervals, and ``shares`` (n_levels, n_panels, 4) of ``SET_NAMES``. ``constant_nll`` (n_steps,)
    scores a constant in place of the votes, with the same features.
    """

    k: Ints
    steps: tuple[str, ...]
    aggregator: str
    calibrator: str
    features: tuple[str, ...]
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    brier: Floats
    brier_lo: Floats
    brier_hi: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    ece: Floats
    ece_lo: Floats
    ece_hi: Floats
    delta: Floats
    delta_lo: Floats
    delta_hi: Floats
    residual_delta: Floats
    residual_lo: Floats
    residual_hi: Floats
    levels: tuple[float, ...]
    coverage: Floats
    coverage_lo: Floats
    coverage_hi: Floats
    size: Floats
    size_lo: Floats
    size_hi: Floats
    shares: Floats
    n_slice: float
    null_nll: float
    constant_nll: Floats
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "step": "Step of the pipeline.",
            "delta": "NLL of the step less that of the step it builds on; below 0 it helps.",
        }
    )

    @property
    def skill(self) -> Floats:
        """1 - NLL / NLL_null of every step."""
        return np.asarray(1.0 - self.nll / self.null_nll)

    def frame(self) -> pd.DataFrame:
        """One row per panel and step; sets are in the rows of step 1-4."""
        n_k, n_steps = self.nll.shape
        raw = ("1", "1-2")
        calibrators = np.array(
            ["none" if step in raw else self.calibrator for step in self.steps], dtype=object
        )
        columns: dict[str, Any] = {
            "k": np.repeat(self.k, n_steps),
            "step": np.tile(np.array(self.steps, dtype=object), n_k),
            "aggregator": self.aggregator,
            "calibrator": np.tile(calibrators, n_k),
            "n_splits": self.n_splits,
        }
        for metric in METRICS:
            for suffix in ("", "_lo", "_hi"):
                columns[metric + suffix] = getattr(self, metric + suffix).ravel()
        columns["null_nll"] = self.null_nll
        columns["skill"] = self.skill.ravel()
        columns["constant_nll"] = np.tile(self.constant_nll, n_k)
        for name in ("delta", "delta_lo", "delta_hi"):
            columns[name] = getattr(self, name).ravel()
        with_sets = np.array(self.steps) == "1-4"
        for name, values in self._sets().items():
            columns[name] = np.where(with_sets, values[:, None], np.nan).ravel()
        return pd.DataFrame(columns)

    def _sets(self) -> dict[str, Floats]:
        """Figures of the sets (n_panels,), each named after its level: ``coverage_80_lo``."""
        sets: dict[str, Floats] = {}
        for row, level in enumerate(self.levels):
            percent = round(100 * level)
            for name in ("coverage", "size"):
                for suffix in ("", "_lo", "_hi"):
                    sets[f"{name}_{percent}{suffix}"] = getattr(self, name + suffix)[row]
            for kind, name in enumerate(SHARE_NAMES):
                sets[f"share_{percent}_{name}"] = self.shares[row, :, kind]
        return sets

    def summary(self) -> dict[str, Any]:
        """What each step changes for all judges, and the sets of step 4."""
        return {
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "features": list(self.features),
            "steps": [
                {
                    "step": name,
                    "nll": float(self.nll[-1, i]),
                    "skill": float(self.skill[-1, i]),
                    "delta": float(self.delta[-1, i]),
                    "delta_lo": _finite(self.delta_lo[-1, i]),
                    "delta_hi": _finite(self.delta_hi[-1, i]),
                }
                for i, name in enumerate(self.steps)
            ],
            "sets": [
                {
                    "level": level,
                    "coverage": float(self.coverage[i, -1]),
                    "coverage_lo": _finite(self.coverage_lo[i, -1]),
                    "coverage_hi": _finite(self.coverage_hi[i, -1]),
                    "size": float(self.size[i, -1]),
                    "shares": dict(zip(SET_NAMES, self.shares[i, -1].tolist(), strict=True)),
                }
                for i, level in enumerate(self.levels)
            ],
            "null_nll": self.null_nll,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "n_calibration": self.n_calibration,
            "n_slice": self.n_slice,
            "partial": self.partial,
        }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
