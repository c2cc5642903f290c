"""Independent juries: exact errors against enumeration, and bounds that hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from judgepanel.studies.paper.jury import (
    equivalent_jury,
    independent_error_slopes,
    independent_majority_error,
    jury_exponents,
    majority_errors,
)


def errors_by_enumeration(accuracies, weights):
    """Error of the weighted vote of independent judges: every pattern of right and wrong."""
    total = 0.0
    for right in itertools.product((False, True), repeat=len(accuracies)):
        chance = np.prod([p if hit else 1 - p for hit, p in zip(right, accuracies, strict=True)])
        lean = round(sum(w if hit else -w for hit, w in zip(right, weights, strict=True)), 12)
        total += chance * (1.0 - np.sign(lean)) / 2.0
    return total


panels = st.integers(0, 10**6).map(np.random.default_rng)


@given(panels)
@settings(max_examples=25)
def test_the_exact_error_is_that_of_enumeration_for_every_prefix_and_missing_vote(rng):
    accuracies = rng.uniform(0.05, 0.95, 6)
    votes = rng.choice([-1, 0, 1], (5, 6)).astype(np.int8)
    ks = np.array([1, 2, 5, 6])
    error = independent_majority_error(votes, accuracies, ks)
    for row, k in enumerate(ks):
        for item, cast in enumerate(votes != 0):
            seen = accuracies[:k][cast[:k]]
            wanted = errors_by_enumeration(seen, np.ones(len(seen)))
            assert error[row, item] == pytest.approx(wanted, abs=1e-12)


@given(panels)
@settings(max_examples=15)
def test_the_slopes_are_the_differences_between_a_judge_always_and_never_right(rng):
    accuracies = rng.uniform(0.02, 0.98, 7)
    accuracies[0] = 0.5
    votes = rng.choice([-1, 0, 1], (6, 7)).astype(np.int8)
    ks = np.array([1, 2, 4, 7])
    slopes = independent_error_slopes(votes, accuracies, ks)
    for judge in range(7):
        ends = []
        for p in (1.0, 0.0):
            set_to = accuracies.copy()
            set_to[judge] = p
            ends.append(independent_majority_error(votes, set_to, ks).mean(axis=1))
        np.testing.assert_allclose(slopes[:, judge], ends[0] - ends[1], atol=1e-12)


@given(panels)
@settings(max_examples=25)
def test_the_bounds_lie_above_the_exact_errors_of_the_votes_they_are_of(rng):
    accuracies = rng.uniform(0.1, 0.9, 6)
    votes = np.ones((1, 6), dtype=np.int8)
    ks = np.arange(1, 7)
    theory = jury_exponents(votes, accuracies, ks)
    exact = independent_majority_error(votes, accuracies, ks)
    assert (np.exp(-theory.majority) >= exact - 1e-12).all()
    for row, k in enumerate(ks):
        p = accuracies[:k]
        best = errors_by_enumeration(p, np.log(p / (1 - p)))
        assert best <= 0.5 * np.exp(-theory.jury[row, 0]) + 1e-12
        assert best <= np.exp(-theory.weighted[row, 0]) + 1e-12


def test_equal_judges_have_a_binomial_error():
    votes = np.ones((2, 41), dtype=np.int8)
    error = independent_majority_error(votes, np.full(41, 0.7), np.array([11, 41]))
    wanted = stats.binom.cdf([5, 20], [11, 41], 0.7)
    np.testing.assert_allclose(error, np.tile(wanted[:, None], 2), rtol=1e-10)


def test_the_order_of_judges_matters_to_prefixes_only():
    rng = np.random.default_rng(3)
    p, order = rng.uniform(0.4, 0.9, 9), rng.permutation(9)
    votes = rng.choice([-1, 0, 1], (7, 9)).astype(np.int8)
    ks = np.array([9])
    np.testing.assert_allclose(
        independent_majority_error(votes, p, ks),
        independent_majority_error(votes[:, order], p[order], ks),
        atol=1e-14,
    )
    np.testing.assert_allclose(
        jury_exponents(votes, p, ks).jury, jury_exponents(votes[:, order], p[order], ks).jury
    )


def test_ties_and_items_without_votes_count_one_half():
    votes = np.array([[1, -1, 0], [0, 0, 0], [-1, -1, 1]], dtype=np.int8)
    errors = majority_errors(votes, np.array([1, 1, 1], dtype=np.int8), np.array([2, 3]))
    np.testing.assert_array_equal(errors, [[0.5, 0.5, 1.0], [0.5, 0.5, 1.0]])
    exact = independent_majority_error(votes, np.array([0.8, 0.6, 0.9]), np.array([3]))
    assert exact[0, 1] == 0.5
    assert exact[0, 0] == pytest.approx(0.5 * (0.8 * 0.4 + 0.2 * 0.6) + 0.2 * 0.4)


def test_a_judge_at_chance_adds_nothing_and_an_anti_expert_as_much_as_an_expert():
    votes = np.ones((1, 2), dtype=np.int8)
    ks = np.array([1, 2])
    chance = jury_exponents(votes, np.array([0.8, 0.5]), ks).jury[:, 0]
    assert chance[1] == pytest.approx(chance[0])
    turned = jury_exponents(votes, np.array([0.3, 0.7]), ks).jury[:, 0]
    assert turned[1] == pytest.approx(2 * turned[0])


def test_an_independent_jury_is_worth_its_own_number():
    for m in (1, 5, 21):
        error = float(stats.binom.cdf((m - 1) // 2, m, 0.75))
        assert equivalent_jury(error, 0.75, 41) == pytest.approx(m)
    assert equivalent_jury(0.25, 0.75, 41) == pytest.approx(1.0)
    assert equivalent_jury(0.4, 0.75, 41) == 1.0
    assert equivalent_jury(0.0, 0.75, 41) == 41.0
    assert np.isnan(equivalent_jury(0.3, 0.5, 41))
