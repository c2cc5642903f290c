"""A curator in one split: its panel, and raw scores of both sides without own labels.

The panel is chosen on all calibration rows and scores the evaluation rows. Scores for calibration
must not come from a panel chosen with the item's own label:

- a panel chosen without labels is scored by counts without the item's own unit;
- the best k by a ranking are ranked again without it;
- every other panel is chosen again for each of five folds, from the rows outside it. The fold is
  scored by counts without the item's own unit, or, if there are no such counts, by a fit to the
  rows outside the fold.

The best panel under a budget, chosen on calibration rows alone.

Judges are put in an order; a budget takes them in turn and skips those it cannot pay for. Orders
are learned from the rows: which order, and how much of the budget to spend, is decided on rows that
were not used to learn the orders. With few judges and a closed form, all panels are compared
instead.

All curators by name, and the selection for a study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import prefixes, subsets
from judgepanel.kernels.aggregation import KERNELS, Aggregator, cross_fits, panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.metrics import mean_nll
from judgepanel.scoring.splits import Split, fold_of, folds
from judgepanel.studies.panel.curator import (
    SLACK,
    Chosen,
    Curator,
    Evidence,
    JudgeAttributes,
    Rules,
    above_chance,
    affordable,
    backward_elimination,
    beam_forward,
    cheapest_k,
    check_budget,
    every_judge,
    every_union,
    evidence_of,
    finite_calibration,
    first_of,
    fixed_size,
    greedy_forward,
    lasso,
    one_per_cluster,
    one_per_family,
    random_k,
    table_scores,
    top_k,
    without_failures,
)


@dataclass(frozen=True, slots=True, eq=False)
class Curated:
    """A curator's panel in one split and the panel's scores, one column."""

    chosen: Chosen
    scores: prefixes.PrefixScores


def curated(
    ballots: Ballots,
    split: Split,
    curator: Curator,
    evidence: Evidence,
    refit: Aggregator,
    *,
    calibrates: bool = True,
) -> Curated:
    """Choose on the calibration rows, and score both sides with the panel under ``refit``.

    ``evidence`` is that of the calibration rows. If the curator computed no NLL, that of its panel
    by inner folds is filled in. Unless the scores are used to calibrate (``calibrates``), those of
    the calibration rows are 0, which saves most of the fits.
    """
    if curator.choose is None:
        # The k most accurate judges with the lowest NLL on the evaluation rows themselves.
        rules = evidence.rules
        sizes = np.arange(1, ballots.n_judges + 1)
        recipe = Recipe(rules.aggregator, (rules.calibrator,), seed=rules.seed)
        nll = evaluate_split(ballots, split, sizes, recipe).evaluation[rules.calibrator].nll
        chosen = first_of(evidence, int(np.argmin(nll.mean(axis=1))) + 1, "accuracy", float("inf"))
    else:
        chosen = curator.choose(evidence)
        if np.isnan(chosen.nll):
            chosen = replace(chosen, nll=float(evidence.comparison()(chosen.judges[None]).nll[0]))
    at = _Refit(ballots, split, evidence, refit)
    if calibrates or chosen.table:
        return Curated(chosen, at.scores(curator, chosen))
    return Curated(chosen, at.chosen_anew(None, chosen))


@dataclass(frozen=True, slots=True, eq=False)
class _Refit:
    """Panels that are chosen and scored in a split, under the aggregator ``refit``."""

    ballots: Ballots
    split: Split
    evidence: Evidence
    refit: Aggregator

    def scores(self, curator: Curator, chosen: Chosen) -> prefixes.PrefixScores:
        """Score both sides, as calibrators may see them."""
        rules, k = self.evidence.rules, np.array([chosen.size])
        ranking, key = chosen.ranking or "accuracy", (self.split.number, 4)
        if chosen.table and self.refit == rules.aggregator:
            return table_scores(self.ballots, self.split, k, ranking, rules.seed, key)
        if chosen.ranking is not None or not curator.uses_labels:
            seen = self.ballots if chosen.ranking else self.ballots.of_judges(chosen.judges)
            recipe = Recipe(self.refit, ranking=ranking, seed=rules.seed)
            return recipe.scores(seen, self.split, k, key)
        return self.chosen_anew(curator, chosen)

    def chosen_anew(self, curator: Curator | None, chosen: Chosen) -> prefixes.PrefixScores:
        """Score both sides, the calibration rows by panels chosen again outside each fold.

        Without a ``curator`` to choose again, scores of the calibration rows are 0.
        """
        ballots, split, refit = self.ballots, self.split, self.refit
        rows, seed = split.calibration, self.evidence.rules.seed
        logits, empty = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
        place = prefixes.places_in(rows, ballots.n_items)
        pieces = folds(ballots.units, rows, prefixes.N_FOLDS, seed=seed, key=(split.number, 4))
        fold = fold_of(pieces, ballots.n_items)
        for piece in pieces:
            if curator is None:
                break
            inside = place[piece.evaluation]
            part = self.evidence.part(place[piece.calibration], piece.number)
            judges = curator.chosen(part).judges
            if cross_fits(refit):
                learn = prefixes.Fit(piece.calibration, piece.evaluation, fold[piece.calibration])
                logits[inside], empty[inside] = fitted_logits(ballots, learn, judges, refit)
            else:
                scores = _fixed(ballots, split, judges, refit)
                logits[inside] = scores.calibration[0, inside]
                empty[inside] = scores.calibration_empty[0, inside]
        if cross_fits(refit):
            whole = prefixes.Fit(rows, split.evaluation, fold[rows])
            held, unseen = fitted_logits(ballots, whole, chosen.judges, refit)
        else:
            final = _fixed(ballots, split, chosen.judges, refit)
            held, unseen = final.evaluation[0], final.evaluation_empty[0]
        size, order = np.array([chosen.size]), np.arange(ballots.n_judges)
        own, new = (logits[None], empty[None]), (held[None], unseen[None])
        return prefixes.PrefixScores(size, order, *own, *new, fold[rows])


def _fixed(
    ballots: Ballots, split: Split, judges: Bools, aggregator: Aggregator
) -> prefixes.PrefixScores:
    """Score both sides under one panel, calibration rows by counts without the item's own unit."""
    size = np.array([int(judges.sum())])
    return panel_scores(ballots.of_judges(judges), split, size, aggregator=aggregator)


def fitted_logits(
    ballots: Ballots, fit: prefixes.Fit, judges: Bools, aggregator: Aggregator
) -> tuple[Floats, Bools]:
    """Raw logits (n_score,) of one panel (n_judges,), and the mask of items without votes."""
    seen, size = ballots.of_judges(judges), np.array([int(judges.sum())])
    empty = prefixes.without_votes(seen, fit.score, np.arange(seen.n_judges), size)[0]
    return KERNELS[aggregator](seen, [fit], size, "accuracy")[0][0], empty


def table_look(ballots: Ballots, split: Split, chosen: Chosen) -> tuple[int, int, float, float]:
    """Count the patterns of a panel on the calibration rows, and look up those of the others.

    Returns, whether or not a table was used, the number of judges, of occupied cells, the
    Good-Turing share of new items in unseen cells and the actual share of evaluation rows.
    """
    fit = subsets.table(ballots, split.calibration, split.evaluation, np.flatnonzero(chosen.judges))
    return chosen.size, fit.occupied, fit.unseen, float(np.mean(fit.new))


def evidence_in(
    ballots: Ballots, rows: Ints, known: JudgeAttributes, rules: Rules, number: int
) -> Evidence:
    """Return evidence from the calibration rows of split ``number``."""
    return evidence_of(ballots, rows, known, rules, (number, 13))


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
    return under_budgets(evidence, steps, evidence.rules.aggregator, reference=False).panels[-1]


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
    return aggregator if aggregator in prefixes.CLOSED_FORMS else "stacking"


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
        :func:`judgepanel.studies.panel.curator.check_budget`.
    """
    cost = _costs(evidence)
    if not affordable(cost, float(budgets[0])).any():
        raise ValueError("the smallest budget pays for no judge")
    compared = compared_under(aggregator)
    if compared in prefixes.CLOSED_FORMS and evidence.ballots.n_judges <= FEW:
        return _every_panel(evidence, cost, budgets)
    total = float(cost.sum())
    whole = affordable(total, float(budgets[-1]))
    levels = budgets if whole or not reference else np.append(budgets, total)
    nll = _recipe_nll(evidence, levels, compared)
    masks = filled(orders(evidence, float(levels[-1])), cost, levels)
    everyone = np.ones(evidence.ballots.n_judges, dtype=bool)
    panels = []
    for b in range(len(budgets)):
        first = 0 if compared in prefixes.CLOSED_FORMS else b
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
        best = subsets.best_of(panels[within], nll[within])
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
    distance = prefixes.ranking_key(*prefixes.counts(ballots, evidence.rows), "informativeness")
    far_first = -np.round(distance, 12)
    by_value = _sorted(-per_cost(distance, cost), far_first, cost)
    greedy = _greedy(evidence, cost, limit)
    rest = by_value[~np.isin(by_value, greedy)]
    return np.stack([by_value, np.concatenate([greedy, rest]), _sorted(far_first, cost)])


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
    compare: subsets.Comparison = evidence.comparison("split")
    n_judges = len(cost)
    (trial,) = compare.trials
    held = trial.split.evaluation
    signs = evidence.ballots.signs.astype(np.float64)
    base = evidence.ballots.null_logit(trial.split.calibration)
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
        near = compared.maps[[pick]]
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
    trials: tuple[subsets.SubsetTrial, ...] = ()
    if aggregator in prefixes.CLOSED_FORMS:
        if aggregator != rules.aggregator:
            raise ValueError("the rules compare panels under another aggregator")
        trials = evidence.comparison().trials
        pieces = [trial.split for trial in trials]
    else:
        key, units = (*evidence.key, 106), evidence.ballots.units
        pieces = folds(units, evidence.rows, FITTED_FOLDS, seed=rules.seed, key=key)
    for number, piece in enumerate(pieces):
        by = orders(evidence.part(piece.calibration, 200 + number), float(levels[-1]))
        panels = filled(by, cost, levels).reshape(-1, len(cost))
        unique, back = np.unique(panels, axis=0, return_inverse=True)
        if trials:
            losses = trials[number].losses(unique)[0]
        else:
            losses = _raw_losses(evidence, piece, unique, aggregator)
        total += losses[back].reshape(total.shape)
    return total / evidence.ballots.n_items


def _raw_losses(evidence: Evidence, piece: Split, panels: Bools, aggregator: Aggregator) -> Floats:
    """Summed raw NLL (n_panels,) of the held-out rows under panels fitted to the others."""
    ballots, learn, held = evidence.ballots, piece.calibration, piece.evaluation
    seed, key = evidence.rules.seed, (*evidence.key, 105)
    pieces = folds(ballots.units, learn, FITTED_FOLDS, seed=seed, key=key)
    fit = prefixes.Fit(learn, held, fold_of(pieces, ballots.n_items)[learn])
    signs = ballots.signs.astype(np.float64)
    null = ballots.null_logit(learn)
    values = np.empty(len(panels))
    for place, judges in enumerate(panels):
        logits, empty = fitted_logits(ballots, fit, judges, aggregator)
        values[place] = mean_nll(np.where(empty, null, logits), signs[held])
    return values * len(held)


def _costs(evidence: Evidence) -> Floats:
    if evidence.known.costs is None:
        raise ValueError("there is no cost of every judge")
    return np.array(evidence.known.costs)


ALL_JUDGES = "all"
ORACLE = "oracle"
SELECTOR = "finite_calibration"
BUDGET = "budget"
MOST_CELLS = 5e6
"""Panels x calibration rows above which a search runs only if requested by name."""


def _beam(n_judges: int, rules: Rules) -> float:
    return float(n_judges * rules.width * min(rules.steps, n_judges))


CURATORS: Mapping[str, Curator] = {
    curator.name: curator
    for curator in (
        Curator(ALL_JUDGES, "all judges", every_judge, uses_labels=False),
        Curator("accuracy", "top k by accuracy", partial(top_k, ranking="accuracy")),
        Curator(
            "informativeness",
            "top k by distance from chance",
            partial(top_k, ranking="informativeness"),
        ),
        Curator("fixed_size", "top by accuracy, k given", fixed_size),
        Curator("random", "random judges, k given", random_k, uses_labels=False),
        Curator("forward", "greedy forward", greedy_forward),
        Curator("beam", "forward beam", beam_forward, searches=_beam),
        Curator(
            "backward",
            "backward elimination",
            backward_elimination,
            searches=lambda n, _: n * (n + 1) / 2.0,
        ),
        Curator("lasso", "l1 path", lasso),
        Curator("exhaustive", "every union of groups", every_union),
        Curator("one_per_family", "one per family", one_per_family, needs="families"),
        Curator("one_per_cluster", "one per cluster found", one_per_cluster),
        Curator("checks", "without parse-rate failures (P1)", without_failures),
        Curator("above_chance", "without judges below chance", above_chance),
        Curator("cheapest", "the k cheapest", cheapest_k, uses_labels=True, needs="costs"),
        Curator(BUDGET, "the best found under a budget", best_under_budget, needs="budget"),
        Curator(SELECTOR, "finite-calibration selector", finite_calibration),
        Curator(ORACLE, "oracle k", None),
    )
}
"""Curators in display order."""

NAMES: tuple[str, ...] = tuple(CURATORS)


def taken(
    asked: tuple[str, ...] | None,
    known: JudgeAttributes,
    rules: Rules,
    n_judges: int,
    n_rows: float,
) -> tuple[tuple[Curator, ...], tuple[str, ...]]:
    """Return the curators of a study, all judges first, and one sentence for each one left out.

    Without names these are all curators that have their inputs and whose search is not too long; if
    there is no budget, the one that needs it is left out without a sentence.
    """
    curators, left_out = [CURATORS[ALL_JUDGES]], []
    for name in NAMES if asked is None else asked:
        curator = CURATORS[name]
        if curator.needs == "budget" and asked is None and rules.budget is None:
            continue
        why = _why_not(curator, known, rules)
        if not why and asked is None:
            why = _too_long(curator, rules, n_judges, n_rows)
        if why:
            left_out.append(f"{curator.title} is left out: {why}")
        elif curator not in curators:
            curators.append(curator)
    return tuple(curators), tuple(left_out)


def _why_not(curator: Curator, known: JudgeAttributes, rules: Rules) -> str:
    if curator.needs in ("costs", "budget") and known.costs is None:
        return "it needs a judge table with a cost for every judge."
    if curator.needs == "budget" and rules.budget is None:
        return "it needs a budget."
    if curator.needs == "families" and not any(known.families):
        return "it needs a judge table with families."
    return ""


def _too_long(curator: Curator, rules: Rules, n_judges: int, n_rows: float) -> str:
    panels = curator.panels(n_judges, rules)
    if panels * n_rows <= MOST_CELLS:
        return ""
    return (
        f"it compares up to {panels:,.0f} panels on {n_rows:,.0f} items in every split; ask for "
        f"it by name ({curator.name})."
    )
