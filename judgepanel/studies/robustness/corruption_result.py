"""What :data:`CORRUPTION` finds: scores of all judges and the top k as their votes get worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.compare import arm_name
from judgepanel.studies.robustness.vote_damage import CLEAN
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Slower = Literal["all judges", "the top k", "not told apart"]


@dataclass(frozen=True, slots=True, eq=False)
class Corruption(SplitResult):
    """Result of :data:`CORRUPTION`.

    ``scenarios`` (n,) and ``levels`` (n,) name the conditions, the clean panel first; ``changed``
    (n,) is the share of the evaluation votes that were flipped or removed. ``panels`` (n_panels,)
    are sizes, the last is all judges. ``nll`` (nats) and ``accuracy`` (n_panels, n) have 95 %
    intervals for new items. ``rise`` (n_panels, n) is NLL - NLL of the same panel on clean votes,
    with an interval condition by condition; ``drop`` the same of accuracy, turned around.
    ``gap`` (n_panels - 1, n) is rise(top-k) - rise(all), above 0 where all judges lose less;
    ``gap_lo`` and ``gap_hi`` hold at all levels of a scenario together. ``delta``
    (n_panels - 1, n) is NLL(top-k) - NLL(all) under the condition, with an interval each.
    """

    aggregator: str
    calibrator: str
    concentrated: float
    scenarios: tuple[str, ...]
    levels: Floats
    changed: Floats
    panels: Ints
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    rise: Floats
    rise_lo: Floats
    rise_hi: Floats
    drop: Floats
    drop_lo: Floats
    drop_hi: Floats
    gap: Floats
    gap_lo: Floats
    gap_hi: Floats
    delta: Floats
    delta_lo: Floats
    delta_hi: Floats
    null_nll: float
    n_judges: int

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return (*(arm_name(int(k)) for k in self.panels[:-1]), f"all {self.n_judges:,}")

    def of(self, scenario: str) -> Ints:
        """Positions of a scenario's conditions, levels rising; the clean panel is the first."""
        names = np.array(self.scenarios)
        return np.flatnonzero((names == scenario) | (names == CLEAN))

    def slower(self, panel: int, condition: int) -> Slower:
        """Which panel loses less, by the band of ``gap``."""
        if self.gap_lo[panel, condition] > 0:
            return "all judges"
        return "the top k" if self.gap_hi[panel, condition] < 0 else "not told apart"

    def frame(self) -> pd.DataFrame:
        """One row per panel and condition."""
        n_p, n = self.nll.shape
        none = np.full((1, n), np.nan)
        columns: dict[str, Any] = {
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "panel": np.repeat(np.array(self.arms, dtype=object), n),
            "k": np.repeat(self.panels, n),
            "scenario": np.tile(np.array(self.scenarios, dtype=object), n_p),
            "level": np.tile(self.levels, n_p),
            "changed": np.tile(self.changed, n_p),
            "n_splits": self.n_splits,
            "seed": self.seed,
        }
        for name in ("nll", "accuracy", "rise", "drop"):
            for suffix in ("", "_lo", "_hi"):
                columns[name + suffix] = getattr(self, name + suffix).ravel()
        columns["null_nll"] = self.null_nll
        columns["skill"] = 1.0 - columns["nll"] / self.null_nll
        for name in ("gap", "gap_lo", "gap_hi", "delta", "delta_lo", "delta_hi"):
            columns[name] = np.concatenate([getattr(self, name), none]).ravel()
        columns["degrades_slower"] = [
            "" if p == n_p - 1 or self.scenarios[i] == CLEAN else self.slower(p, i)
            for p in range(n_p)
            for i in range(n)
        ]
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """Who degrades slower, and what was run."""
        return {
            "degrades_slower": [
                {
                    "panel": self.arms[p],
                    "scenario": self.scenarios[i],
                    "level": float(self.levels[i]),
                    "outcome": self.slower(p, i),
                }
                for p in range(len(self.panels) - 1)
                for i in range(1, len(self.scenarios))
            ],
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
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
