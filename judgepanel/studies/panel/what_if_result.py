"""What a panel picked by hand achieves, and the panel it is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import pandas as pd

from judgepanel.scoring.inference import Verdict
from judgepanel.studies.codec import to_plain
from judgepanel.studies.split_result import SplitResult


@dataclass(frozen=True, slots=True)
class PanelFigures:
    """One panel out of sample; ``cost`` of an item is None where costs are not known."""

    judges: tuple[str, ...]
    nll: float
    lo: float
    hi: float
    brier: float
    accuracy: float
    ece: float
    cost: float | None


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf(SplitResult):
    """``delta`` = NLL(``kept``) - NLL(``against``) on the same items, in nats, with interval and p;
    ``verdict`` holds it against ``margin`` as for panel sizes, ``against`` in the place of all.
    """

    kept: PanelFigures
    against: PanelFigures
    delta: float
    delta_lo: float
    delta_hi: float
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
        """One row per panel, the one kept first."""
        rows = [
            {
                "panel": name,
                "k": len(panel.judges),
                "aggregator": self.aggregator,
                "calibrator": self.calibrator,
                "n_splits": self.n_splits,
                "nll": panel.nll,
                "nll_lo": panel.lo,
                "nll_hi": panel.hi,
                "brier": panel.brier,
                "ece": panel.ece,
                "accuracy": panel.accuracy,
                "null_nll": self.null_nll,
                "skill": 1.0 - panel.nll / self.null_nll,
                "cost": panel.cost,
            }
            for name, panel in (("kept", self.kept), ("against", self.against))
        ]
        return pd.DataFrame(rows)

    def summary(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return {
            "kept": to_plain(self.kept),
            "against": to_plain(self.against),
            "delta": self.delta,
            "delta_lo": self.delta_lo,
            "delta_hi": self.delta_hi,
            "p": self.p,
            "margin": self.margin,
            "verdict": self.verdict,
            "null_nll": self.null_nll,
            "constant_nll": self.constant_nll,
            "n_splits": self.n_splits,
            "orientation": self.orientation,
        }
