"""Quantities derived from the levels of all budgets: curves, the price of labels, labels needed.

Nothing here needs the votes, so a page can change the goal without new work. Intervals repeat the
computation on joint draws of the levels of all budgets. They include the uncertainty of the levels,
not that of the form of the curve.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.scoring.inference import Estimate, joint_draws
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.learning_curve import (
    FEWEST_POINTS,
    LearningCurve,
    first_reached,
    fit_learning_curve,
)
from judgepanel.studies.budget.label_budget_result import NEXT, LabelBudget, LabelsNeeded
from judgepanel.votes import InputError

MOST_LABELS = 10_000_000
_DRAWS = 2_000
_ENDS = (0.025, 0.975)


def check_goals(within: float, target: float | None, have: int | None) -> None:
    """Refuse invalid goals or numbers of labels.

    Raises
    ------
    InputError
        ``within`` outside (0, 1), a target that is not above 0, ``have`` outside 1..10,000,000.
    """
    if not 0.0 < within < 1.0:
        raise InputError(
            "how near to the plateau is out of range", value=within, allowed="between 0 and 1"
        )
    if target is not None and not 0.0 < target < math.inf:
        raise InputError("the target NLL must be above 0", value=target)
    if have is not None and not 1 <= have <= MOST_LABELS:
        raise InputError(
            "the number of labels you have is out of range",
            value=have,
            allowed=f"1..{MOST_LABELS:,}",
        )


def unread(n_calibrators: int, n_panels: int, labels: Floats, n_items: int) -> dict[str, Any]:
    """Return blank values of the fields that :func:`read` fills."""
    shape = (n_calibrators, n_panels)
    return {
        "within": math.nan,
        "target": None,
        "have": n_items,
        "needed": (),
        **{name: np.full(shape, np.nan) for name in ("curve_a", "curve_b", "curve_c")},
        "next_from": np.append(labels, float(n_items)),
        "gain": Interval.full((*shape, len(labels) + 1), np.nan),
    }


def read(
    result: LabelBudget, *, within: float = 0.05, target: float | None = None, have: int | None
) -> LabelBudget:
    """Return the same result for other goals or from another number of labels.

    Raises
    ------
    InputError
        As :func:`check_goals`.
    """
    check_goals(within, target, have)
    n_c, n_p, _ = result.nll.shape
    mine = result.n_items if have is None else have
    fields = unread(n_c, n_p, result.labels, result.n_items)
    fields |= {"within": within, "target": target, "have": mine}
    fields["next_from"][-1] = mine
    needed: list[LabelsNeeded] = []
    for c, p in np.ndindex(n_c, n_p):
        if not np.isfinite(result.level_se[c, p]).all():
            continue
        values, curve = _levels(result, c, p)
        if curve is not None:
            for name in "abc":
                fields[f"curve_{name}"][c, p] = getattr(curve, name)[0]
            gains = _gains(curve, fields["next_from"], float(result.labels[0]))
            fields["gain"].put((c, p), gains)
        goals = [("plateau", (1.0 + within) * values[:, -1])]
        if target is not None:
            goals.append(("target", np.full(len(values), target)))
        for kind, goal in goals:
            reading = _needed(result.labels, values, goal, curve)
            needed.append(LabelsNeeded(result.calibrators[c], result.arms[p], kind, **reading))
    return replace(result, **{**fields, "needed": tuple(needed)})


def _levels(result: LabelBudget, c: int, p: int) -> tuple[Floats, LearningCurve | None]:
    """Return levels of all budgets, estimates first and then draws, and their curves."""
    value, lo, hi = result.nll[c, p]
    se = result.level_se[c, p]
    fitted = Estimate(
        value=value,
        se=se,
        df=result.level_df[c, p],
        lo=lo,
        hi=hi,
        p=np.full(len(value), np.nan),
        covariance=result.level_covariance[c, p],
    )
    draws = joint_draws(fitted, seed=result.seed, n_draws=_DRAWS)
    values = np.concatenate([value[None], np.maximum(draws, 0.0)])
    enough = len(result.labels) >= FEWEST_POINTS
    return values, fit_learning_curve(result.labels, values, se) if enough else None


def _gains(curve: LearningCurve, start: Floats, smallest: float) -> Interval:
    """Return the decrease of the curve with the next labels from every start.

    NaN below the smallest budget: towards 0 labels a power law grows without bound.
    """
    inside = np.where(start < smallest, np.nan, start)
    gains = curve.at(inside) - curve.at(inside + NEXT)
    lo, hi = np.quantile(gains[1:], _ENDS, axis=0)
    return Interval(gains[0], lo, hi)


def _needed(
    labels: Floats, values: Floats, goal: Floats, curve: LearningCurve | None
) -> dict[str, Any]:
    """Labels at which the levels first reach the goal; beyond the last budget, on the curve."""
    n = first_reached(labels, values, goal)
    beyond = np.full(len(values), np.inf)
    if curve is not None:
        beyond = np.maximum(curve.needed(goal), labels[-1])
    n = np.where(np.isfinite(n), n, beyond)
    ends = np.append(n[0], np.quantile(n[1:], _ENDS, method="nearest"))
    value, lo, hi = np.where(np.isfinite(ends), ends, np.nan)
    return {
        "goal": float(goal[0]),
        "n": Interval(value, lo, hi, unit="count"),
        "at_start": bool(n[0] == labels[0]),
        "extrapolated": bool(n[0] > labels[-1]),
    }
