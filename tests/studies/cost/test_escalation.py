"""Escalation: what it costs, what it keeps, and how its threshold is chosen."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.scoring.metrics import item_scores
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.decide.escalation import (
    ESCALATION,
    EscalationSpec,
    confidence_of,
    escalated_nll,
    merge,
    run_chunk,
)
from judgepanel.studies.runner import run
from judgepanel.studies.trust import probabilities
from judgepanel.studies.trust.probabilities import PanelSpec
from judgepanel.votes import InputError
from tests.helpers import make_votes

COSTS = (0.3, 0.1, 0.2, 0.5, 0.1, 0.05, 0.4)


def votes(costs=COSTS, seed=1, **more):
    made = make_votes(seed, 80, 7, **more)
    if costs is None:
        return made
    table = pd.DataFrame({"cost": costs, "latency": np.arange(7) + 1.0})
    return replace(made, judge_table=table)


def spec(splits=3, **more):
    given = {"aggregator": "one_coin", "calibrator": "temperature", "thresholds": (0.7, 0.9)}
    return EscalationSpec(Settings(splits=splits), **(given | more))


def escalated(given, splits=3, **more):
    return run(ESCALATION, given, spec(splits, **more), jobs=1)


@cache
def result(**more):
    return escalated(votes(), **more)


def test_the_ends_are_the_cheap_panel_and_all_judges_and_cost_lies_between():
    for more in ({}, {"cheapest": 2}, {"cheap": ("judge003", "judge000")}):
        escalation = result(**more)
        assert [figures.threshold for figures in escalation.rows] == [0.5, 0.7, 0.9, 1.0]
        assert (escalation.alone.escalated.value, escalation.full.escalated.value) == (0.0, 1.0)
        exact = {} if more else {"rel": 0.02}  # the mean over items, where splits differ
        assert escalation.alone.cost.value == pytest.approx(escalation.cheap_cost, **exact)
        assert escalation.full.cost.value == pytest.approx(escalation.full_cost)
        assert escalation.full_cost == pytest.approx(sum(COSTS))
        assert (escalation.full.verdict, escalation.full.delta.value) == ("tie", 0.0)
        costs = [figures.cost.value for figures in escalation.rows]
        asked = [figures.escalated.value for figures in escalation.rows]
        assert costs == sorted(costs)
        assert asked == sorted(asked)
        assert costs[0] <= escalation.recommended.cost.value <= costs[-1]
        for row in escalation.rows:
            apart = escalation.full_cost - escalation.cheap_cost
            if more:
                cost = escalation.cheap_cost + row.escalated.value * apart
                assert row.cost.value == pytest.approx(cost)
        assert escalation.alone.latency <= escalation.full.latency


def test_the_cheap_panel_is_whom_was_asked_for():
    assert set(result(cheapest=2).cheap) == {"judge005", "judge001"}
    assert set(result(cheap=("judge003", "judge000")).cheap) == {"judge000", "judge003"}
    escalation = result(share=0.3)
    price = dict(zip(votes().judges, COSTS, strict=True))
    assert sum(price[name] for name in escalation.cheap) <= 0.3 * sum(COSTS) + 1e-9
    assert escalation.cheap_how == "the best found for 30% of the full cost"


def test_always_asking_is_the_full_panel_and_never_asking_the_cheap_one_to_the_bit():
    made, wanted = votes(), spec(cheap=("judge000", "judge003"))
    escalation = run_chunk(made, wanted, Chunk(0, 0, 3))
    for row, names in enumerate((("judge000", "judge003"), None)):
        panel = PanelSpec(Settings(splits=3, judges=names), calibrator="temperature")
        other = probabilities.run_chunk(made, panel, Chunk(0, 0, 3))
        np.testing.assert_array_equal(escalation.scores.rows, other.rows)
        np.testing.assert_array_equal(escalation.scores.logits[row], other.logits[1])
        of = probabilities.evaluations(other, prepare(made, panel.settings))
        nll = float(of.by_item(item_scores(of.logits[1], of.signs).nll).mean())
        outcome = merge(made, wanted, escalation)
        assert (outcome.alone, outcome.full)[row].nll.value == nll


def test_an_item_goes_to_all_judges_exactly_where_confidence_is_below_the_limit():
    logits = np.array([[0.0, 2.0, -9.0, 0.5], [1.0, -1.0, 3.0, 2.0]])
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    limits = np.array([0.5, 0.7, 0.9, 1.0])
    sure = confidence_of(logits[0])
    assert (sure[0], sure.max()) == (0.5, 0.999)
    nll = escalated_nll(logits, signs, limits)
    p = np.clip(1 / (1 + np.exp(-logits)), 0.001, 0.999)
    for t, limit in enumerate(limits):
        for i in range(4):
            which = int(max(p[0, i], 1 - p[0, i]) < limit)
            right = p[which, i] if signs[i] > 0 else 1 - p[which, i]
            assert nll[t, i] == pytest.approx(-np.log(right))


def test_the_threshold_is_the_lowest_within_the_tolerance_where_it_was_chosen():
    made, wanted = votes(), spec(tolerance=0.05)
    escalation = run_chunk(made, wanted, Chunk(0, 0, 3))
    for promised, picked in zip(escalation.promised, escalation.picked, strict=True):
        within = promised <= promised[-1] * 1.05 + 1e-12
        assert picked == np.flatnonzero(within)[0]
    assert (run_chunk(made, spec(tolerance=9.0), Chunk(0, 0, 3)).picked == 0).all()
    outcome = result()
    assert sum(row.chosen_share for row in outcome.rows) == pytest.approx(1.0)
    promised = outcome.recommended.promised - outcome.full.promised
    assert outcome.optimism == pytest.approx(outcome.recommended.delta.value - promised)


@pytest.mark.parametrize("aggregator", ["one_coin", "stacking"])
def test_labels_of_evaluation_rows_move_neither_panel_nor_threshold(aggregator):
    made, wanted = votes(), spec(aggregator=aggregator, calibrator="none")
    held = split(prepare(made, Settings()).ballots.units, 0).evaluation
    labels = made.labels.copy()
    labels[held] = 1 - labels[held]
    outcome, other = (
        run_chunk(v, wanted, Chunk(0, 0, 1)) for v in (made, replace(made, labels=labels))
    )
    np.testing.assert_array_equal(outcome.cheap, other.cheap)
    np.testing.assert_array_equal(outcome.promised, other.promised)
    np.testing.assert_array_equal(outcome.scores.logits, other.scores.logits)


def test_joint_panels_escalate_too():
    escalation = run(ESCALATION, votes(), EscalationSpec(Settings(splits=2), cheapest=2), jobs=1)
    assert escalation.full.verdict == "tie"
    assert escalation.alone.nll.value != escalation.full.nll.value


def test_without_costs_judges_are_counted_and_odd_panels_are_said():
    counted = escalated(votes(None), 2, cheapest=1)
    assert counted.counted
    assert counted.alone.cost.value == 1.0
    assert "every judge counts 1" in counted.warnings[0]
    little = escalated(votes(), 2, share=0.001)
    assert little.cheap == ("judge005",)
    assert any("asks no judge" in line for line in little.warnings)
    whole_panel = escalated(votes(), 2, cheapest=99)
    assert whole_panel.alone.delta.value == 0.0
    assert any("nothing to escalate to" in line for line in whole_panel.warnings)
    assert escalated(votes((0.0,) * 7), 2, cheapest=2).recommended.cost.value == 0.0


def test_a_judge_that_does_not_take_part_is_refused():
    with pytest.raises(InputError, match=r"does not take part.*'nobody'"):
        escalated(votes(), 2, cheap=("nobody",))
