"""Two one-sided tests: against the definition, their level by simulation, and edge cases."""

import numpy as np
import pytest
from scipy import stats

from judgepanel.scoring.descriptive import equivalence
from judgepanel.scoring.inference import Estimate


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
    values = np.random.default_rng(1).normal(0.0, 1.0, (200, 40))
    result = equivalence(estimate_of(values), 0.35)
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
    assert result.outcomes == ("equivalent", "different")
    assert result.p.tolist() == [0.0, 1.0]


def test_each_value_may_have_its_own_margin_and_none_may_be_zero():
    fitted = estimate_of(np.array([[0.1] * 5, [0.1] * 5]))
    assert equivalence(fitted, np.array([0.2, 0.05])).outcomes == ("equivalent", "different")
    with pytest.raises(ValueError, match="above 0"):
        equivalence(fitted, 0.0)
