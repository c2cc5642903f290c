"""Result of the what-if study: a panel picked by hand and the panel it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import pandas as pd

from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.frames import flat_row, long_frame
from judgepanel.studies.split_result import SplitResult


@dataclass(frozen=True, slots=True)
class PanelFigures:
    """One panel out of sample; ``cost`` per item is None if costs are unknown."""

    judges: tuple[str, ...]
    nll: Interval
    brier: float
    accuracy: float
    ece: float
    cost: float | None


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf(SplitResult):
    """``delta`` = NLL(``kept``) - NLL(``against``) on the same items, in nats, with interval and p.

    ``verdict`` compares it with ``margin`` as for panel sizes, with ``against`` in place of all.
    """

    kept: PanelFigures
    against: PanelFigures
    delta: Interval
    p: float
    margin: float
    verdict: Verdict
    aggregator: str
    calibrator: str
    null_nll: float
    constant_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "panel": "The panel kept, or the one it is compared with.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """Return one row per panel, the kept one first."""
        both = (self.kept, self.against)
        nll = Interval.stacked(panel.nll for panel in both)
        return long_frame(
            (2,),
            {
                "panel": ("kept", "against"),
                "k": [len(panel.judges) for panel in both],
                "aggregator": self.aggregator,
                "calibrator": self.calibrator,
                "n_splits": self.n_splits,
                "nll": nll,
                "brier": [panel.brier for panel in both],
                "ece": [panel.ece for panel in both],
                "accuracy": [panel.accuracy for panel in both],
                "null_nll": self.null_nll,
                "skill": 1.0 - nll.value / self.null_nll,
                "cost": [panel.cost for panel in both],
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return both panels and their difference."""
        delta, lo, hi = to_plain(tuple(self.delta))
        return {
            "kept": to_plain(flat_row(self.kept, nll="")),
            "against": to_plain(flat_row(self.against, nll="")),
            "delta": delta,
            "delta_lo": lo,
            "delta_hi": hi,
        }
