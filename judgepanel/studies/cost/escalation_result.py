"""Result of :data:`ESCALATION`: cost and NLL of asking a cheap panel first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import pandas as pd

from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.frames import flat_row
from judgepanel.studies.split_result import SplitResult


@dataclass(frozen=True, slots=True)
class EscalationFigures:
    """One threshold out of sample; means over new items with 95 % intervals.

    The cheap panel answers if its confidence max(p, 1 - p) is at least ``threshold``, otherwise all
    judges: .5 never asks them and 1 always does. ``escalated`` is the share of items that go to all
    judges, ``cost`` the cost per item (the cost of all judges if escalated: the cheap ones are not
    asked twice), ``latency`` that of the slowest cheap judge plus, if escalated, the slowest of the
    others. ``delta`` = NLL - NLL(all judges): above 0 asking all judges is better; its verdict is
    against ``margin``, and ``band`` covers all thresholds together. ``promised`` is the NLL on
    calibration rows, cross-fitted, and ``chosen_share`` the share of splits in which the threshold
    was chosen.
    """

    threshold: float
    escalated: Interval
    cost: Interval
    latency: float
    nll: Interval
    accuracy: Interval
    brier: float
    delta: Interval
    p: float
    band: Interval
    margin: float
    verdict: Verdict
    promised: float
    chosen_share: float


@dataclass(frozen=True, slots=True, eq=False)
class Escalation(SplitResult):
    """Result of :data:`ESCALATION`.

    ``rows`` are in order of ascending thresholds, fixed in advance, from .5 (the cheap panel alone)
    to 1 (all judges). ``recommended`` uses, in every split, the lowest threshold whose cross-fitted
    NLL on calibration rows is at most ``tolerance`` above that of all judges. ``threshold`` is the
    median of these and the central 95 % of the splits, ``optimism`` the part of the promised
    difference that was lost on new items. ``cheap`` is the cheap panel on all labelled rows,
    ``cheap_how`` says how it is chosen and ``stability`` how well the splits agree on it.
    """

    rows: tuple[EscalationFigures, ...]
    recommended: EscalationFigures
    threshold: Interval
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
            "threshold": "Confidence from which the cheap panel answers alone.",
            "escalated": "Share of the items that are passed on to all judges.",
            "latency": (
                "Latency of the slowest cheap judge plus, if escalated, the slowest of the others."
            ),
            "delta": "NLL minus that of asking all judges on every item, in nats.",
            "promised": "Cross-fitted NLL on the calibration rows, in nats.",
            "full_cost": "Cost of all judges per item.",
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
        """Return one row per threshold, then the recommended one."""
        names = [*("fixed" for _ in self.rows), "recommended"]
        rows = zip(names, (*self.rows, self.recommended), strict=True)
        return pd.DataFrame([{"arm": name, **flat_row(row)} for name, row in rows]).assign(
            skill=lambda frame: 1.0 - frame["nll"] / self.null_nll,
            null_nll=self.null_nll,
            full_cost=self.full_cost,
            unit=self.unit,
            aggregator=self.aggregator,
            calibrator=self.calibrator,
            n_splits=self.n_splits,
        )

    def decisions(self) -> dict[str, Any]:
        """Return the cheap panel, the recommended threshold and all thresholds."""
        return {
            "cheap": list(self.cheap),
            "recommended": to_plain(flat_row(self.recommended)),
            "thresholds": [to_plain(flat_row(row)) for row in self.rows],
        }
