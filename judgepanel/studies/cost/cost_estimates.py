"""From scores of splits to what each budget buys: levels, differences, prices, a reading."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from judgepanel.scoring.inference import estimate
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.compare import mean_sizes
from judgepanel.studies.cost.cost_result import CostPoint, NextPoint
from judgepanel.studies.panel.budget_search import UnderBudgets
from judgepanel.studies.panel.costs import JudgeCosts
from judgepanel.studies.panel.curator import Curator
from judgepanel.studies.panel.curators_estimates import curator_figures
from judgepanel.studies.settings import Prepared

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_SAME = 1e-12


def cost_points(
    tally: Tally,
    prepared: Prepared,
    costs: JudgeCosts,
    budgets: Floats,
    chosen: Bools,
    final: UnderBudgets,
    *,
    comparable: bool,
    seed: int,
) -> tuple[CostPoint, tuple[CostPoint, ...]]:
    """All judges, and a point per budget; ``chosen`` (S, 1 + n_budgets, n_judges) has all first."""
    titles = ["all judges", *(f"under {budget:g}" for budget in budgets)]
    names = ["all", *(f"budget_{place}" for place in range(len(budgets)))]
    picked = chosen.sum(axis=0)
    figures = curator_figures(
        tally,
        prepared.ballots.units,
        tuple(Curator(n, t, lambda e: final.everyone) for n, t in zip(names, titles, strict=True)),
        chosen.sum(axis=2),
        np.concatenate([picked, np.zeros_like(picked[:1])]),
        comparable=comparable,
        seed=seed,
    )[:-1]
    reading = readings(np.array([figure.nll for figure in figures[1:]]))
    spent = costs.of(chosen)
    steps = [None, *_steps(tally, prepared, spent.mean(axis=0)[1:])]
    panels = (final.everyone.judges, *(panel.judges for panel in final.panels))
    limits = [costs.full, *budgets.tolist()]
    read = [figures[0].nll, *reading.tolist()]
    best = [False, *_frontier(reading, spent.mean(axis=0)[1:])]
    points = [
        CostPoint(
            budget=limits[a],
            found=figures[a],
            reading=read[a],
            on_frontier=best[a],
            next=steps[a],
            **_of_panels(prepared.judges, costs, chosen[:, a], panels[a]),
        )
        for a in range(len(figures))
    ]
    return points[0], tuple(points[1:])


def _of_panels(
    judges: tuple[str, ...], costs: JudgeCosts, chosen: Bools, panel: Bools
) -> dict[str, Any]:
    """Costs and latencies of the panels (S, n_judges) of the splits, and of the final one."""
    spent = costs.of(chosen)
    low, high = np.quantile(spent, (0.025, 0.975), method="nearest")
    mean = float(spent.mean())
    return {
        "cost": mean,
        "cost_lo": float(low),
        "cost_hi": float(high),
        "share": mean / costs.full if costs.full > 0.0 else 1.0,
        "slowest": float(costs.slowest(chosen).mean()),
        "in_turn": float(costs.in_turn(chosen).mean()),
        "judges": tuple(n for n, inside in zip(judges, panel, strict=True) if inside),
        "panel_cost": float(costs.of(panel)),
        "panel_slowest": float(costs.slowest(panel)),
        "panel_in_turn": float(costs.in_turn(panel)),
    }


def readings(nll: Floats) -> Floats:
    """The non-increasing curve (n,) closest to NLLs (n,) in the order of their budgets."""
    return np.asarray(isotonic_regression(nll, increasing=False).x)


def _frontier(reading: Floats, cost: Floats) -> list[bool]:
    """Points whose reading no cheaper point (nor an equally dear one before) attains."""
    frontier, best = [False] * len(reading), np.inf
    for place in np.argsort(cost, kind="stable"):
        if reading[place] < best - _SAME:
            frontier[place], best = True, float(reading[place])
    return frontier


def _steps(tally: Tally, prepared: Prepared, cost: Floats) -> list[NextPoint | None]:
    """What each budget's successor saves and costs; None for the last, and from a single split."""
    n_points = len(cost)
    if len(tally.numbers) < 2 or n_points < 2:
        return [None] * n_points
    means, seen = tally.item_means()
    items, splits = means[0, 0, 1 : n_points + 1], tally.split_means[:, 0, 0, 1 : n_points + 1]
    gains = estimate(
        items[:-1] - items[1:],
        splits[:, :-1] - splits[:, 1:],
        prepared.ballots.units[seen],
        *mean_sizes(tally),
        joint=False,
    )
    nll = items.mean(axis=1)
    next_points: list[NextPoint | None] = []
    for p in range(n_points - 1):
        gain, lo, hi = (float(part[p]) for part in (gains.value, gains.lo, gains.hi))
        extra = float(cost[p + 1] - cost[p])
        price = [_price(extra, saved, float(nll[p])) for saved in (gain, hi, lo)]
        next_points.append(NextPoint(gain, lo, hi, extra, *price))
    return [*next_points, None]


def _price(extra: float, gain: float, nll: float) -> float:
    """Cost of 1 % of the NLL; NaN where none is saved."""
    return extra * 0.01 * nll / gain if gain > _SAME else float("nan")
