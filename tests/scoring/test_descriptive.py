"""The paper's inference: all 2^m sign flips, bootstrap over splits; tests of equivalence."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from judgepanel.scoring import descriptive
from judgepanel.scoring.descriptive import (
    FLIPS,
    RESAMPLES,
    equivalence,
    paper_inference,
    paper_joint,
    sign_flip,
)
from judgepanel.scoring.inference import Estimate


@pytest.mark.parametrize("m", [1, 2, 5, 8, 10])
def test_p_is_that_of_all_flips_within_monte_carlo_error(m):
    rng = np.random.default_rng(m)
    differences = rng.normal(0.3, 1.0, (6, m))
    differences[1] = rng.choice([-0.1, 0.1], m)  # many flips tie with what was observed
    differences[2] = rng.choice([-0.1, 0.1, 0.3], m)
    _, p = sign_flip(differences, seed=0)
    for row, result in zip(differences, p, strict=True):
        sums = np.abs([np.dot(signs, row) for signs in product((1, -1), repeat=m)])
        wanted = np.mean(sums >= abs(row.sum()) - 1e-12)
        assert abs(result - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / FLIPS) + 2 / FLIPS


def test_p_is_uniform_where_nothing_differs():
    _, p = sign_flip(np.random.default_rng(1).normal(size=(2000, 60)), seed=3, flips=1000)
    for level in (0.05, 0.25, 0.5, 0.75):
        assert abs(np.mean(p <= level) - level) < 4 * np.sqrt(level * (1 - level) / 2000)


def test_t_is_the_studentised_mean():
    differences = np.random.default_rng(2).normal(0.2, 1.0, (3, 25))
    t, _ = sign_flip(differences, seed=0, flips=10)
    wanted = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / 5.0)
    np.testing.assert_allclose(t, wanted, rtol=1e-12)


def test_no_difference_at_all_is_p_one_and_t_zero():
    t, p = sign_flip(np.zeros((2, 12)), seed=0, flips=50)
    assert t.tolist() == [0.0, 0.0]
    assert p.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("m", [5, 21, 40])
def test_blocks_of_flips_and_items_move_no_p(m, monkeypatch):
    differences = np.random.default_rng(5).integers(-3, 5, (4, m)).astype(np.float64)
    wanted = sign_flip(differences, seed=1, flips=300)
    monkeypatch.setattr(descriptive, "_FLIPS_TOGETHER", 30)
    monkeypatch.setattr(descriptive, "_ITEMS_TOGETHER", 8)
    np.testing.assert_array_equal(sign_flip(differences, seed=1, flips=300), wanted)


def test_signs_that_are_not_drawn_would_not_have_reached_the_observed_sum(monkeypatch):
    means = np.array([[0.0], [0.3], [1.0], [2.0], [-5.0]])
    differences = np.random.default_rng(6).normal(means, 1.0, (5, 200))
    differences[0] = 0.0
    wanted = sign_flip(differences, seed=2, flips=500)
    monkeypatch.setattr(descriptive, "_IMPOSSIBLE", 1e-300)
    np.testing.assert_array_equal(sign_flip(differences, seed=2, flips=500), wanted)
    assert wanted[1][[0, 3, 4]].tolist() == [1.0, 1 / 501, 1 / 501]


def test_a_comparison_does_not_depend_on_its_neighbours():
    differences = np.random.default_rng(3).normal(0.1, 1.0, (5, 40))
    _, together = sign_flip(differences, seed=4, flips=2000)
    _, alone = sign_flip(differences[[2]], seed=4, flips=2000)
    assert together[2] == alone[0]


def test_paper_inference_is_medians_and_a_bootstrap_of_the_mean():
    rng = np.random.default_rng(5)
    differences, t, p = rng.normal(0.2, 1.0, (50, 2)), rng.normal(size=(50, 2)), rng.random((50, 2))
    inference = paper_inference(differences, t, p, seed=0)
    for name, values in (("median", differences), ("t", t), ("p", p)):
        np.testing.assert_array_equal(getattr(inference, name), np.median(values, axis=0))
    mean, se = differences.mean(axis=0), differences.std(axis=0) / np.sqrt(50)
    loose = 5.0 * se / np.sqrt(RESAMPLES) * 2.7  # quantiles of a bootstrap have this error
    assert (np.abs(inference.lo - (mean - 1.96 * se)) < loose + 0.15 * se).all()
    assert (np.abs(inference.hi - (mean + 1.96 * se)) < loose + 0.15 * se).all()


def test_the_papers_joint_test_is_the_largest_t_against_correlated_gaussians():
    rng = np.random.default_rng(3)
    differences = rng.normal(size=(200, 1)) + 0.4 * rng.normal(size=(200, 4))
    joint = paper_joint(differences, seed=0)
    t = np.sqrt(200) * differences.mean(axis=0) / differences.std(axis=0, ddof=1)
    assert joint.t == pytest.approx(np.abs(t).max())
    draws = rng.multivariate_normal(np.zeros(4), np.corrcoef(differences, rowvar=False), 40_000)
    largest = np.abs(draws).max(axis=1)
    assert joint.critical == pytest.approx(np.quantile(largest, 0.95), abs=0.05)
    assert joint.p == pytest.approx(np.mean(largest >= joint.t), abs=0.02)


@pytest.mark.simulation
def test_the_papers_joint_test_holds_its_level_only_for_independent_splits():
    rng = np.random.default_rng(4)
    independent = [paper_joint(rng.normal(size=(40, 3)), seed=0).p < 0.05 for _ in range(150)]
    assert np.mean(independent) < 0.12
    # One data set's splits share its items: the same shift in all of them.
    shared = [
        paper_joint(rng.normal(size=(40, 3)) + 0.5 * rng.normal(), seed=0).p < 0.05
        for _ in range(50)
    ]
    assert np.mean(shared) > 0.4


def test_equal_arms_give_no_t_and_no_nan():
    joint = paper_joint(np.zeros((5, 3)), seed=0)
    assert (joint.t, joint.p) == (0.0, 1.0)
    assert paper_joint(np.full((5, 3), 0.1), seed=0).p == 0.0


def estimate_of(values):
    """Means of the rows, as paired t-tests see them."""
    n = values.shape[1]
    value, se = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(n)
    df = np.full(len(values), n - 1.0)
    zeros = np.zeros(len(values))
    return Estimate(value, se, df, zeros, zeros, zeros, np.zeros((0, 0)))


def test_the_p_value_is_the_larger_of_two_one_sided_tests():
    values = np.random.default_rng(0).normal(0.1, 1.0, (4, 30))
    result = equivalence(estimate_of(values), 0.4)
    for row, p in zip(values, result.p, strict=True):
        below = stats.ttest_1samp(row, -0.4, alternative="greater").pvalue
        above = stats.ttest_1samp(row, 0.4, alternative="less").pvalue
        assert p == pytest.approx(max(below, above), abs=1e-12)


def test_equivalent_means_that_the_90_percent_interval_lies_inside_the_margin():
    result = equivalence(estimate_of(np.random.default_rng(1).normal(0.0, 1.0, (200, 40))), 0.35)
    inside = (result.lo > -0.35) & (result.hi < 0.35)
    assert 20 < inside.sum() < 180
    assert [outcome == "equivalent" for outcome in result.outcomes] == inside.tolist()


def test_arms_that_differ_by_the_margin_are_called_equivalent_in_one_of_twenty():
    values = np.random.default_rng(2).normal(0.3, 1.0, (4000, 100))
    outcomes = equivalence(estimate_of(values), 0.3).outcomes
    assert 0.04 < outcomes.count("equivalent") / 4000 < 0.06


def test_a_clear_difference_is_different_and_a_wide_interval_decides_nothing():
    rng = np.random.default_rng(3)
    values = np.array([rng.normal(2.0, 0.1, 50), rng.normal(0.0, 5.0, 50), rng.normal(0, 0.1, 50)])
    outcomes = equivalence(estimate_of(values), 0.5).outcomes
    assert outcomes == ("different", "inconclusive", "equivalent")


def test_arms_without_spread_are_judged_by_their_value_alone():
    result = equivalence(estimate_of(np.array([[0.1] * 5, [0.4] * 5])), 0.2)
    assert (result.outcomes, result.p.tolist()) == (("equivalent", "different"), [0.0, 1.0])


def test_each_value_may_have_its_own_margin_and_none_may_be_zero():
    fitted = estimate_of(np.array([[0.1] * 5, [0.1] * 5]))
    assert equivalence(fitted, np.array([0.2, 0.05])).outcomes == ("equivalent", "different")
    with pytest.raises(ValueError, match="above 0"):
        equivalence(fitted, 0.0)
