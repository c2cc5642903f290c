"""The best panel under a budget, chosen on calibration rows alone.

Judges are put in an order; a budget takes them in turn and skips those it cannot pay for. Orders
are learned from the rows: which order, and how much of the budget to spend, is decided on rows that
were not used to learn the orders. With few judges and a closed form, all panels are compared
instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.aggregate.crossfit import Fit
from judgepanel.kernels.aggregate.prefixes import (
    CLOSED_FORMS,
    counts,
    ranking_key,
)
from judgepanel.kernels.select.search import best_of
from judgepanel.kernels.select.subsets import Comparison, SubsetTrial
from judgepanel.scoring.metrics import mean_nll, null_logit
from judgepanel.scoring.splits import Split, fold_of, folds
from judgepanel.studies.panel.costs import SLACK, affordable, check_budget
from judgepanel.studies.panel.curated import fitted_logits
from judgepanel.studies.panel.curator import Chosen, Evidence

FEW = 10
"""Number of judges up to which all panels are compared under a closed form."""
POINTS = 12
FITTED_FOLDS = 3
"""Number of folds for comparing panels under a fitted aggregator, and for choosing its ridge there.

Two fewer than for scoring panels, to save time.
"""
_DIGITS = 9
Order = Literal["distance a cost", "gain a cost", "distance"]
ORDERS: tuple[Order, ...] = ("distance a cost", "gain a cost", "distance")


@dataclass(frozen=True, slots=True, eq=False)
class UnderBudgets:
    """Panels chosen under ascending budgets, and all judges, with the NLL of each choice."""

    panels: tuple[Chosen, ...]
    everyone: Chosen


def best_under_budget(evidence: Evidence) -> Chosen:
    """Return the best panel under the budget of the rules, or at any cost without a budget.

    Raises
    ------
    InputError
        No judge costs at most the budget.
    """
    cost = _costs(evidence)
    budget = evidence.rules.budget
    limit = float(cost.sum()) if budget is None else min(budget, float(cost.sum()))
    check_budget(cost, limit)
    steps = budget_grid(cost, POINTS, limit)
    aggregator = evidence.rules.aggregator
    return under_budgets(evidence, steps, aggregator, reference=False).panels[-1]


def budget_grid(cost: Floats, points: int, limit: float, *, whole: bool = False) -> Floats:
    """Return at most ``points`` ascending budgets, from the cheapest positive cost to ``limit``.

    Geometric, with two significant digits (``whole`` numbers if a cost counts judges). Judges
    without cost have a budget of their own, 0.
    """
    paid = cost[cost > 0.0]
    lowest = min(float(paid.min()), limit) if len(paid) else 0.0
    if lowest <= 0.0:
        return np.array([limit])
    inner = np.geomspace(lowest, limit, points)[1:-1] if points > 1 else np.array([])
    rounded = [float(np.round(b)) if whole else float(f"{b:.2g}") for b in inner]
    free = [0.0] if len(paid) < len(cost) else []
    budgets = [b for b in rounded if lowest < b < limit * (1.0 - 1e-6)]
    return np.unique([*free, lowest, *budgets, limit])


def compared_under(aggregator: Aggregator) -> Aggregator:
    """Return the aggregator that compares panels to be scored under ``aggregator``.

    A closed form is compared under itself; joint under stacking, which it nests, in a third of the
    time. Raw scores of Dawid-Skene are too overconfident to compare uncalibrated, so stacking is
    used there, too.
    """
    return aggregator if aggregator in CLOSED_FORMS else "stacking"


def under_budgets(
    evidence: Evidence, budgets: Floats, aggregator: Aggregator, *, reference: bool = True
) -> UnderBudgets:
    """Return the best panel under each of ascending budgets (n_budgets,).

    Each costs at most its budget. Under a closed form it may use the panel of a smaller budget,
    since sums can get worse with more judges; an aggregator that weights judges jointly spends all
    it can, and only the order is chosen. NLLs that agree to 1e-9 are ties, which go to the smaller
    budget, then to the first order. Without a ``reference`` the NLL of all judges may be NaN, which
    saves a fit of them.

    Raises
    ------
    ValueError
        A budget below the cost of every judge, see
        :func:`judgepanel.studies.panel.costs.check_budget`.
    """
    cost = _costs(evidence)
    if not affordable(cost, float(budgets[0])).any():
        raise ValueError("the smallest budget pays for no judge")
    compared = compared_under(aggregator)
    if compared in CLOSED_FORMS and evidence.ballots.n_judges <= FEW:
        return _every_panel(evidence, cost, budgets)
    total = float(cost.sum())
    whole = affordable(total, float(budgets[-1]))
    levels = budgets if whole or not reference else np.append(budgets, total)
    nll = _recipe_nll(evidence, levels, compared)
    masks = filled(orders(evidence, float(levels[-1])), cost, levels)
    everyone = np.ones(evidence.ballots.n_judges, dtype=bool)
    panels = []
    for b in range(len(budgets)):
        first = 0 if compared in CLOSED_FORMS else b
        seen = np.round(nll[first : b + 1], _DIGITS)
        level, order = np.unravel_index(int(np.argmin(seen)), seen.shape)
        panels.append(Chosen(masks[first + level, order], float(nll[first + level, order])))
    known = float(nll[-1, 0]) if whole or reference else float("nan")
    return UnderBudgets(tuple(panels), Chosen(everyone, known))


def _every_panel(evidence: Evidence, cost: Floats, budgets: Floats) -> UnderBudgets:
    n_judges = len(cost)
    codes = np.arange(1, 2**n_judges)
    panels = ((codes[:, None] >> np.arange(n_judges)) & 1).astype(bool)
    nll = evidence.comparison()(panels).nll
    price = panels @ cost
    cheap_first = np.argsort(price, kind="stable")
    panels, nll, price = panels[cheap_first], nll[cheap_first], price[cheap_first]
    result = []
    for budget in budgets:
        within = affordable(price, float(budget))
        best = best_of(panels[within], nll[within])
        result.append(Chosen(best.best, best.nll))
    whole = int(panels.sum(axis=1).argmax())
    return UnderBudgets(tuple(result), Chosen(panels[whole], float(nll[whole])))


def orders(evidence: Evidence, limit: float = float("inf")) -> Ints:
    """Return all judges in every order of ``ORDERS``, (3, n_judges); ties by cost, then by name.

    ``limit`` is the largest budget: greedy steps add no judge beyond it.

    The orders are by |a - .5| per cost, with a the posterior-mean accuracy; by NLL gain per cost
    when added to the judges before (see :func:`_greedy`), followed by the first order; by |a - .5|.
    """
    cost, ballots = _costs(evidence), evidence.ballots
    distance = ranking_key(*counts(ballots, evidence.rows), "informativeness")
    value = per_cost(distance, cost)
    by_value = _sorted(-value, -np.round(distance, 12), cost)
    greedy = _greedy(evidence, cost, limit)
    rest = by_value[~np.isin(by_value, greedy)]
    return np.stack(
        [
            by_value,
            np.concatenate([greedy, rest]),
            _sorted(-np.round(distance, 12), cost),
        ]
    )


def per_cost(gain: Floats, cost: Floats) -> Floats:
    """Gain per cost, infinite for a free gain, 0 without gain."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(gain > 0.0, gain / cost, 0.0)
    return np.asarray([float(f"{entry:.9g}") for entry in value])


def _sorted(*keys: Floats) -> Ints:
    """Return positions sorted by the first key, then the next; ties keep their order."""
    return np.asarray(np.lexsort(keys[::-1]), dtype=np.int64)


def _greedy(evidence: Evidence, cost: Floats, limit: float) -> Ints:
    """Add judges one at a time, at most ``steps``, while NLL on an inner split improves.

    Their total cost is at most ``limit``. Any calibrator other than none is replaced by
    temperature, which is several times faster.
    """
    if evidence.rules.steps == 0:
        return np.zeros(0, dtype=np.int64)
    if evidence.rules.calibrator != "none":
        evidence = replace(evidence, rules=replace(evidence.rules, calibrator="temperature"))
    compare: Comparison = evidence.comparison("split")
    n_judges = len(cost)
    (trial,) = compare.trials
    held = trial.split.evaluation
    signs = evidence.ballots.signs.astype(np.float64)
    rate = float(np.mean(signs[trial.split.calibration] > 0))
    base = null_logit(rate, symmetric=evidence.ballots.symmetric)
    reached = float(mean_nll(np.full(len(held), base), signs[held]))
    panel = np.zeros(n_judges, dtype=bool)
    near: Floats | None = None
    chosen_judges: list[int] = []
    for _ in range(min(evidence.rules.steps, n_judges)):
        spent = float(cost[panel].sum())
        others = np.flatnonzero(~panel & affordable(spent + cost, limit))
        if not len(others):
            break
        trials = np.tile(panel, (len(others), 1))
        trials[np.arange(len(others)), others] = True
        starts = None if near is None else np.repeat(near, len(others), axis=0)
        compared = compare(trials, starts)
        gain = np.round(reached - compared.nll, _DIGITS)
        if gain.max() <= 0.0:
            break
        pick = int(_sorted(-per_cost(gain, cost[others]), -gain, cost[others])[0])
        chosen_judges.append(int(others[pick]))
        panel, reached = trials[pick], float(compared.nll[pick])
        near = compared.maps_of(np.array([pick]))
    return np.array(chosen_judges, dtype=np.int64)


def filled(by: Ints, cost: Floats, budgets: Floats) -> Bools:
    """Panels (n_budgets, n_orders, n_judges): judges of each order that the budget can pay for.

    ``by`` (n_orders, n_judges) are the orders; judges that cost too much are skipped.
    """
    rows = np.arange(len(by))
    spent = np.zeros((len(budgets), len(by)))
    panels = np.zeros((len(budgets), len(by), len(cost)), dtype=bool)
    for step in range(by.shape[1]):
        judge = by[:, step]
        after = spent + cost[judge]
        fits = after <= (budgets * (1.0 + SLACK))[:, None]
        panels[:, rows, judge] = fits
        spent = np.where(fits, after, spent)
    return panels


def _recipe_nll(evidence: Evidence, levels: Floats, aggregator: Aggregator) -> Floats:
    """NLL (n_levels, n_orders) of spending each level along each order.

    Orders are learned again from the learn rows, and the panels are scored on the others.
    """
    cost, rules = _costs(evidence), evidence.rules
    total = np.zeros((len(levels), len(ORDERS)))
    trials: tuple[SubsetTrial, ...] = ()
    if aggregator in CLOSED_FORMS:
        if aggregator != rules.aggregator:
            raise ValueError("the rules compare panels under another aggregator")
        trials = evidence.comparison().trials
        pieces = [trial.split for trial in trials]
    else:
        key, units = (*evidence.key, 106), evidence.ballots.units
        pieces = folds(units, evidence.rows, FITTED_FOLDS, seed=rules.seed, key=key)
    for number, piece in enumerate(pieces):
        part = evidence.part(piece.calibration, 200 + number)
        by = orders(part, float(levels[-1]))
        panels = filled(by, cost, levels).reshape(-1, len(cost))
        unique, back = np.unique(panels, axis=0, return_inverse=True)
        if trials:
            losses = trials[number].losses(unique)[0]
        else:
            losses = _fitted_losses(evidence, piece, unique, aggregator)
        total += losses[back].reshape(total.shape)
    return total / evidence.ballots.n_items


def _fitted_losses(
    evidence: Evidence, piece: Split, panels: Bools, aggregator: Aggregator
) -> Floats:
    """Summed raw NLL (n_panels,) of the held-out rows under panels fitted to the others."""
    ballots, learn, held = evidence.ballots, piece.calibration, piece.evaluation
    pieces = folds(
        ballots.units, learn, FITTED_FOLDS, seed=evidence.rules.seed, key=(*evidence.key, 105)
    )
    fit = Fit(learn, held, fold_of(pieces, ballots.n_items)[learn])
    signs = ballots.signs.astype(np.float64)
    null = null_logit(float(np.mean(signs[learn] > 0)), symmetric=ballots.symmetric)
    values = np.empty(len(panels))
    for place, judges in enumerate(panels):
        logits, empty = fitted_logits(ballots, fit, judges, aggregator)
        values[place] = mean_nll(np.where(empty, null, logits), signs[held])
    return values * len(held)


def _costs(evidence: Evidence) -> Floats:
    if evidence.known.costs is None:
        raise ValueError("there is no cost of every judge")
    return np.array(evidence.known.costs)
