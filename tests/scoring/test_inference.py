"""Intervals of docs/inference.md against their formulas, clusters, bands and verdicts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgepanel.scoring import inference


def draws(seed=0, n=3, n_items=40, n_splits=12, spread=0.3):
    rng = np.random.default_rng(seed)
    items = rng.normal(0.1, 0.5, (n, n_items))
    splits = items.mean(axis=1) + spread * rng.normal(size=(n_splits, n))
    return items, splits


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("n_cal", [8, 20, 30])
def test_the_standard_error_is_the_formula(spread, n_cal):
    items, splits = draws(spread=spread)
    interval = inference.estimate(items, splits, np.arange(40), n_cal, 40 - n_cal)
    for i in range(3):  # The formula of docs/inference.md.
        v = np.var(items[i], ddof=1)
        s_tr2 = max(0.0, np.var(splits[:, i], ddof=1) - v * (1 / (40 - n_cal) - 1 / 40))
        wanted = math.sqrt(v / 40 + s_tr2 * (1 / len(splits) + n_cal / (40 - n_cal)))
        assert interval.value[i] == pytest.approx(items[i].mean(), abs=1e-15)
        assert interval.se[i] == pytest.approx(wanted, rel=1e-12)


def test_interval_and_p_are_two_sides_of_one_statistic():
    items, splits = draws(n=5)
    interval = inference.estimate(items, splits, np.arange(40), 20, 20)
    reach = stats.t.ppf(0.975, interval.df) * interval.se
    np.testing.assert_allclose(interval.hi - interval.value, reach, rtol=1e-12)
    np.testing.assert_allclose(interval.value - interval.lo, reach, rtol=1e-12)
    p = 2 * stats.t.sf(np.abs(interval.value) / interval.se, interval.df)
    np.testing.assert_allclose(interval.p, p, rtol=1e-12)
    assert ((interval.p < 0.05) == ((interval.lo > 0) | (interval.hi < 0))).all()


def test_variance_clusters_on_groups():
    items, _ = draws(n=2, n_items=30)
    units = np.random.default_rng(1).integers(0, 7, 30)
    splits = np.tile(items.mean(axis=1), (4, 1))  # no variance over splits: v/N alone
    interval = inference.estimate(items, splits, units, 15, 15)
    names = sorted(set(units.tolist()))
    for i in range(2):
        centre = items[i].mean()
        squares = sum(
            sum(x - centre for x, u in zip(items[i], units, strict=True) if u == name) ** 2
            for name in names
        )
        v_of_mean = squares * len(names) / (len(names) - 1) / 30**2
        assert interval.se[i] == pytest.approx(math.sqrt(v_of_mean), rel=1e-12)
        assert interval.df[i] == len(names) - 1


@pytest.mark.parametrize("units", [np.arange(60), np.arange(60) // 3])
def test_variances_of_few_values_at_a_time_are_those_of_all(units, monkeypatch):
    values = np.random.default_rng(0).normal(size=(7, 60))
    wanted = inference.sampling_variance(values, units)
    monkeypatch.setattr(inference, "_CELLS", 120)
    np.testing.assert_allclose(inference.sampling_variance(values, units), wanted, rtol=1e-13)


def test_groups_of_one_are_no_groups():
    items, splits = draws()
    shuffled = np.random.default_rng(0).permutation(40) * 3
    interval = inference.estimate(items, splits, np.arange(40), 20, 20)
    other = inference.estimate(items, splits, shuffled, 20, 20)
    np.testing.assert_allclose(interval.se, other.se, rtol=1e-12)


def test_copied_items_in_a_group_add_no_certainty():
    items, splits = draws()
    interval = inference.estimate(items, splits, np.arange(40), 20, 20)
    other = inference.estimate(
        np.repeat(items, 3, axis=1), splits, np.repeat(np.arange(40), 3), 60, 60
    )
    np.testing.assert_allclose(interval.se, other.se, rtol=1e-12)


def test_a_single_cluster_says_nothing_of_new_items():
    items, splits = draws()
    assert np.isnan(inference.sampling_variance(items, np.zeros(40, dtype=int))).all()
    interval = inference.estimate(items, splits, np.zeros(40, dtype=int), 20, 20)
    assert np.isnan([interval.lo, interval.hi, interval.p]).all()
    assert math.isnan(inference.joint_p(interval, seed=0))
    np.testing.assert_allclose(interval.value, items.mean(axis=1))


def test_more_splits_of_the_same_spread_never_make_up_for_few_items():
    items, splits = draws(n_splits=10)
    many = np.tile(splits, (100, 1))
    floor = np.sqrt(items.var(axis=1, ddof=1) / 40)
    assert (inference.estimate(items, many, np.arange(40), 20, 20).se >= floor).all()


def test_identical_arms_have_no_spread_and_p_one():
    interval = inference.estimate(np.zeros((1, 10)), np.zeros((5, 1)), np.arange(10), 5, 5)
    assert [interval.value[0], interval.se[0], interval.lo[0], interval.hi[0]] == [0.0] * 4
    assert interval.p[0] == 1.0
    assert math.isfinite(interval.df[0])


def test_a_constant_difference_is_certain():
    interval = inference.estimate(np.full((1, 8), 0.25), np.full((5, 1), 0.25), np.arange(8), 4, 4)
    assert (interval.lo[0], interval.hi[0], interval.p[0]) == (0.25, 0.25, 0.0)


def test_the_covariance_has_the_variances_on_its_diagonal():
    items, splits = draws(n=4)
    interval = inference.estimate(items, splits, np.arange(40), 20, 20)
    np.testing.assert_allclose(np.diag(interval.covariance), interval.se**2, rtol=1e-12)
    assert np.linalg.eigvalsh(interval.covariance).min() > -1e-12


def test_values_do_not_depend_on_their_neighbours():
    items, splits = draws(n=4)
    together = inference.estimate(items, splits, np.arange(40), 20, 20)
    for i in range(4):
        alone = inference.estimate(items[[i]], splits[:, [i]], np.arange(40), 20, 20, joint=False)
        for name in ("value", "se", "df", "lo", "hi", "p"):
            assert getattr(together, name)[i] == pytest.approx(getattr(alone, name)[0], rel=1e-12)


def test_intervals_cover_a_mean_as_often_as_they_say_with_twenty_items():
    items = np.random.default_rng(4).normal(0.0, 1.0, (4000, 20))
    flat = np.tile(items.mean(axis=1), (3, 1))  # a fixed panel: no variance over splits
    interval = inference.estimate(items, flat, np.arange(20), 10, 10, joint=False)
    covered = np.mean((interval.lo < 0) & (interval.hi > 0))
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 4000)


def fixed(correlation, df, se=1.0):
    ones = np.ones(len(correlation))
    return inference.Estimate(
        0 * ones, se * ones, df * ones, -ones, ones, ones, se**2 * np.asarray(correlation)
    )


@pytest.mark.parametrize("n", [1, 3, 10])
def test_independent_values_get_sidaks_quantile(n):
    wanted = stats.norm.ppf(0.5 + 0.5 * 0.95 ** (1 / n))
    assert inference.simultaneous_reach(fixed(np.eye(n), 1e7, se=0.3), seed=0) == pytest.approx(
        wanted, abs=0.04
    )


def test_one_value_and_copies_of_it_get_students_quantile():
    wanted = stats.t.ppf(0.975, 6)
    for correlation in (np.ones((1, 1)), np.ones((5, 5))):
        assert inference.simultaneous_reach(fixed(correlation, 6.0), seed=0) == pytest.approx(
            wanted, abs=0.08
        )


def test_values_without_spread_do_not_widen_the_band():
    result = fixed(np.eye(2), 1e7)
    result.se[1] = 0.0
    assert inference.simultaneous_reach(result, seed=0) == pytest.approx(1.96, abs=0.04)
    result.se[0] = 0.0
    assert inference.simultaneous_reach(result, seed=0) == pytest.approx(1.96, abs=0.001)


def test_the_band_depends_on_the_seed_alone():
    result = fixed(np.eye(3), 20.0)
    first, again, other = (inference.simultaneous_reach(result, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


VERDICTS = {
    "keep all": [(0.021, 0.5)],
    "no loss from keeping": [(0.02, 0.5), (-0.01, 0.01), (-0.01, 0.5)],
    "curate": [(-0.5, -0.021)],
    "no loss from curating": [(-0.5, -0.02), (-0.02, 0.01), (-0.5, 0.01)],
    "undecided": [(-0.02, 0.02), (-0.5, 0.5)],
}


@pytest.mark.parametrize("wanted", VERDICTS)
def test_verdicts_follow_the_table(wanted):
    assert {inference.verdict(*ends, 0.02) for ends in VERDICTS[wanted]} == {wanted}


def test_identical_arms_tie():
    assert inference.verdict(0.0, 0.0, 0.02, identical=True) == "tie"


def test_the_degrees_of_freedom_never_exceed_what_clusters_allow_and_never_collapse():
    rng = np.random.default_rng(3)
    item_means = rng.normal(size=(400, 100))
    for sizes in ((50, 50), (80, 20), (90, 10)):
        redraw = 100 / sizes[1] - 1
        spread = np.sqrt(redraw * item_means.var(axis=1, ddof=1) / 100)
        split_means = rng.normal(size=(30, 400)) * spread
        interval, few = (
            inference.estimate(item_means, split_means, units, *sizes, joint=False)
            for units in (np.arange(100), np.repeat(np.arange(5), 20))
        )
        assert (interval.df >= 29 - 1e-9).all()
        assert (interval.df <= 99).all()
        assert (few.df <= 4).all()


def test_values_of_several_numbers_of_labels_have_their_own_formula():
    items, splits = draws(spread=0.5)
    labels = np.array([5.0, 10.0, 20.0])
    interval = inference.estimate(items, splits, np.arange(40), labels, 20, n_others=40 - labels)
    plain = inference.estimate(items, splits, np.arange(40), 20, 20)
    assert interval.se[2] == plain.se[2]
    for i, n in enumerate(labels):
        v = np.var(items[i], ddof=1)
        s_tr2 = max(0.0, np.var(splits[:, i], ddof=1) - v * (1 / 20 - 1 / 40))
        wanted = math.sqrt(v / 40 + s_tr2 * (1 / 12 + n / (40 - n)))
        assert interval.se[i] == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(np.diag(interval.covariance), interval.se**2, rtol=1e-12)


def shifted(value, correlation, df=1e7):
    result = fixed(correlation, df)
    result.value[:] = value
    return result


@pytest.mark.parametrize("n", [1, 3])
def test_the_joint_p_of_independent_values_is_sidaks(n):
    wanted = 1 - (1 - 2 * stats.norm.sf(2.0)) ** n
    assert inference.joint_p(shifted(2.0, np.eye(n)), seed=0) == pytest.approx(wanted, abs=0.006)
    copies = shifted(2.0, np.ones((n, n)))
    assert inference.joint_p(copies, seed=0) == pytest.approx(2 * stats.norm.sf(2.0), abs=0.005)


def test_the_joint_p_and_the_band_decide_alike():
    result = shifted(0.0, np.eye(4), df=12.0)
    reach = inference.simultaneous_reach(result, seed=3)
    for value, low in ((reach * 1.001, True), (reach * 0.999, False)):
        result.value[1] = value
        assert (inference.joint_p(result, seed=3) < 0.05) == low


def test_certain_values_decide_the_joint_p_alone():
    result = shifted(0.0, np.eye(2))
    result.se[:] = 0.0
    assert inference.joint_p(result, seed=0) == 1.0
    result.value[0] = 0.1
    assert inference.joint_p(result, seed=0) == 0.0


def test_joint_draws_have_the_covariance_and_leave_certain_values_alone():
    correlation = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    result = shifted(0.5, correlation)
    result.se[2] = 0.0
    drawn = inference.joint_draws(result, seed=0, n_draws=20_000)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.5, atol=0.03)
    assert np.corrcoef(drawn[:, :2].T)[0, 1] == pytest.approx(0.8, abs=0.01)
    assert (drawn[:, 2] == 0.5).all()


@pytest.mark.simulation
def test_the_joint_test_keeps_its_level_over_budgets_of_equal_panels():
    rng = np.random.default_rng(6)
    labels = np.array([10.0, 20.0, 40.0])
    rejected = 0
    for rep in range(300):
        items = rng.normal(size=80) + rng.normal(size=(3, 80))
        pool = rng.normal(size=80)
        splits, fitted = [], np.zeros((3, 80))
        for _ in range(10):
            order = rng.permutation(80)
            luck = np.array([pool[order[: int(n)]].mean() for n in labels])
            splits.append(items[:, order[40:]].mean(axis=1) + luck)
            fitted += luck[:, None] / 10
        interval = inference.estimate(
            items + fitted, np.array(splits), np.arange(80), labels, 40.0, n_others=80 - labels
        )
        rejected += inference.joint_p(interval, seed=rep) < 0.05
    assert rejected / 300 <= 0.065 + 2 * math.sqrt(0.05 * 0.95 / 300)
    assert rejected > 0


def test_values_of_nested_evaluation_sets_share_the_draw_of_the_larger_one():
    rng = np.random.default_rng(4)
    items = rng.normal(size=(1, 60)) + 0.3 * rng.normal(size=(2, 60))
    sizes = [40, 15]  # items evaluated: the first value's sets hold the second's
    orders = np.argsort(rng.random((20_000, 60)), axis=1)
    splits = np.stack([items[i][orders[:, :n]].mean(axis=1) for i, n in enumerate(sizes)], axis=1)
    drawn = np.cov(splits, rowvar=False)
    of_items = np.cov(items) / 60
    expected = of_items * (60 / np.maximum.outer(sizes, sizes) - 1.0)
    np.testing.assert_allclose(drawn, expected, rtol=0.06)
    # Nothing but the draw of items is in these splits, so no training variance is left.
    interval = inference.estimate(
        items, splits, np.arange(60), np.array([20.0, 45.0]), np.array(sizes)
    )
    np.testing.assert_allclose(interval.covariance, of_items, rtol=0.25)


def test_one_number_of_evaluated_items_is_the_same_as_that_number_for_every_value():
    items, splits = draws(seed=5)
    interval = inference.estimate(items, splits, np.arange(40), 20.0, 20.0)
    each = inference.estimate(items, splits, np.arange(40), np.full(3, 20.0), np.full(3, 20.0))
    np.testing.assert_allclose(each.covariance, interval.covariance, rtol=1e-12)
    np.testing.assert_allclose(each.lo, interval.lo, rtol=1e-12)


def holm_by_steps(p, alpha):
    """Which of the p-values the step-down procedure rejects, smallest first."""
    order = np.argsort(p, kind="stable")
    rejected = np.zeros(len(p), dtype=bool)
    for step, i in enumerate(order):
        if p[i] > alpha / (len(p) - step):
            break
        rejected[i] = True
    return rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.2]))
def test_an_adjusted_p_is_at_most_alpha_where_the_step_down_test_rejects(p, alpha):
    adjusted = inference.holm(p)
    clear = np.abs(adjusted - alpha) > 1e-12
    np.testing.assert_array_equal((adjusted <= alpha)[clear], holm_by_steps(p, alpha)[clear])
    assert (adjusted >= np.array(p)).all()
    assert (adjusted <= 1).all()


def test_the_example_by_hand_and_what_was_not_tested():
    np.testing.assert_allclose(inference.holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    result = inference.holm([np.nan, 0.02, 0.5])
    assert np.isnan(result[0])
    np.testing.assert_allclose(result[1:], [0.04, 0.5])


def test_bonferroni_widens_students_interval_for_several_places():
    blank = np.zeros(2)
    fitted = inference.Estimate(
        blank, np.array([1.0, 2.0]), np.array([9.0, 30.0]), blank, blank, blank, blank
    )
    assert inference.bonferroni_reach(fitted, 1)[0] == pytest.approx(stats.t.ppf(0.975, 9))
    assert inference.bonferroni_reach(fitted, 5)[1] == pytest.approx(2 * stats.t.ppf(0.995, 30))
