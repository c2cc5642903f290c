"""Label budgets: nested sets of labels, honest baselines, one band for all budgets."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.budget_worlds import APART, CURVES, EQUAL, Analyst, check, data_sets
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels.evaluation import evaluate_split
from judgepanel.scoring import interval, metrics
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.panel.recommended import average_on
from judgepanel.studies.runner import run
from judgepanel.studies.trust import label_budget
from tests.helpers import make_votes

SETTINGS = Settings(splits=6)


def spec(**options):
    return label_budget.LabelBudgetSpec(**{"settings": SETTINGS, "panels": (3,), **options})


def budgeted(given, **options):
    return run(label_budget.LABEL_BUDGET, given, spec(**options), jobs=1)


@cache
def votes():
    return make_votes(1, 120, 9)


@cache
def result():
    return budgeted(votes(), budgets=(20, 30, 45))


def test_the_first_labels_of_one_order_are_nested_and_seeded():
    units = np.arange(100)
    one_split = split(units, 3)
    sets = label_budget.label_sets(one_split, units, np.array([10, 25, 50]), 0)
    assert [len(rows) for rows in sets] == [10, 25, 50]
    assert set(sets[0]) < set(sets[1]) < set(sets[2]) == set(one_split.calibration)
    again = label_budget.label_sets(one_split, units, np.array([25, 50]), 0)
    np.testing.assert_array_equal(again[0], sets[1])
    assert set(label_budget.label_sets(one_split, units, np.array([10, 50]), 1)[0]) != set(sets[0])
    other = split(units, 4)
    assert set(label_budget.label_sets(other, units, np.array([10, 50]), 0)[0]) <= set(
        other.calibration
    )


def test_the_largest_budget_is_the_panel_curve():
    wanted = PanelCurveSpec(SETTINGS, calibrators=("beta", "temperature"), compare=(3,))
    curve = run(PANEL_CURVE, votes(), wanted, jobs=1)
    budget = result()
    np.testing.assert_array_equal(budget.nll.value[:, :, -1], curve.nll.value[:, [2, 8]])
    np.testing.assert_allclose(budget.nll.lo[:, :, -1], curve.nll.lo[:, [2, 8]], rtol=1e-12)
    for c, name in enumerate(budget.calibrators):
        same = curve.comparison(name, "top-3")
        assert budget.delta.value[c, 0, -1] == pytest.approx(same.delta.value, abs=1e-15)
        assert budget.delta.lo[c, 0, -1] == pytest.approx(same.delta.lo, abs=1e-12)
        assert budget.verdict(c, 0, -1) == same.verdict
    assert budget.null_nll[-1] == curve.null_nll
    np.testing.assert_array_equal(budget.constant_nll[:, -1], curve.constant_nll)


def test_a_budget_sees_its_own_labels_only():
    wanted = spec(budgets=(20, 30), settings=Settings(splits=2))
    ballots, ks = prepare(votes(), wanted.settings).ballots, wanted.sizes(9)
    budget = run(label_budget.LABEL_BUDGET, votes(), wanted, jobs=1)
    nulls, levels = [], []
    for number in range(2):
        one_split = split(ballots.units, number)
        rows = label_budget.label_sets(one_split, ballots.units, budget.budgets, 0)[0]
        wiped = replace(ballots, signs=ballots.signs.copy())
        rest = np.setdiff1d(one_split.calibration, rows)
        wiped.signs[rest] *= -1  # labels beyond the budget must not matter
        scores = evaluate_split(wiped, Split(number, rows, one_split.evaluation), ks, wanted.recipe)
        nulls.append(scores.null_nll)
        levels.append(scores.evaluation["beta"].nll.mean(axis=1))
        rate = np.mean(ballots.signs[rows] > 0)
        right = np.where(ballots.signs[one_split.evaluation] > 0, rate, 1 - rate)
        assert scores.null_nll == pytest.approx(-np.log(right).mean())
    assert budget.null_nll[0] == pytest.approx(np.mean(nulls))
    partial = label_budget.run_chunk(votes(), wanted, label_budget.LABEL_BUDGET.plan(wanted)[0])
    means = partial.scores.split_means[:, 0, 0, :-1].reshape(2, 2, 3)[:, :, 0]
    np.testing.assert_allclose(means, levels, rtol=1e-12)


def test_the_band_holds_the_intervals_and_agrees_with_the_joint_p():
    budget = result()
    band, delta = budget.band, budget.delta
    assert (band.lo <= delta.lo).all()
    assert (band.hi >= delta.hi).all()
    np.testing.assert_array_equal(band.value, delta.value)
    leaves_out = (band.above() | band.below()).any(axis=-1)
    np.testing.assert_array_equal(leaves_out, budget.joint_p < 0.05)


def test_a_judge_without_a_vote_changes_nothing_at_any_budget():
    votes = make_votes(3, 120, 5, missing=0.0, low=0.75)
    cast = votes.votes.copy()
    cast[:, 3] = -1
    silent = replace(votes, votes=cast)
    others = silent.with_judges([name for name in votes.judges if name != votes.judges[3]])
    outcome, without = (budgeted(entry) for entry in (silent, others))
    assert outcome.frame().equals(without.frame())
    assert np.isfinite(outcome.delta.value).all()
    assert outcome.delta.value.any()


def test_one_judge_has_levels_and_nothing_to_compare():
    budget = budgeted(make_votes(3, 120, 1), calibrators=("beta",))
    assert (budget.delta.shape, budget.arms) == ((1, 0, len(budget.budgets)), ("all 1",))
    assert len(budget.frame()) == len(budget.budgets)


def test_more_labels_help_and_better_panels_are_told_apart():
    wide = make_votes(5, 300, 25, low=0.6, high=0.65, missing=0.0)
    budget = budgeted(wide, calibrators=("temperature",))
    whole_panel = budget.nll.value[0, -1]
    assert whole_panel[-1] < whole_panel[0]
    assert budget.joint_p[0, 0] < 0.05
    assert budget.band.lo[0, 0].max() > 0
    assert budget.verdict(0, 0, len(budget.budgets) - 1) == "keep all"
    needed = budget.needed_for("temperature", "all 25")
    n, lo, _ = needed.n
    assert budget.labels[0] <= lo <= n <= budget.labels[-1]
    assert needed.goal == pytest.approx(1.05 * whole_panel[-1])


def test_a_target_is_read_off_extrapolated_or_given_up():
    level = result().nll.value[0, -1]
    easy, hard, never = (
        budgeted(votes(), budgets=(20, 30, 45), target=goal)
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
    budget = result()
    gain, lo, hi = budget.gain
    assert (np.diff(gain, axis=-1) <= 1e-12).all()
    assert (lo >= 0).all()
    assert (lo <= hi).all()
    assert budget.next_from.tolist() == [20, 30, 45, 60, 120]
    fall = budget.fitted(0, 1, 30.0) - budget.fitted(0, 1, 130.0)
    assert gain[0, 1, 1] == pytest.approx(float(fall))


def test_by_default_nine_budgets_run_from_twenty_to_the_calibration_half():
    plan = label_budget.planned(prepare(make_votes(0, 400, 5), SETTINGS), spec())
    assert len(plan.values) == 9
    assert (plan.values[0], plan.values[-1]) == (20, 200)
    ratios = plan.values[1:] / plan.values[:-1]
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
    budget = budgeted(few, budgets=budgets)
    assert any(says in sentence for sentence in budget.warnings)
    assert budget.budgets[-1] == n_items // 2
    assert not set(budget.budgets[:-1].tolist()) & {500, 3}


def test_the_rarer_class_is_no_matter_where_items_are_used_with_their_swap():
    budget = budgeted(make_votes(4, 120, 6, one_class=True), budgets=(20,))
    assert budget.budgets.tolist() == [20, 60]
    np.testing.assert_allclose(budget.null_nll, np.log(2))
    assert budget.nll.value.min() > 0.15


def test_few_groups_leave_small_budgets_out():
    budget = budgeted(make_votes(6, 200, 6, groups=25), budgets=(20, 90))
    assert budget.budgets.tolist() == [90, 100]
    assert any("10 groups of items" in sentence for sentence in budget.warnings)
    assert abs(budget.labels[0] - 90) < 5


@pytest.mark.parametrize(
    "aggregator", ["majority", "log_odds", "dawid_skene", "dawid_skene_semi", "stacking", "joint"]
)
def test_any_aggregator_can_be_asked_on_few_labels(aggregator):
    few = {"budgets": (20,), "settings": Settings(splits=2), "calibrators": ("temperature",)}
    budget = run(label_budget.LABEL_BUDGET, votes(), spec(aggregator=aggregator, **few), jobs=1)
    assert np.isfinite(budget.nll.value).all()
    assert budget.nll.value[0, -1, -1] < budget.null_nll[-1]


def test_a_second_aggregator_is_held_against_the_first_on_the_same_labels():
    wanted = spec(budgets=(20, 40), beside="majority")
    budget = run(label_budget.LABEL_BUDGET, votes(), wanted, jobs=1)
    assert budget.arms == ("all 9 by majority", "top-3", "all 9")
    nll, first = budget.nll.value, budgeted(votes(), budgets=(20, 40)).nll.value
    second = budgeted(votes(), budgets=(20, 40), aggregator="majority").nll.value
    np.testing.assert_array_equal(nll[:, 1:], first)
    np.testing.assert_array_equal(nll[:, 0], second[:, -1])
    np.testing.assert_allclose(budget.delta.value[:, 0], nll[:, 0] - nll[:, 2])
    frame = budget.frame()
    rows = frame[frame["panel"] == "all 9 by majority"]
    assert set(rows["aggregator"]) == {"majority"}
    assert set(frame[frame["panel"] != "all 9 by majority"]["aggregator"]) == {"one_coin"}
    assert not rows["verdict"].str.contains("keep|curat").any()


def test_another_goal_is_read_off_without_new_work_as_if_it_had_been_asked_for():
    goals = {"within": 0.2, "target": 0.4, "have": 75}
    asked = budgeted(votes(), budgets=(20, 30, 45), **goals)
    assert to_plain(label_budget.read(result(), **goals)) == to_plain(asked)
    assert to_plain(label_budget.read(result(), have=None)) == to_plain(result())
    assert asked.next_from.tolist() == [20, 30, 45, 60, 75]
    assert asked.extrapolates
    fall = float(asked.fitted(0, 1, 75.0) - asked.fitted(0, 1, 175.0))
    assert asked.gain.value[0, 1, -1] == pytest.approx(fall)


def test_no_price_is_read_below_the_smallest_budget():
    few = label_budget.read(result(), have=5)
    assert np.isnan(few.gain.value[..., -1]).all()
    np.testing.assert_array_equal(few.gain.value[..., :-1], result().gain.value[..., :-1])


def test_the_papers_test_stands_beside_ours_under_its_own_name_and_with_its_flaw():
    budget = result()
    assert (budget.paper_p <= budget.joint_p).all()
    of_paper = [name for name in budget.frame() if name.startswith("paper_")]
    assert of_paper == ["paper_joint_t", "paper_joint_p"]
    for entry in budget.summary()["joint"]:
        assert entry["paper_note"].startswith("invalid")


def test_flat_and_rising_levels_cost_nothing_to_extrapolate():
    for levels in (np.full(4, 0.4), np.array([0.30, 0.33, 0.36, 0.39])):
        flat = replace(result(), nll=interval.Interval.alone(np.tile(levels, (2, 2, 1))))
        budget = label_budget.read(flat, have=None)
        assert not budget.gain.value.any()
        assert (budget.gain.hi >= 0).all()
        assert (budget.curve_b == 0).all()
        np.testing.assert_allclose(budget.fitted(0, 0, 1e6), levels.mean(), atol=0.03)


@cache
def averaged():
    return budgeted(votes(), aggregator="average", budgets=(25,))


def test_the_recommended_panel_on_all_labels_has_the_nll_that_the_recommendation_expects():
    recommendation = run(RECOMMEND, votes(), RecommendSpec(SETTINGS), jobs=1)
    assert averaged().arms == ("top-3 by one-coin", "the recommended panel")
    expected = float(recommendation.nll.value)
    assert averaged().nll.value[0, -1, -1] == pytest.approx(expected, rel=1e-9)
    assert averaged().null_nll[-1] == pytest.approx(recommendation.null_nll, rel=1e-12)


def test_the_recommendation_of_a_budget_sees_its_own_labels_only():
    ballots = prepare(votes(), SETTINGS).ballots
    levels = []
    for number in range(SETTINGS.splits):
        one_split = split(ballots.units, number)
        rows = label_budget.label_sets(one_split, ballots.units, averaged().budgets, 0)[0]
        signs = ballots.signs.copy()
        signs[np.setdiff1d(one_split.calibration, rows)] *= -1  # must not matter
        wiped = replace(ballots, signs=signs)
        average = average_on(wiped, Split(number, rows, one_split.evaluation), SETTINGS.seed)
        levels.append(metrics.item_nll(average.logits, signs[one_split.evaluation]))
    wanted = spec(aggregator="average", budgets=(25,))
    means = label_budget.run_chunk(votes(), wanted, Chunk(0, 0, 6)).scores.split_means
    np.testing.assert_allclose(means[:, 0, 0, 2], np.mean(levels, axis=1), rtol=1e-9)


def test_the_few_beside_the_recommended_panel_are_those_of_one_coin_and_temperature():
    plain = spec(budgets=(25,), calibrators=("temperature",), beside="majority")
    alone = run(label_budget.LABEL_BUDGET, votes(), plain, jobs=1)
    beside = run(label_budget.LABEL_BUDGET, votes(), replace(plain, aggregator="average"), jobs=1)
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
    budget = run(label_budget.LABEL_BUDGET, make_votes(3, 120, 1), alone, jobs=1)
    assert budget.arms == ("the recommended panel",)
    assert np.isfinite(budget.nll.value).all()


N = 60
SPLITS = 10


def rejections(world, n=N, seed=0):
    """Shares of data sets in which our joint p, and the paper's, is below .05."""
    analyst = Analyst.with_splits(SPLITS)
    result = [analyst.scores(world, ballots) for ballots in data_sets(world, n, seed)]
    ours, papers = (
        np.array([getattr(entry, name)[0, 0] for entry in result])
        for name in ("joint_p", "paper_p")
    )
    assert np.mean([entry.delta.value[0, 0] for entry in result]) != 0.0
    return np.mean(ours < 0.05), np.mean(papers < 0.05)


def test_scores_in_a_batch_are_those_of_the_study():
    check(CURVES[1], next(data_sets(CURVES[1], 1, seed=0)))


@pytest.mark.simulation
def test_equal_panels_are_rarely_told_apart_by_us_and_often_by_the_paper():
    ours, papers = rejections(EQUAL[0])
    assert ours <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / N)
    assert papers > 0.25


@pytest.mark.simulation
def test_panels_that_do_differ_are_told_apart():
    ours, _ = rejections(APART[-1], n=20)
    assert ours > 0.3
