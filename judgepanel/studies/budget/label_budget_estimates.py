"""From scores of (panels x budgets) arms to levels, differences, labels needed and their price."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import (
    Estimate,
    estimate,
    joint_draws,
    joint_p,
    simultaneous_reach,
)
from judgepanel.scoring.learning_curve import (
    FEWEST_POINTS,
    first_reached,
    fit_learning_curve,
)
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.budget.label_budget_result import NEXT, LabelsNeeded
from judgepanel.studies.compare import RANGES, arm_name

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DRAWS = 2_000
_ENDS = (0.025, 0.975)


def budget_estimates(
    done: Tally,
    units: Ints,
    labels: Floats,
    *,
    calibrators: tuple[str, ...],
    panels: Ints,
    within: float,
    target: float | None,
    seed: int,
) -> dict[str, Any]:
    """Fields of :class:`LabelBudget` that rest on scores; bounds are NaN from a single split.

    Arms are panels by budgets, budgets vary fastest; the last panel is all judges.
    """
    n_c, n_p, n_b = len(calibrators), len(panels), len(labels)
    item_means, seen = done.item_means()
    items = item_means[0, :, :-1].reshape(n_c, n_p, n_b, -1)
    splits = done.split_means[:, 0, :, :-1].reshape(-1, n_c, n_p, n_b)
    next_from = np.append(labels, float(len(units)))
    shapes = {
        **dict.fromkeys(("nll", "nll_lo", "nll_hi"), (n_c, n_p, n_b)),
        **dict.fromkeys(
            ("delta", "delta_lo", "delta_hi", "band_lo", "band_hi"), (n_c, n_p - 1, n_b)
        ),
        "joint_p": (n_c, n_p - 1),
        **dict.fromkeys(("curve_a", "curve_b", "curve_c"), (n_c, n_p)),
        **dict.fromkeys(("gain", "gain_lo", "gain_hi"), (n_c, n_p, n_b + 1)),
    }
    found = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    needed: list[LabelsNeeded] = []
    found["nll"][:] = items.mean(axis=-1)
    found["delta"][:] = (items[:, :-1] - items[:, [-1]]).mean(axis=-1)

    def estimated(item_values: Floats, split_values: Floats) -> Estimate:
        return estimate(
            item_values,
            split_values,
            units[seen],
            labels,
            float(done.n_evaluation.mean()),
            n_others=len(units) - labels,
        )

    def put(names: tuple[str, ...], at: tuple[int, int], values: tuple[Any, ...]) -> None:
        for name, value in zip(names, values, strict=True):
            found[name][at] = value

    if len(splits) >= 2:
        for c, p in np.ndindex(n_c, n_p):
            levels = estimated(items[c, p], splits[:, c, p])
            ends = (np.clip(end, *RANGES["nll"]) for end in (levels.lo, levels.hi))
            put(("nll_lo", "nll_hi"), (c, p), tuple(ends))
            name = f"all {panels[-1]:,}" if p == n_p - 1 else arm_name(int(panels[p]))
            curve, price, wanted = _learning(
                levels, labels, next_from, within=within, target=target, seed=seed
            )
            put(("curve_a", "curve_b", "curve_c"), (c, p), curve)
            put(("gain", "gain_lo", "gain_hi"), (c, p), price)
            needed += [LabelsNeeded(calibrators[c], name, **one) for one in wanted]
        for c, p in np.ndindex(n_c, n_p - 1):
            gap = estimated(items[c, p] - items[c, -1], splits[:, c, p] - splits[:, c, -1])
            reach = simultaneous_reach(gap, seed=seed) * gap.se
            put(("delta_lo", "delta_hi"), (c, p), (gap.lo, gap.hi))
            put(("band_lo", "band_hi"), (c, p), (gap.value - reach, gap.value + reach))
            found["joint_p"][c, p] = joint_p(gap, seed=seed)
    return {**found, "needed": tuple(needed), "next_from": next_from}


def _learning(
    levels: Estimate,
    labels: Floats,
    next_from: Floats,
    *,
    within: float,
    target: float | None,
    seed: int,
) -> tuple[tuple[float, ...], tuple[Floats, ...], list[dict[str, Any]]]:
    """A panel's curve, the price of the next labels and the labels needed.

    Intervals repeat all three on draws of the levels of all budgets together. They hold the doubt
    about the levels, not that about the curve's form.
    """
    drawn = joint_draws(levels, seed=seed, n_draws=_DRAWS)
    values = np.concatenate([levels.value[None], np.maximum(drawn, 0.0)])
    enough = len(labels) >= FEWEST_POINTS
    beyond = np.full(len(values), np.inf)
    curve: tuple[float, ...] = (np.nan,) * 3
    price: tuple[Floats, ...] = (np.full(len(next_from), np.nan),) * 3
    fitted = fit_learning_curve(labels, values, levels.se) if enough else None
    if fitted is not None:
        curve = (float(fitted.a[0]), float(fitted.b[0]), float(fitted.c[0]))
        gains = fitted.at(next_from) - fitted.at(next_from + NEXT)
        price = (gains[0], *np.quantile(gains[1:], _ENDS, axis=0))
    goals = [("plateau", (1.0 + within) * values[:, -1])]
    if target is not None:
        goals.append(("target", np.full(len(values), target)))
    wanted = []
    for kind, goal in goals:
        n = first_reached(labels, values, goal)
        if fitted is not None:
            beyond = np.maximum(fitted.needed(goal), labels[-1])
        n = np.where(np.isfinite(n), n, beyond)
        lo, hi = np.quantile(n[1:], _ENDS, method="nearest")
        wanted.append(
            {
                "kind": kind,
                "goal": float(goal[0]),
                "n": _finite(n[0]),
                "n_lo": _finite(lo),
                "n_hi": _finite(hi),
                "at_start": bool(n[0] == labels[0]),
                "extrapolated": bool(n[0] > labels[-1]),
            }
        )
    return curve, price, wanted


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else float("nan")
