"""The best panel under a budget: its cost, the rows that it may use, and what it finds."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from judgepanel.kernels.prefixes import CLOSED_FORMS
from judgepanel.kernels.subsets import exhaustive
from judgepanel.scoring.splits import split
from judgepanel.studies.panel import curated
from judgepanel.studies.panel.curator import Evidence, JudgeAttributes, Rules
from judgepanel.votes import InputError
from tests.helpers import make_ballots

RULES = Rules(calibrator="temperature", folds=3, steps=4)
AGGREGATORS = ("one_coin", "majority", "joint")


def evidence(ballots, cost, rules=RULES):
    return Evidence(
        ballots, JudgeAttributes(("",) * ballots.n_judges, tuple(map(float, cost))), rules, (0, 1)
    )


def costs(n, seed=0):
    return np.round(np.random.default_rng(seed).lognormal(0.0, 1.0, n), 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [0.8, 2.0, 4.0, 100.0])
def test_few_judges_get_the_best_of_every_panel_that_the_budget_pays_for(seed, budget):
    ballots, cost = make_ballots(seed, 60, 6), costs(6, seed)
    seen = evidence(ballots, cost, replace(RULES, budget=budget))
    assert cost.min() <= budget
    result = curated.best_under_budget(seen)
    panels = [
        np.isin(np.arange(6), some) for k in range(1, 7) for some in combinations(range(6), k)
    ]
    within = np.array([panel for panel in panels if cost[panel].sum() <= budget + 1e-9])
    nll = seen.comparison()(within).nll
    assert cost[result.judges].sum() <= budget + 1e-9
    assert result.nll == pytest.approx(nll.min(), abs=1e-9)
    best = within[np.round(nll, 9) == np.round(nll, 9).min()]
    assert any((result.judges == entry).all() for entry in best)


def test_without_a_limit_it_finds_what_the_exhaustive_search_finds():
    seen = evidence(make_ballots(4, 60, 6), costs(6))
    every = exhaustive(seen.comparison(), np.eye(6, dtype=bool))
    assert curated.best_under_budget(seen).nll == pytest.approx(every.nll, abs=1e-9)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_no_panel_costs_more_than_its_budget_and_every_budget_has_one(aggregator):
    ballots, cost = make_ballots(1, 70, curated.FEW + 3), costs(curated.FEW + 3)
    rules = replace(RULES, aggregator=aggregator if aggregator in CLOSED_FORMS else "one_coin")
    budgets = curated.budget_grid(cost, 6, float(cost.sum()))
    result = curated.under_budgets(evidence(ballots, cost, rules), budgets, aggregator)
    for budget, panel in zip(budgets, result.panels, strict=True):
        assert 0.0 < cost[panel.judges].sum() <= budget * (1 + 1e-9)
        assert np.isfinite(panel.nll)
    assert result.everyone.judges.all()
    if aggregator == "joint":
        assert result.panels[-1].judges.all()
    else:
        nll = [one_panel.nll for one_panel in result.panels]
        assert nll == sorted(nll, reverse=True)


def test_an_order_is_filled_as_by_a_loop():
    rng = np.random.default_rng(3)
    cost, by = costs(9, 3), np.stack([rng.permutation(9) for _ in range(3)])
    budgets = np.array([0.5, 1.7, 4.0, 50.0])
    for b, budget in enumerate(budgets):
        for o, order in enumerate(by):
            spent, wanted = 0.0, np.zeros(9, dtype=bool)
            for judge in order:
                if spent + cost[judge] <= budget * (1 + 1e-9):
                    wanted[judge], spent = True, spent + cost[judge]
            np.testing.assert_array_equal(curated.filled(by, cost, budgets)[b, o], wanted)


def test_orders_are_permutations_and_follow_their_rule():
    ballots, cost = make_ballots(2, 80, 8, missing=0.0), costs(8, 5)
    result = curated.orders(evidence(ballots, cost))
    assert result.shape == (len(curated.ORDERS), 8)
    np.testing.assert_array_equal(np.sort(result, axis=1), np.tile(np.arange(8), (3, 1)))
    right = (ballots.votes == ballots.signs[:, None]).sum(axis=0)
    distance = np.abs(2 * right - 80) / 82
    assert (np.diff((distance / cost)[result[0]]) <= 1e-9).all()
    assert (np.diff(distance[result[2]]) <= 1e-9).all()


def test_what_is_free_comes_first_and_nothing_gained_is_worth_nothing():
    value = curated.per_cost(
        np.array([0.1, 0.1, 0.0, 0.2, -1.0]), np.array([0.0, 2.0, 0.0, 1.0, 1.0])
    )
    assert value.tolist() == [np.inf, 0.05, 0.0, 0.2, 0.0]
    ballots = make_ballots(1, 60, 12)
    cost = np.where(np.arange(12) % 3 == 0, 0.0, 1.0)
    free = curated.under_budgets(evidence(ballots, cost), np.array([0.0, 2.0]), "joint").panels[0]
    np.testing.assert_array_equal(free.judges, cost == 0.0)


def test_every_judge_may_be_free():
    ballots = make_ballots(1, 60, 12)
    assert curated.budget_grid(np.zeros(12), 5, 0.0).tolist() == [0.0]
    for aggregator in AGGREGATORS[::2]:
        budgets = curated.under_budgets(
            evidence(ballots, np.zeros(12)), np.array([0.0]), aggregator
        )
        assert budgets.panels[0].size >= 1


@pytest.mark.parametrize("aggregator", AGGREGATORS[::2])
def test_equal_judges_are_taken_in_the_order_of_their_names(aggregator):
    base = make_ballots(3, 60, 3, missing=0.0)
    copies = replace(base, votes=np.repeat(base.votes, 4, axis=1))
    budgets = curated.under_budgets(evidence(copies, np.ones(12)), np.array([1.0, 2.0]), aggregator)
    assert int(np.flatnonzero(budgets.panels[0].judges)[0]) % 4 == 0


@pytest.mark.parametrize("n_judges", [5, 12])
def test_reordering_the_items_or_scaling_the_costs_changes_no_panel_of_a_closed_form(n_judges):
    ballots, cost = make_ballots(6, 60, n_judges), costs(n_judges, 2)
    budgets = curated.budget_grid(cost, 4, float(cost.sum()))
    first = curated.under_budgets(evidence(ballots, cost), budgets, "one_coin").panels
    scaled = curated.under_budgets(evidence(ballots, cost * 100), budgets * 100, "one_coin").panels
    for left, other in zip(first, scaled, strict=True):
        np.testing.assert_array_equal(left.judges, other.judges)


def test_grids_run_from_the_cheapest_to_the_limit():
    cost = np.array([0.3, 0.1, 2.0])
    grid = curated.budget_grid(cost, 5, 2.4)
    assert (grid[0], grid[-1]) == (0.1, 2.4)
    assert len(grid) == 5
    assert (np.diff(grid) > 0).all()
    assert curated.budget_grid(np.ones(6), 8, 6.0, whole=True).tolist() == [1, 2, 3, 4, 5, 6]
    assert curated.budget_grid(np.array([0.0, 1.0]), 3, 1.0).tolist() == [0.0, 1.0]
    assert curated.budget_grid(cost, 4, 0.1).tolist() == [0.1]


def test_a_budget_that_pays_for_nobody_is_refused_with_the_least_price():
    seen = evidence(make_ballots(1, 40, 3), [2.0, 0.5, 1.0], replace(RULES, budget=0.4))
    with pytest.raises(InputError, match=r"cheapest costs 0\.5 .*0\.4.*allowed: 0\.5 or more"):
        curated.best_under_budget(seen)


def test_it_is_taken_where_there_are_costs_and_a_budget():
    known, bare = JudgeAttributes(("", ""), (1.0, 2.0)), JudgeAttributes(("", ""), None)
    rules = replace(RULES, budget=2.0)
    names = [curator.name for curator in curated.taken(None, known, rules, 2, 50)[0]]
    assert curated.BUDGET in names
    assert curated.BUDGET not in [
        curator.name for curator in curated.taken(None, known, RULES, 2, 50)[0]
    ]
    assert "it needs a budget" in curated.taken((curated.BUDGET,), known, RULES, 2, 50)[1][0]
    assert "a cost for every judge" in curated.taken((curated.BUDGET,), bare, rules, 2, 50)[1][0]


@pytest.mark.parametrize(("refit", "n_judges"), [("one_coin", 11), ("joint", 5)])
def test_turning_the_label_of_a_calibration_row_does_not_move_its_own_score(refit, n_judges):
    ballots, cost = make_ballots(5, 50, n_judges, missing=0.1), costs(n_judges)
    one_split = split(ballots.units, 1)
    known = JudgeAttributes(("",) * n_judges, tuple(cost))
    signs = ballots.signs.copy()
    signs[one_split.calibration[4]] *= -1
    rules = replace(RULES, budget=float(cost.sum()) / 3, steps=1)
    curator, scores = curated.CURATORS[curated.BUDGET], []
    for given in (ballots, replace(ballots, signs=signs)):
        seen = curated.evidence_in(given, one_split.calibration, known, rules, 0)
        scores.append(curated.curated(given, one_split, curator, seen, refit).scores)
    first, second = scores
    assert first.calibration[0, 4] == pytest.approx(second.calibration[0, 4], abs=1e-9)


def test_without_a_calibrator_only_the_rows_held_out_are_scored():
    ballots = make_ballots(5, 50, 5)
    one_split = split(ballots.units, 1)
    seen = curated.evidence_in(
        ballots, one_split.calibration, JudgeAttributes(("",) * 5, None), RULES, 1
    )
    for refit in ("one_coin", "joint"):
        given = (ballots, one_split, curated.CURATORS["fixed_size"], seen, refit)
        whole, held = (curated.curated(*given, calibrates=c).scores for c in (True, False))
        np.testing.assert_allclose(whole.evaluation, held.evaluation, atol=1e-9)


def test_symmetric_one_class_votes_are_searched_too():
    ballots = make_ballots(1, 60, 12, symmetric=True)
    right = ballots.votes * ballots.signs[:, None]
    turned = replace(ballots, votes=right, signs=np.ones_like(ballots.signs))
    known = [evidence(given, np.ones(12)) for given in (ballots, turned)]
    for aggregator in AGGREGATORS[::2]:
        a, b = (curated.under_budgets(seen, np.array([3.0]), aggregator) for seen in known)
        np.testing.assert_array_equal(a.panels[0].judges, b.panels[0].judges)
