"""Costs of judges: columns of the judge table, and refusals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.panel import curator
from judgepanel.votes import InputError
from tests.helpers import make_votes


def votes(**columns):
    made = make_votes(1, 30, 3)
    return replace(made, judge_table=pd.DataFrame(columns)) if columns else made


@pytest.mark.parametrize("name", ["cost", "cost_usd", "cost_per_item"])
def test_a_column_may_carry_its_unit(name):
    made = votes(**{name: [1.0, 2.0, 0.0], "latency_s": [0.5, 2.0, 1.0]})
    costs = curator.costs_of(made, made.judges)
    assert costs.cost.tolist() == [1, 2, 0]
    assert costs.unit == name.removeprefix("cost").removeprefix("_")
    assert not costs.counted
    assert costs.full == 3.0
    panels = np.array([[True, True, False], [False, False, True]])
    assert (costs.of(panels).tolist(), costs.slowest(panels).tolist()) == ([3, 0], [2.0, 1.0])
    assert (costs.in_turn(panels).tolist(), costs.latency_unit) == ([2.5, 1.0], "s")
    assert curator.no_costs_note(costs) == []
    assert curator.known_judges(made, prepare(made, Settings())).costs == (1.0, 2.0, 0.0)


def test_several_units_are_none_but_a_plain_name_wins():
    assert curator.column_of(votes(cost_usd=[1] * 3, cost_eur=[1] * 3), "cost") is None
    assert curator.column_of(votes(cost_usd=[1] * 3, cost=[1] * 3), "cost") == "cost"
    assert curator.column_of(votes(), "cost") is None


def test_costs_follow_the_names_that_are_asked_for():
    made = votes(cost=[1.0, 2.0, 4.0])
    turned = made.with_judges(made.judges[::-1])
    for entry in (made, turned):
        assert curator.costs_of(entry, made.judges[::-1]).cost.tolist() == [4, 2, 1]


def test_without_costs_every_judge_counts_one_and_that_is_said():
    for made in (votes(), votes(family=["a", "b", "c"])):
        costs = curator.costs_of(made, made.judges)
        assert costs.counted
        assert costs.cost.tolist() == [1, 1, 1]
        assert "every judge counts 1" in curator.no_costs_note(costs)[0]
        assert np.isnan(costs.latency).all()


@pytest.mark.parametrize("wrong", ["-0.5", "inf", "cheap", "NaN"])
def test_what_is_no_price_is_refused(wrong):
    made = votes(cost=["1", wrong, "2"])
    with pytest.raises(InputError, match=r"cost of judge judge001 is not a price.*0 or more"):
        curator.costs_of(made, made.judges)


def test_an_unknown_cost_is_refused_with_the_names_unless_that_judge_is_left_out():
    made = votes(cost=[1.0, np.nan, 2.0])
    with pytest.raises(InputError, match=r"there is none of 'judge001'; allowed: .*leave"):
        curator.costs_of(made, made.judges)
    assert curator.costs_of(made, (made.judges[2], made.judges[0])).cost.tolist() == [2, 1]


def test_latencies_decide_nothing_and_stop_nothing():
    made = votes(cost=[1.0, 1.0, 1.0], latency=["1", "", "fast"])
    assert np.isnan(curator.costs_of(made, made.judges).latency).all()
    made = votes(cost=[1.0, 1.0, 1.0], latency=[1.0, np.nan, 3.0])
    costs = curator.costs_of(made, made.judges)
    both = costs.slowest(np.array([[True, True, False], [True, False, True]]))
    assert np.isnan(both[0])
    assert both[1] == 3.0


def test_a_budget_is_met_up_to_rounding():
    assert curator.affordable(0.1 + 0.2, 0.3)
    assert not curator.affordable(0.301, 0.3)
    curator.check_budget(np.array([0.5, 0.3]), 0.3)
    with pytest.raises(InputError, match=r"the cheapest, 'b', costs 0\.3 an item .*0\.2"):
        curator.check_budget(np.array([0.5, 0.3]), 0.2, ("a", "b"))
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="budget is not a price"):
            curator.check_price(wrong)
