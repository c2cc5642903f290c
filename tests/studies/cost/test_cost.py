"""The frontier: what each budget buys, and that nothing is picked by its shown score."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.decide.cost import COST, CostSpec, readings, run_chunk
from judgepanel.studies.decide.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from tests.helpers import make_votes

COSTS = (0.3, 0.1, 0.2, 0.5, 0.1, 0.05, 0.4)


def votes(costs=COSTS, seed=1, **more):
    made = make_votes(seed, 80, 7, **more)
    if costs is None:
        return made
    table = pd.DataFrame({"cost_usd": costs, "latency_s": np.arange(7) + 1.0})
    return replace(made, judge_table=table)


def spec(splits=3, **more):
    return CostSpec(Settings(splits=splits), **({"points": 4, "steps": 2} | more))


def frontier(given, splits=3, **more):
    return run(COST, given, spec(splits, **more), jobs=1)


@cache
def result(aggregator="stacking"):
    return frontier(votes(), aggregator=aggregator)


def test_points_are_fixed_budgets_whose_panels_cost_no_more():
    for aggregator in ("stacking", "one_coin"):
        cost = result(aggregator)
        budgets = [cost_point.budget for cost_point in cost.points]
        assert budgets == sorted(budgets)
        assert budgets[0] == min(COSTS)
        assert budgets[-1] == cost.full_cost == pytest.approx(sum(COSTS))
        price = dict(zip(cost.judges, cost.judge_costs, strict=True))
        for point in cost.points:
            assert point.cost.hi <= point.budget * (1 + 1e-9)
            assert sum(price[name] for name in point.judges) == pytest.approx(point.panel_cost)
            assert point.panel_cost <= point.budget * (1 + 1e-9)
            assert point.share == pytest.approx(point.cost.value / sum(COSTS))
            assert point.panel_slowest <= point.panel_in_turn


def test_under_joint_the_full_cost_buys_all_judges_scored_as_in_other_studies():
    cost = frontier(votes(), 2, points=2)
    last = cost.points[-1]
    assert last.figures.verdict == "tie"
    assert last.figures.nll.value == cost.everyone.figures.nll.value
    assert set(last.judges) == set(cost.judges)
    wanted = CuratorsSpec(
        Settings(splits=2), ("fixed_size",), calibrator="none", refit="joint", size=7
    )
    other = run(CURATORS_STUDY, votes(), wanted, jobs=1)
    assert cost.everyone.figures.nll.value == pytest.approx(other.everyone.nll.value, abs=1e-9)


def test_prices_are_what_a_per_cent_costs_on_the_way_to_the_next_budget():
    points = result().points
    assert points[-1].next is None
    for entry, after in pairwise(points):
        step = entry.next
        assert step.gain.value == pytest.approx(entry.figures.nll.value - after.figures.nll.value)
        assert step.extra == pytest.approx(after.cost.value - entry.cost.value)
        assert step.gain.lo <= step.gain.value <= step.gain.hi
        if step.gain.value > 0:
            per_cent = 100.0 * step.gain.value / entry.figures.nll.value
            assert step.price.value == pytest.approx(step.extra / per_cent)
            assert step.price.lo <= step.price.value
        else:
            assert np.isnan(step.price.value)


def test_the_reading_never_rises_and_only_reads():
    assert readings(np.array([0.5, 0.3, 0.4, 0.2])).tolist() == pytest.approx(
        [0.5, 0.35, 0.35, 0.2]
    )
    for aggregator in ("stacking", "one_coin"):
        points = result(aggregator).points
        read = [point.reading for point in points]
        assert read == sorted(read, reverse=True)
        assert points[0].on_frontier
        nll = np.array([point.figures.nll.value for point in points])
        assert np.mean(read) == pytest.approx(nll.mean())


def test_labels_of_evaluation_rows_move_no_choice():
    made, wanted = votes(), spec(2, aggregator="stacking")
    tally = run_chunk(made, wanted, Chunk(0, 0, 1))
    held = split(prepare(made, Settings(splits=2)).ballots.units, 0).evaluation
    labels = made.labels.copy()
    labels[held] = 1 - labels[held]
    other = run_chunk(replace(made, labels=labels), wanted, Chunk(0, 0, 1))
    np.testing.assert_array_equal(tally.chosen, other.chosen)
    assert (tally.scores.split_means != other.scores.split_means).any()


def test_a_budget_has_a_point_of_its_own_and_a_poor_one_is_refused():
    cost = frontier(votes(), 2, budget=0.33, aggregator="one_coin")
    assert cost.asked.budget == 0.33
    assert cost.asked.panel_cost <= 0.33
    rich = frontier(votes(), 2, budget=99.0, aggregator="one_coin")
    assert rich.asked.budget == pytest.approx(sum(COSTS))
    assert any("pays for all judges" in line for line in rich.warnings)
    with pytest.raises(InputError, match=r"the cheapest, 'judge005', costs 0\.05"):
        frontier(votes(), 2, budget=0.01)


def test_without_costs_judges_are_counted_and_that_is_said():
    cost = frontier(votes(None), 2, aggregator="one_coin")
    assert cost.counted
    assert cost.unit == "judges"
    assert [point.budget for point in cost.points] == [1, 2, 4, 7]
    assert "every judge counts 1" in cost.warnings[0]


def test_free_judges_and_sparse_votes_and_a_single_judge_have_figures():
    free = frontier(votes((0.0,) * 7), 2, aggregator="one_coin")
    assert free.full_cost == 0.0
    assert any("nothing to save" in line for line in free.warnings)
    some = frontier(votes((0.0, 0.0, 1, 1, 1, 1, 1), missing=0.4), 2, points=2)
    assert some.points[0].budget == 0.0
    assert any("% of the votes are there" in line for line in some.warnings)
    alone = votes().with_judges(votes().judges[:1])
    cost = frontier(alone, 2, aggregator="one_coin")
    assert len(cost.points) == 1
    assert any("nothing to choose" in line for line in cost.warnings)


def test_calibrated_points_choose_anew_in_folds():
    wanted = spec(2, aggregator="stacking", calibrator="temperature", points=2, steps=0)
    cost = run(COST, votes(), wanted, jobs=1)
    assert cost.points[-1].figures.nll.value == pytest.approx(
        cost.everyone.figures.nll.value, abs=0.02
    )
    assert np.isnan(cost.points[0].figures.optimism.value)
    plain = frontier(votes(), 2, aggregator="one_coin", calibrator="platt")
    assert np.isfinite(plain.points[0].figures.optimism.value)


def test_a_known_best_buy_is_found():
    """Two good cheap judges among dear ones that guess: little money buys all there is."""
    rng = np.random.default_rng(0)
    made = make_votes(0, 200, 7, low=0.5, high=0.52, missing=0.0)
    cast = made.votes.copy()
    for j in (2, 4):
        cast[:, j] = np.where(rng.random(200) < 0.9, made.labels, 1 - made.labels)
    table = pd.DataFrame({"cost": [5.0, 5, 1, 5, 1, 5, 5]})
    made = replace(made, votes=cast, judge_table=table)
    cost = frontier(made, 3, budget=2.0, points=2)
    assert (cost.asked.judges, cost.asked.figures.stability) == (("judge002", "judge004"), 1.0)
    assert cost.asked.figures.nll.value < cost.everyone.figures.nll.value + 0.02
