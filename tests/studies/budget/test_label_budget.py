"""Label budgets: nested sets of labels, honest baselines, one band for all budgets."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.evaluation import evaluate_split
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.panel.recommended import average_on
from judgepanel.studies.runner import run
from judgepanel.studies.trust.label_budget import (
    LABEL_BUDGET,
    LabelBudgetSpec,
    label_sets,
    planned,
    read,
    run_chunk,
)
from tests.helpers import make_votes

SETTINGS = Settings(splits=6)


def spec(**options):
    return LabelBudgetSpec(**{"settings": SETTINGS, "panels": (3,), **options})


@cache
def votes():
    return make_votes(1, 120, 9)


@cache
def result():
    return run(LABEL_BUDGET, votes(), spec(budgets=(20, 30, 45)), jobs=1)


def test_the_first_labels_of_one_order_are_nested_and_seeded():
    units = np.arange(100)
    one_split = split(units, 3)
    sets = label_sets(one_split, units, np.array([10, 25, 50]), 0)
    assert [len(rows) for rows in sets] == [10, 25, 50]
    assert set(sets[0]) < set(sets[1]) < set(sets[2]) == set(one_split.calibration)
    again = label_sets(one_split, units, np.array([25, 50]), 0)
    np.testing.assert_array_equal(again[0], sets[1])
    assert set(label_sets(one_split, units, np.array([10, 50]), 1)[0]) != set(sets[0])
    other = split(units, 4)
    assert set(label_sets(other, units, np.array([10, 50]), 0)[0]) <= set(other.calibration)


def test_groups_stay_whole_in_every_budget():
    units = np.repeat(np.arange(30), 4)
    one_split = split(units, 0)
    for rows in label_sets(one_split, units, np.array([10, 30, 60]), 0):
        for unit in np.unique(units[rows]):
            assert np.isin(np.flatnonzero(units == unit), rows).all()
    assert abs(len(label_sets(one_split, units, np.array([30, 60]), 0)[0]) - 30) <= 2


def test_the_largest_budget_is_the_panel_curve():
    curve = run(
        PANEL_CURVE,
        votes(),
        PanelCurveSpec(SETTINGS, calibrators=("beta", "temperature"), compare=(3,)),
        jobs=1,
    )
    label_budget = result()
    np.testing.assert_array_equal(label_budget.nll.value[:, :, -1], curve.nll.value[:, [2, 8]])
    np.testing.assert_allclose(label_budget.nll.lo[:, :, -1], curve.nll.lo[:, [2, 8]], rtol=1e-12)
    for c, name in enumerate(label_budget.calibrators):
        same = curve.comparison(name, "top-3")
        assert label_budget.delta.value[c, 0, -1] == pytest.approx(same.delta.value, abs=1e-15)
        assert label_budget.delta.lo[c, 0, -1] == pytest.approx(same.delta.lo, abs=1e-12)
        assert label_budget.verdict(c, 0, -1) == same.verdict
    assert label_budget.null_nll[-1] == curve.null_nll
    np.testing.assert_array_equal(label_budget.constant_nll[:, -1], curve.constant_nll)


def test_a_budget_sees_its_own_labels_only():
    wanted = spec(budgets=(20, 30), settings=Settings(splits=2))
    prepared = prepare(votes(), wanted.settings)
    ballots, ks = prepared.ballots, wanted.sizes(9)
    label_budget = run(LABEL_BUDGET, votes(), wanted, jobs=1)
    nulls, levels = [], []
    for number in range(2):
        one_split = split(ballots.units, number)
        rows = label_sets(one_split, ballots.units, label_budget.budgets, 0)[0]
        wiped = replace(ballots, signs=ballots.signs.copy())
        rest = np.setdiff1d(one_split.calibration, rows)
        wiped.signs[rest] *= -1  # labels beyond the budget must not matter
        scores = evaluate_split(wiped, Split(number, rows, one_split.evaluation), ks, wanted.recipe)
        nulls.append(scores.null_nll)
        levels.append(scores.evaluation["beta"].nll.mean(axis=1))
        rate = np.mean(ballots.signs[rows] > 0)
        right = np.where(ballots.signs[one_split.evaluation] > 0, rate, 1 - rate)
        assert scores.null_nll == pytest.approx(-np.log(right).mean())
    assert label_budget.null_nll[0] == pytest.approx(np.mean(nulls))
    partial = run_chunk(votes(), wanted, LABEL_BUDGET.plan(wanted)[0])
    means = partial.scores.split_means[:, 0, 0, :-1].reshape(2, 2, 3)[:, :, 0]
    np.testing.assert_allclose(means, levels, rtol=1e-12)


def test_the_band_holds_the_intervals_and_agrees_with_the_joint_p():
    label_budget = result()
    band, delta = label_budget.band, label_budget.delta
    assert (band.lo <= delta.lo).all()
    assert (band.hi >= delta.hi).all()
    np.testing.assert_array_equal(band.value, delta.value)
    leaves_out = (band.above() | band.below()).any(axis=-1)
    np.testing.assert_array_equal(leaves_out, label_budget.joint_p < 0.05)


def test_a_judge_without_a_vote_changes_nothing_at_any_budget():
    votes = make_votes(3, 120, 5, missing=0.0, low=0.75)
    cast = votes.votes.copy()
    cast[:, 3] = -1
    silent = replace(votes, votes=cast)
    others = silent.with_judges([name for name in votes.judges if name != votes.judges[3]])
    outcome, without = (run(LABEL_BUDGET, entry, spec(), jobs=1) for entry in (silent, others))
    assert outcome.frame().equals(without.frame())
    assert np.isfinite(outcome.delta.value).all()
    assert outcome.delta.value.any()


def test_one_judge_has_levels_and_nothing_to_compare():
    label_budget = run(LABEL_BUDGET, make_votes(3, 120, 1), spec(calibrators=("beta",)), jobs=1)
    assert label_budget.delta.shape == (1, 0, len(label_budget.budgets))
    assert label_budget.arms == ("all 1",)
    assert len(label_budget.frame()) == len(label_budget.budgets)


def test_more_labels_help_and_better_panels_are_told_apart():
    wide = make_votes(5, 300, 25, low=0.6, high=0.65, missing=0.0)
    label_budget = run(LABEL_BUDGET, wide, spec(calibrators=("temperature",)), jobs=1)
    everyone = label_budget.nll.value[0, -1]
    assert everyone[-1] < everyone[0]
    assert label_budget.joint_p[0, 0] < 0.05
    assert label_budget.band.lo[0, 0].max() > 0
    assert label_budget.verdict(0, 0, len(label_budget.budgets) - 1) == "keep all"
    needed = label_budget.needed_for("temperature", "all 25")
    n, lo, _ = needed.n
    assert label_budget.labels[0] <= lo <= n <= label_budget.labels[-1]
    assert needed.goal == pytest.approx(1.05 * everyone[-1])


def test_a_target_is_read_off_extrapolated_or_given_up():
    level = result().nll.value[0, -1]
    easy, hard, never = (
        run(LABEL_BUDGET, votes(), spec(budgets=(20, 30, 45), target=goal), jobs=1)
        for goal in (level.max() + 0.01, level.min() - 0.02, 1e-6)
    )
    needed = easy.needed_for("beta", "all 9", "target")
    assert needed.at_start
    assert needed.n.value == needed.n.lo == 20
    beyond = hard.needed_for("beta", "all 9", "target")
    assert beyond.extrapolated or np.isnan(beyond.n.value)
    given_up = never.needed_for("beta", "all 9", "target").n
    assert np.isnan(given_up.value)
    assert np.isnan(given_up.hi)


def test_the_next_labels_cost_less_than_the_first_and_never_hurt():
    label_budget = result()
    gain, lo, hi = label_budget.gain
    assert (np.diff(gain, axis=-1) <= 1e-12).all()
    assert (lo >= 0).all()
    assert (lo <= hi).all()
    assert label_budget.next_from.tolist() == [20, 30, 45, 60, 120]
    fall = label_budget.fitted(0, 1, 30.0) - label_budget.fitted(0, 1, 130.0)
    assert gain[0, 1, 1] == pytest.approx(float(fall))


def test_by_default_nine_budgets_run_from_twenty_to_the_calibration_half():
    plan = planned(prepare(make_votes(0, 400, 5), SETTINGS), spec())
    assert len(plan.budgets) == 9
    assert (plan.budgets[0], plan.budgets[-1]) == (20, 200)
    ratios = plan.budgets[1:] / plan.budgets[:-1]
    assert ratios.max() / ratios.min() < 1.1


@pytest.mark.parametrize(
    ("n_items", "base_rate", "budgets", "says"),
    [
        (120, 0.5, (20, 500), "500 labels is left out: 60 labels calibrate here; it needs 1,000"),
        (300, 0.1, (20,), "it needs 5 labels of the rarer class"),
        (120, 0.5, (3,), "A budget of 3 labels is left out: it needs"),
    ],
)
def test_a_budget_that_cannot_be_kept_says_what_it_needs(n_items, base_rate, budgets, says):
    few = make_votes(2, n_items, 5, base_rate=base_rate, task="pointwise")
    label_budget = run(LABEL_BUDGET, few, spec(budgets=budgets), jobs=1)
    assert any(says in sentence for sentence in label_budget.warnings)
    assert label_budget.budgets[-1] == n_items // 2
    assert not set(label_budget.budgets[:-1].tolist()) & {500, 3}


def test_the_rarer_class_is_no_matter_where_items_are_used_with_their_swap():
    coded = make_votes(4, 120, 6, one_class=True)
    label_budget = run(LABEL_BUDGET, coded, spec(budgets=(20,)), jobs=1)
    assert label_budget.budgets.tolist() == [20, 60]
    np.testing.assert_allclose(label_budget.null_nll, np.log(2))
    assert label_budget.nll.value.min() > 0.15


def test_few_groups_leave_small_budgets_out():
    grouped = make_votes(6, 200, 6, groups=25)
    label_budget = run(LABEL_BUDGET, grouped, spec(budgets=(20, 90)), jobs=1)
    assert label_budget.budgets.tolist() == [90, 100]
    assert any("10 groups of items" in sentence for sentence in label_budget.warnings)
    assert abs(label_budget.labels[0] - 90) < 5


@pytest.mark.parametrize(
    "aggregator", ["majority", "log_odds", "dawid_skene", "dawid_skene_semi", "stacking", "joint"]
)
def test_any_aggregator_can_be_asked_on_few_labels(aggregator):
    wanted = spec(
        aggregator=aggregator,
        budgets=(20,),
        settings=Settings(splits=2),
        calibrators=("temperature",),
    )
    label_budget = run(LABEL_BUDGET, votes(), wanted, jobs=1)
    assert np.isfinite(label_budget.nll.value).all()
    assert label_budget.nll.value[0, -1, -1] < label_budget.null_nll[-1]


def test_a_second_aggregator_is_held_against_the_first_on_the_same_labels():
    wanted = spec(budgets=(20, 40), beside="majority")
    label_budget = run(LABEL_BUDGET, votes(), wanted, jobs=1)
    assert label_budget.arms == ("all 9 by majority", "top-3", "all 9")
    alone = {
        name: run(LABEL_BUDGET, votes(), spec(budgets=(20, 40), aggregator=name), jobs=1)
        for name in ("one_coin", "majority")
    }
    nll, first, second = (
        entry.nll.value for entry in (label_budget, alone["one_coin"], alone["majority"])
    )
    np.testing.assert_array_equal(nll[:, 1:], first)
    np.testing.assert_array_equal(nll[:, 0], second[:, -1])
    np.testing.assert_allclose(label_budget.delta.value[:, 0], nll[:, 0] - nll[:, 2])
    frame = label_budget.frame()
    rows = frame[frame["panel"] == "all 9 by majority"]
    assert set(rows["aggregator"]) == {"majority"}
    assert set(frame[frame["panel"] != "all 9 by majority"]["aggregator"]) == {"one_coin"}
    assert not rows["verdict"].str.contains("keep|curat").any()


def test_another_goal_is_read_off_without_new_work_as_if_it_had_been_asked_for():
    goals = {"within": 0.2, "target": 0.4, "have": 75}
    asked = run(LABEL_BUDGET, votes(), spec(budgets=(20, 30, 45), **goals), jobs=1)
    assert to_plain(read(result(), **goals)) == to_plain(asked)
    assert to_plain(read(result(), have=None)) == to_plain(result())
    assert asked.next_from.tolist() == [20, 30, 45, 60, 75]
    assert asked.extrapolates
    assert asked.gain.value[0, 1, -1] == pytest.approx(
        float(asked.fitted(0, 1, 75.0) - asked.fitted(0, 1, 175.0))
    )


def test_no_price_is_read_below_the_smallest_budget():
    few = read(result(), have=5)
    assert np.isnan(few.gain.value[..., -1]).all()
    np.testing.assert_array_equal(few.gain.value[..., :-1], result().gain.value[..., :-1])


def test_the_papers_test_stands_beside_ours_under_its_own_name_and_with_its_flaw():
    label_budget = result()
    assert (label_budget.paper_p <= label_budget.joint_p).all()
    frame = label_budget.frame()
    assert [name for name in frame if name.startswith("paper_")] == [
        "paper_joint_t",
        "paper_joint_p",
    ]
    for entry in label_budget.summary()["joint"]:
        assert entry["paper_note"].startswith("invalid")


def test_flat_and_rising_levels_cost_nothing_to_extrapolate():
    for levels in (np.full(4, 0.4), np.array([0.30, 0.33, 0.36, 0.39])):
        flat = replace(result(), nll=Interval.alone(np.tile(levels, (2, 2, 1))))
        label_budget = read(flat, have=None)
        assert not label_budget.gain.value.any()
        assert (label_budget.gain.hi >= 0).all()
        assert (label_budget.curve_b == 0).all()
        np.testing.assert_allclose(label_budget.fitted(0, 0, 1e6), levels.mean(), atol=0.03)


@cache
def averaged():
    return run(LABEL_BUDGET, votes(), spec(aggregator="average", budgets=(25,)), jobs=1)


def test_the_recommended_panel_on_all_labels_has_the_nll_that_the_recommendation_expects():
    recommendation = run(RECOMMEND, votes(), RecommendSpec(SETTINGS), jobs=1)
    assert averaged().arms == ("top-3 by one-coin", "the recommended panel")
    assert averaged().nll.value[0, -1, -1] == pytest.approx(
        float(recommendation.nll.value), rel=1e-9
    )
    assert averaged().null_nll[-1] == pytest.approx(recommendation.null_nll, rel=1e-12)


def test_the_recommendation_of_a_budget_sees_its_own_labels_only():
    ballots = prepare(votes(), SETTINGS).ballots
    levels = []
    for number in range(SETTINGS.splits):
        one_split = split(ballots.units, number)
        rows = label_sets(one_split, ballots.units, averaged().budgets, 0)[0]
        signs = ballots.signs.copy()
        signs[np.setdiff1d(one_split.calibration, rows)] *= -1  # must not matter
        wiped = replace(ballots, signs=signs)
        average = average_on(wiped, Split(number, rows, one_split.evaluation), SETTINGS.seed)
        levels.append(item_nll(average.logits, signs[one_split.evaluation]))
    means = run_chunk(votes(), spec(aggregator="average", budgets=(25,)), Chunk(0, 0, 6))
    np.testing.assert_allclose(
        means.scores.split_means[:, 0, 0, 2], np.mean(levels, axis=1), rtol=1e-9
    )


def test_the_few_beside_the_recommended_panel_are_those_of_one_coin_and_temperature():
    plain = spec(budgets=(25,), calibrators=("temperature",), beside="majority")
    alone = run(LABEL_BUDGET, votes(), plain, jobs=1)
    beside = run(LABEL_BUDGET, votes(), replace(plain, aggregator="average"), jobs=1)
    np.testing.assert_array_equal(beside.nll.value[:, :2], alone.nll.value[:, :2])
    np.testing.assert_array_equal(beside.nll.value[:, 2], averaged().nll.value[:, -1])
    frame = beside.frame().drop_duplicates("panel")
    assert frame[["panel", "aggregator", "calibrator"]].to_numpy().tolist() == [
        ["all 9 by majority", "majority", "temperature"],
        ["top-3 by one-coin", "one_coin", "temperature"],
        ["the recommended panel", "average", "none"],
    ]
    assert not beside.frame()["verdict"].str.contains("keep|curat").any()


def test_a_recommended_panel_of_one_judge_has_nothing_beside_it():
    alone = spec(aggregator="average", budgets=(25,), settings=Settings(splits=2))
    label_budget = run(LABEL_BUDGET, make_votes(3, 120, 1), alone, jobs=1)
    assert label_budget.arms == ("the recommended panel",)
    assert np.isfinite(label_budget.nll.value).all()
