"""Cost and NLL of every escalation threshold from logits of a cheap panel and of all judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import (
    MARGIN,
    Estimate,
    estimate,
    simultaneous_reach,
    verdict,
)
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.metrics import CLIP, item_scores
from judgepanel.studies.compare import RANGES
from judgepanel.studies.confidence.probabilities import Evaluations, OutOfSample
from judgepanel.studies.confidence.probabilities import combine as combine_scores
from judgepanel.studies.cost.escalation_result import EscalationFigures
from judgepanel.studies.panel.costs import JudgeCosts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_UNITS: dict[str, Unit] = {
    "escalated": "share",
    "cost": "cost",
    "nll": "nats",
    "accuracy": "share",
}


@dataclass(frozen=True, slots=True, eq=False)
class Escalated:
    """Logits of both panels in S splits, and the choices in each split.

    ``scores`` holds the logits (2, E) of the cheap panel and of all judges. ``promised`` (S,
    n_limits) is the cross-fitted NLL of each threshold on calibration rows, ``picked`` (S,) the
    position of the chosen one, ``cheap`` bool (S, n_judges) the cheap panels; these three follow
    the order of ``scores.numbers``.
    """

    scores: OutOfSample
    promised: Floats
    picked: Ints
    cheap: Bools

    def in_order(self) -> Escalated:
        """Return the same splits sorted by number, so that float sums are reproducible."""
        order = np.argsort(self.scores.numbers, kind="stable")
        return Escalated(
            self.scores.in_order(), self.promised[order], self.picked[order], self.cheap[order]
        )


def combine(left: Escalated, right: Escalated) -> Escalated:
    """Combine two sets of splits; exact and independent of order."""
    return Escalated(
        combine_scores(left.scores, right.scores),
        np.concatenate([left.promised, right.promised]),
        np.concatenate([left.picked, right.picked]),
        np.concatenate([left.cheap, right.cheap]),
    )


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
        name: Interval.of(of.mean(part), _UNITS[name]).clip(*ranges[name])
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
    if of.n_splits < 2:
        return of.mean(gaps), float("nan")
    items = np.concatenate([of.by_item(gap) for gap in gaps])
    splits = np.concatenate([of.by_split(gap) for gap in gaps])
    interval = estimate(items, splits.T, of.units, of.n_calibration, float(of.sizes.mean()))
    return interval, simultaneous_reach(interval, seed=seed)
