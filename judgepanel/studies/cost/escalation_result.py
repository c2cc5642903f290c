"""Result of :data:`ESCALATION`: cost and NLL of every threshold of a cheap panel's confidence.

They are estimated from the logits of the cheap panel and of all judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.scoring.inference import (
    MARGIN,
    Estimate,
    Verdict,
    simultaneous_reach,
    verdict,
)
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.metrics import CLIP, item_scores
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import RANGES
from judgepanel.studies.confidence.probabilities import Evaluations, OutOfSample
from judgepanel.studies.panel.costs import JudgeCosts
from judgepanel.studies.partials import by_split, frozen
from judgepanel.studies.results import SplitResult, flat_row

_UNITS: dict[str, Unit] = {
    "escalated": "share",
    "cost": "cost",
    "nll": "nats",
    "accuracy": "share",
}


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


@frozen
class Escalated:
    """Logits of both panels in S splits, and the choices in each split.

    ``scores`` holds the logits (2, E) of the cheap panel and of all judges. ``promised`` (S,
    n_limits) is the cross-fitted NLL of each threshold on calibration rows, ``picked`` (S,) the
    position of the chosen one, ``cheap`` bool (S, n_judges) the cheap panels; these three follow
    the order of ``scores.numbers``.
    """

    scores: OutOfSample
    promised: Floats = by_split()
    picked: Ints = by_split()
    cheap: Bools = by_split()


def confidence_of(logits: Floats) -> Floats:
    """max(p, 1 - p) of clipped probabilities, in [.5, .999]."""
    return np.asarray(np.minimum(1.0 / (1.0 + np.exp(-np.abs(logits))), 1.0 - CLIP))


def escalated_nll(logits: Floats, signs: Floats, limits: Floats) -> Floats:
    """NLL (n_limits, n) of items answered by two panels (2, n) under thresholds (n_limits,).

    The first panel answers if its confidence reaches the threshold, otherwise the second.
    """
    asked = confidence_of(logits[0]) < limits[:, None]
    nll = item_scores(logits, signs).nll
    return np.asarray(np.where(asked, nll[1], nll[0]))


def escalation_rows(
    escalation: Escalated, of: Evaluations, costs: JudgeCosts, limits: Floats, *, seed: int
) -> tuple[tuple[EscalationFigures, ...], EscalationFigures]:
    """Return figures of every threshold (n_limits,), and of the one chosen in each split."""
    own = limits[escalation.picked][of.split]
    asked = confidence_of(of.logits[0]) < np.vstack(
        [np.broadcast_to(limits[:, None], (len(limits), len(own))), own]
    )
    nll = item_scores(of.logits, of.signs).nll
    cheap, full = costs.of(escalation.cheap)[of.split], costs.full
    first = costs.slowest(escalation.cheap)[of.split]
    then = costs.slowest(~escalation.cheap)[of.split]
    values = {
        "escalated": asked.astype(np.float64),
        "cost": np.where(asked, full, cheap),
        "nll": np.where(asked, nll[1], nll[0]),
        "accuracy": np.where(asked, of.hit[1], of.hit[0]),
    }
    ranges = {**RANGES, "escalated": (0.0, 1.0), "cost": (float(cheap.min()), full)}
    intervals: dict[str, Any] = {
        name: Interval.of(of.score(part), _UNITS[name]).clip(*ranges[name])
        for name, part in values.items()
    }
    margin = MARGIN * float(intervals["nll"].value[len(limits) - 1])
    gaps = values["nll"] - nll[1]
    ours, reach = _gaps(of, gaps, seed)
    ends = ours.value - reach * ours.se, ours.value + reach * ours.se
    intervals |= {"delta": Interval.of(ours), "band": Interval(ours.value, *ends)}
    signs01 = (of.signs > 0).astype(np.float64)
    brier = np.where(asked, (of.p[1] - signs01) ** 2, (of.p[0] - signs01) ** 2)
    picked = escalation.picked
    chosen = np.take_along_axis(escalation.promised, picked[:, None], axis=1).mean()
    columns = {
        "threshold": np.append(limits, np.quantile(limits[picked], 0.5, method="higher")),
        "brier": of.mean(brier).value,
        "latency": of.mean(first + np.where(asked, then, 0.0)).value,
        "p": ours.p,
        "promised": np.append(escalation.promised.mean(axis=0), chosen),
        "chosen_share": np.append(np.bincount(picked, minlength=len(limits)) / len(picked), 1.0),
    }

    def at(place: int) -> dict[str, Any]:
        numbers = {name: float(part[place]) for name, part in columns.items()}
        return numbers | {name: part[place] for name, part in intervals.items()}

    rows = [
        EscalationFigures(
            **at(place),
            margin=margin,
            verdict=verdict(
                float(ours.lo[place]),
                float(ours.hi[place]),
                margin,
                identical=not gaps[place].any(),
            ),
        )
        for place in range(len(limits) + 1)
    ]
    return tuple(rows[:-1]), rows[-1]


def _gaps(of: Evaluations, gaps: Floats, seed: int) -> tuple[Estimate, float]:
    """Differences (n_limits + 1,) from all judges, and the reach of their joint band."""
    interval = of.score(gaps, joint=True)
    return interval, simultaneous_reach(interval, seed=seed) if of.n_splits > 1 else float("nan")
