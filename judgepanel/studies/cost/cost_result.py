"""Result of :data:`COST`: the best panels by budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.panel.curators_result import CuratorFigures
from judgepanel.studies.results import SplitResult, flat_row

_NEXT = ("gain", "lo", "hi", "extra", "price", "price_lo", "price_hi")


@dataclass(frozen=True, slots=True)
class NextPoint:
    """The step from one budget to the next, both fixed in advance.

    ``gain`` is the NLL saved by the larger budget, in nats, above 0 if it saves any; ``extra`` is
    the additional cost of its panels; ``price`` the cost of saving 1 % of the NLL, NaN if nothing
    is saved, with infinite ends as NaN.
    """

    gain: Interval
    extra: float
    price: Interval

    def row(self) -> dict[str, Any]:
        """Return its numbers by column name."""
        return flat_row(self, gain="")


@dataclass(frozen=True, slots=True)
class CostPoint:
    """The best panels found under one budget.

    ``figures`` are their scores on new items, see :class:`CuratorFigures`; ``delta`` there is
    against all judges. ``cost`` (per item) is the mean over splits with their central 95 %, which
    is not a confidence interval; ``share`` is relative to the cost of all judges. ``slowest`` is
    the latency of its slowest judge (all in parallel), ``in_turn`` that of all in sequence; NaN if
    unknown. ``judges`` is the panel chosen on all labelled rows, with ``panel_cost``,
    ``panel_slowest`` and ``panel_in_turn``. ``reading`` is the NLL of the best non-increasing curve
    through all points: like ``on_frontier`` it describes the observed figures, not a choice that
    was possible in advance.
    """

    budget: float
    figures: CuratorFigures
    cost: Interval
    share: float
    slowest: float
    in_turn: float
    judges: tuple[str, ...]
    panel_cost: float
    panel_slowest: float
    panel_in_turn: float
    reading: float
    on_frontier: bool
    next: NextPoint | None


@dataclass(frozen=True, slots=True, eq=False)
class Cost(SplitResult):
    """Result of :data:`COST`.

    ``points`` are in order of ascending budgets fixed before any panel was scored; ``everyone`` is
    all judges, the reference. ``budget`` is the requested one, NaN without. ``counted``: costs are
    unknown, so every judge counts 1. ``judge_costs`` and ``chosen_share`` (n_points, n_judges)
    follow ``judges``.
    """

    points: tuple[CostPoint, ...]
    everyone: CostPoint
    budget: float
    unit: str
    counted: bool
    latency_unit: str
    full_cost: float
    judges: tuple[str, ...]
    judge_costs: Floats
    chosen_share: Floats
    aggregator: str
    calibrator: str
    null_nll: float
    constant_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **CuratorFigures.COLUMNS,
            "budget": "Maximum cost of the panel per item.",
            "cost_lo": "Lowest cost in the central 95 % of the splits.",
            "cost_hi": "Highest cost in the central 95 % of the splits.",
            "share": "Cost as a share of the cost of all judges.",
            "slowest": "Latency of the slowest judge of the panel, all asked in parallel.",
            "in_turn": "Latency of the panel's judges asked in sequence.",
            "judges": "Judges chosen on all labelled rows, separated by semicolons.",
            "panel": "The point on the curve in words.",
            "panel_cost": "Cost of those judges per item.",
            "panel_slowest": "Latency of the slowest of those judges.",
            "panel_in_turn": "Latency of those judges asked in sequence.",
            "reading": "NLL of the best non-increasing curve through all points, in nats.",
            "on_frontier": (
                "Whether the point lies on that curve: known in hindsight, not a choice."
            ),
            "next_gain": "NLL that the next budget saves, in nats.",
            "next_lo": "Lower end of the 95 % interval of next_gain.",
            "next_hi": "Upper end of the 95 % interval of next_gain.",
            "next_extra": "Additional cost per item of the next budget's panels.",
            "next_price": "Cost of saving 1 % of the NLL with the next budget.",
        }
    )

    @property
    def asked(self) -> CostPoint | None:
        """The point of the requested budget."""
        if np.isnan(self.budget):
            return None
        within = [point for point in self.points if point.budget <= self.budget * (1.0 + 1e-9)]
        return within[-1]

    @property
    def cheapest_without_loss(self) -> CostPoint | None:
        """The smallest budget shown to lose at most the margin, jointly over all budgets."""
        for point in self.points:
            band = point.figures.band.hi < point.figures.margin or point.figures.verdict == "tie"
            if point.cost.value < self.full_cost * (1.0 - 1e-9) and band:
                return point
        return None

    def frame(self) -> pd.DataFrame:
        """Return one row per ascending budget, then all judges."""
        return pd.DataFrame([_row(point) for point in (*self.points, self.everyone)]).assign(
            null_nll=self.null_nll,
            constant_nll=self.constant_nll,
            aggregator=self.aggregator,
            calibrator=self.calibrator,
            unit=self.unit,
            n_splits=self.n_splits,
        )

    def decisions(self) -> dict[str, Any]:
        """Return points and their panels."""
        return {
            "nll_all": float(self.everyone.figures.nll.value),
            "points": [
                to_plain(
                    flat_row(point)
                    | {
                        "figures": flat_row(point.figures),
                        "next": None if point.next is None else point.next.row(),
                    }
                )
                for point in self.points
            ],
        }


def _row(point: CostPoint) -> dict[str, Any]:
    left_out = {"curator", "title", "deployable", "note", "looked_best_share", "figures", "next"}
    names = {"judges": "; ".join(point.judges), "panel": point.figures.title}
    row = flat_row(point) | names | flat_row(point.figures)
    following = dict.fromkeys(_NEXT, np.nan) if point.next is None else point.next.row()
    return {name: value for name, value in row.items() if name not in left_out} | {
        f"next_{name}": value for name, value in following.items()
    }
