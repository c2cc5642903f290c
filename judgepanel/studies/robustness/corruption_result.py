"""Result of :data:`CORRUPTION`: scores of all judges and the top k as votes get worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.interval import Interval
from judgepanel.studies.contest.compared import RECOMMENDED, panel_names, pipeline_columns
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.results import SplitResult, long_frame
from judgepanel.studies.robustness.damage import CLEAN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Slower = Literal["all judges", "the recommended panel", "the top k", "not told apart"]


@dataclass(frozen=True, slots=True, eq=False)
class Corruption(SplitResult):
    """Result of :data:`CORRUPTION`.

    ``scenarios`` (n,) and ``levels`` (n,) name the conditions, the clean panel first; ``changed``
    (n,) is the share of the evaluation votes that were flipped or removed. ``panels`` (n_panels,)
    are sizes, the last is all judges. ``nll`` (nats) and ``accuracy`` (n_panels, n) have 95 %
    intervals for new items. ``rise`` (n_panels, n) is NLL - NLL of the same panel on clean votes,
    with an interval per condition; ``drop`` is the same for accuracy, with the sign reversed.
    ``gap`` (n_panels - 1, n) is rise(top-k) - rise(all), above 0 if all judges lose less; its
    intervals hold at all levels of a scenario together. ``delta`` (n_panels - 1, n) is NLL(top-k) -
    NLL(all) under the condition, with an interval each. If ``aggregator`` is ``average``, all
    judges are the recommended panel, and the other panels have the pipeline ``COMPARED``.
    """

    aggregator: str
    calibrator: str
    concentrated: float
    scenarios: tuple[str, ...]
    levels: Floats
    changed: Floats
    panels: Ints
    nll: Interval
    accuracy: Interval
    rise: Interval
    drop: Interval
    gap: Interval
    delta: Interval
    null_nll: float
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "scenario": "Kind of damage to the votes.",
            "level": "Amount of damage.",
            "changed": "Share of the evaluation votes that were flipped or removed.",
            "rise": "NLL minus that of the same panel on clean votes, in nats.",
            "drop": "Accuracy lost relative to clean votes.",
            "gap": "Rise of the top k minus that of all judges; above 0 all judges lose less.",
            "gap_lo": "Lower end of the 95 % interval of gap at all levels of the scenario.",
            "gap_hi": "Upper end of the 95 % interval of gap at all levels of the scenario.",
            "delta": "NLL of the top k minus that of all judges under the condition, in nats.",
            "degrades_slower": "Which of the two is shown to lose less.",
        }
    )

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return panel_names(self.panels, self.aggregator)

    def of(self, scenario: str) -> Ints:
        """Return positions of the clean panel and a scenario's conditions by increasing level."""
        names = np.array(self.scenarios)
        return np.flatnonzero((names == scenario) | (names == CLEAN))

    def slower(self, panel: int, condition: int) -> Slower:
        """Return which panel loses less, by the band of ``gap``."""
        gap = self.gap[panel, condition]
        if gap.above():
            return RECOMMENDED if self.aggregator == AVERAGE else "all judges"
        return "the top k" if gap.below() else "not told apart"

    def frame(self) -> pd.DataFrame:
        """One row per panel and condition."""
        n_panels, n = self.nll.shape
        none = Interval.full((1, n), np.nan)
        slower = [
            ["" if name == CLEAN else self.slower(p, i) for i, name in enumerate(self.scenarios)]
            for p in range(n_panels - 1)
        ]
        aggregators, calibrators = pipeline_columns(self.aggregator, (self.calibrator,), n_panels)
        return long_frame(
            (n_panels, n),
            {
                "aggregator": aggregators,
                "calibrator": calibrators[0],
                "panel": np.array(self.arms)[:, None],
                "k": self.panels[:, None],
                "scenario": self.scenarios,
                "level": self.levels,
                "changed": self.changed,
                "n_splits": self.n_splits,
                "seed": self.seed,
                "nll": self.nll,
                "accuracy": self.accuracy,
                "rise": self.rise,
                "drop": self.drop,
                "null_nll": self.null_nll,
                "skill": 1.0 - self.nll.value / self.null_nll,
                "gap": Interval.joined([self.gap, none]),
                "delta": Interval.joined([self.delta, none]),
                "degrades_slower": [*slower, [""] * n],
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return which panel degrades more slowly under every condition."""
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
            ]
        }
