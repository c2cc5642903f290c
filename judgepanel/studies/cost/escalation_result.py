"""What :data:`ESCALATION` finds: what asking a cheap panel first costs and saves."""

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
class EscalationFigures:
    """One threshold out of sample; means of new items with 95 % intervals.

    The cheap panel answers where its confidence max(p, 1 - p) is ``threshold`` or more, all judges
    where it is less: .5 never asks them and 1 always does. ``escalated`` is the share of items that
    go to all judges, ``cost`` what an item costs (an escalated one what all judges cost: the cheap
    ones are not asked twice), ``latency`` the slowest cheap judge and then, where escalated, the
    slowest of the others. ``delta`` = NLL - NLL(all judges): above 0 asking all judges is better;
    its verdict is against ``margin``, and ``band_lo``, ``band_hi`` cover all thresholds together.
    ``promised`` is the NLL on calibration rows, cross-fitted, and ``chosen_share`` the share of
    splits in which the threshold was chosen there.
    """

    threshold: float
    escalated: float
    escalated_lo: float
    escalated_hi: float
    cost: float
    cost_lo: float
    cost_hi: float
    latency: float
    nll: float
    nll_lo: float
    nll_hi: float
    accuracy: float
    accuracy_lo: float
    accuracy_hi: float
    brier: float
    delta: float
    lo: float
    hi: float
    p: float
    band_lo: float
    band_hi: float
    margin: float
    verdict: Verdict
    promised: float
    chosen_share: float


@dataclass(frozen=True, slots=True, eq=False)
class Escalation(SplitResult):
    """Result of :data:`ESCALATION`.

    ``rows`` follow ascending thresholds, fixed in advance, from .5 (the cheap panel alone) to 1
    (all judges). ``recommended`` takes, in every split, the lowest threshold whose cross-fitted NLL
    on calibration rows is at most ``tolerance`` above that of all judges; its ``threshold`` is the
    median, between ``threshold_lo`` and ``threshold_hi`` in 95 % of the splits, and ``optimism``
    what it lost on new items of the difference it promised. ``cheap`` are the judges of the cheap
    panel on all labelled rows, ``cheap_how`` says how it is found and ``stability`` how far the
    splits agree about it.
    """

    rows: tuple[EscalationFigures, ...]
    recommended: EscalationFigures
    threshold_lo: float
    threshold_hi: float
    optimism: float
    tolerance: float
    cheap: tuple[str, ...]
    cheap_how: str
    cheap_cost: float
    cheap_size: float
    full_cost: float
    stability: float
    unit: str
    counted: bool
    latency_unit: str
    aggregator: str
    calibrator: str
    null_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "lo": "Lower end of the 95 % interval of delta.",
            "hi": "Upper end of the 95 % interval of delta.",
            "arm": "A threshold fixed in advance, or the recommended one.",
            "threshold": "Confidence from which on the cheap panel answers alone.",
            "escalated": "Share of the items that go on to all judges.",
            "latency": "The slowest cheap judge, then the slowest of the others where escalated.",
            "delta": "NLL less that of asking all judges on every item, in nats.",
            "promised": "Cross-fitted NLL on the calibration rows, in nats.",
            "full_cost": "What all judges cost on one item.",
        }
    )

    @property
    def alone(self) -> EscalationFigures:
        """The cheap panel on every item."""
        return self.rows[0]

    @property
    def full(self) -> EscalationFigures:
        """All judges on every item, the reference."""
        return self.rows[-1]

    def frame(self) -> pd.DataFrame:
        """One row per threshold, then the recommended one."""
        frame = pd.DataFrame([to_plain(row) for row in (*self.rows, self.recommended)])
        frame.insert(0, "arm", [*("fixed" for _ in self.rows), "recommended"])
        frame["skill"] = 1.0 - frame["nll"] / self.null_nll
        frame["null_nll"] = self.null_nll
        frame["full_cost"], frame["unit"] = self.full_cost, self.unit
        frame["aggregator"], frame["calibrator"] = self.aggregator, self.calibrator
        frame["n_splits"] = self.n_splits
        words = {"arm", "verdict", "unit", "aggregator", "calibrator"}
        numbers = [name for name in frame if name not in words and frame[name].isna().any()]
        return frame.astype(dict.fromkeys(numbers, float))

    def summary(self) -> dict[str, Any]:
        """The recommended threshold, the cheap panel and all thresholds, as JSON values."""
        return {
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "cheap": list(self.cheap),
            "cheap_how": self.cheap_how,
            "cheap_cost": self.cheap_cost,
            "full_cost": self.full_cost,
            "unit": self.unit,
            "counted": self.counted,
            "tolerance": self.tolerance,
            "recommended": to_plain(self.recommended),
            "optimism": to_plain(self.optimism),
            "thresholds": [to_plain(row) for row in self.rows],
            "null_nll": self.null_nll,
            "n_splits": self.n_splits,
            "orientation": self.orientation,
        }
