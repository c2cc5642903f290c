"""Tests of missing votes against known quantities, checked by scipy and by brute force."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from judgepanel.scoring.clustered import fisher, permutation_p, rank_p, share_p, unit_means


def random_pair(seed, n=40):
    rng = np.random.default_rng(seed)
    return (rng.random(n) < 0.3).astype(float), rng.integers(0, 5, n).astype(float)


@pytest.mark.parametrize("table", [(3, 10, 20, 40), (0, 5, 20, 40), (5, 5, 20, 40), (4, 8, 20, 40)])
def test_fisher_is_twice_the_smaller_exact_tail(table):
    both, row, column, n = table
    cells = [[both, row - both], [column - both, n - row - column + both]]
    tails = [stats.fisher_exact(cells, alternative=side).pvalue for side in ("less", "greater")]
    assert float(fisher(both, row, column, n)) == pytest.approx(min(1.0, 2.0 * min(tails)))


@pytest.mark.parametrize("seed", range(4))
def test_a_rank_test_of_gaps_is_the_rank_sum_test(seed):
    missing, values = random_pair(seed)
    wanted = stats.mannwhitneyu(
        values[missing == 1], values[missing == 0], use_continuity=False, method="asymptotic"
    )
    assert rank_p(missing, values) == pytest.approx(wanted.pvalue)


def test_items_without_a_value_do_not_count():
    missing, values = random_pair(1)
    values[:7] = np.nan
    assert rank_p(missing, values) == rank_p(missing[7:], values[7:])


def test_what_does_not_vary_cannot_be_tested():
    assert np.isnan(rank_p(np.zeros(5), np.arange(5.0)))
    assert np.isnan(permutation_p(np.arange(5.0), np.ones(5)))
    assert np.isnan(share_p(np.ones((5, 1)), np.array([[0], [1], [0], [1], [0.0]]))).all()


def test_shares_of_units_need_enough_expected():
    missing = np.array([0.5, 1.0, 0.0, 0.0, 0.5] * 8)
    inside = np.array([1.0, 0.0, 0.0, 1.0, 0.0] * 8)
    (result,) = share_p(missing[:, None], inside[:, None])
    assert result == pytest.approx([permutation_p(missing, inside)])
    assert np.isnan(share_p(missing[:10, None], inside[:10, None])).all()


def test_every_slice_is_tested_with_every_judge_at_once():
    pairs = [random_pair(seed) for seed in range(3)]
    missing = np.stack([entry for entry, _ in pairs], axis=1)
    inside = np.stack([(values > 2).astype(float) for _, values in pairs], axis=1)
    result = share_p(missing, inside)
    for j, level in np.ndindex(3, 3):
        alone = share_p(missing[:, [j]], inside[:, [level]])
        assert result[j, level] == alone[0, 0]


def test_unit_means_leave_out_what_is_not_known():
    means = unit_means(np.array([1.0, np.nan, 3.0, np.nan]), np.array([0, 0, 2, 1]))
    np.testing.assert_array_equal(means, [1.0, np.nan, 3.0])


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_turning_missing_and_present_round_changes_no_p_value(seed):
    missing, values = random_pair(seed, 25)
    inside = (values > 2).astype(float)
    np.testing.assert_allclose(rank_p(missing, values), rank_p(1.0 - missing, values))
    exact = [share_p(entry[:, None], inside[:, None]) for entry in (missing, 1.0 - missing)]
    np.testing.assert_allclose(*exact)


def test_units_of_different_size_raise_no_more_alarms_than_promised():
    """Shares of units of 1 and of 30 items, missing and values unrelated."""
    rng, sizes = np.random.default_rng(4), np.repeat([1, 30], [40, 160])
    pairs = [
        (rng.binomial(sizes, 0.3) / sizes, rng.binomial(sizes, 0.5) / sizes) for _ in range(400)
    ]
    shares = [share_p(a[:, None], b[:, None], sizes)[0, 0] for a, b in pairs]
    ranks = [rank_p(a, b, sizes) for a, b in pairs]
    assert np.mean(np.array(shares) < 0.05) < 0.08
    assert np.mean(np.array(ranks) < 0.05) < 0.08
    assert np.mean([share_p(a[:, None], b[:, None])[0, 0] < 0.05 for a, b in pairs]) > 0.15


def test_the_variance_inside_classes_is_that_of_all_permutations():
    missing, values = np.array([0.0, 1, 0.5, 0.2, 0.9]), np.array([1.0, 4, 2, 5, 3])
    classes = np.array([1, 1, 1, 2, 2])
    sums = [
        missing[:3] @ values[list(permutation)] + missing[3:] @ values[list(two)]
        for permutation in permutations(range(3))
        for two in permutations((3, 4))
    ]
    z = (missing @ values - np.mean(sums)) / np.std(sums)
    result = permutation_p(missing, values, classes)
    assert result == pytest.approx(2.0 * stats.norm.sf(abs(z)))


def test_a_class_of_one_unit_adds_nothing():
    missing, values = random_pair(3)
    inside, sizes = (values > 2).astype(float), np.repeat([1, 7], [39, 1])
    assert rank_p(missing[:39], inside[:39]) == pytest.approx(rank_p(missing, inside, sizes))
    exact = share_p(missing[:39, None], inside[:39, None])
    assert share_p(missing[:, None], inside[:, None], sizes) == pytest.approx(exact)
    assert np.isnan(share_p(missing[:, None], inside[:, None], np.arange(40))).all()


def test_zeros_and_ones_of_several_classes_are_not_pooled_into_one_table():
    sizes = np.repeat([1, 2], 40)
    missing = np.concatenate([np.tile([0.0, 1], 20), np.tile([0.0, 0, 0, 1], 10)])
    inside = np.tile([0.0, 0, 1, 1], 20)
    (result,) = share_p(missing[:, None], inside[:, None], sizes)
    assert result == pytest.approx([permutation_p(missing, inside, sizes)])
