"""Errors that judges share on items of one value: the test, and how much wider intervals are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.votes import VoteMatrix
from judgepanel.votes.error_clusters import DRAWS, alike_p, item_errors, times_as_wide
from tests.helpers import make_votes

SMALLEST = 1 / (DRAWS + 1)
PAIRS = np.repeat(np.arange(60), 2)


def test_an_items_error_is_the_mean_of_what_its_votes_are_worse_than_their_judges() -> None:
    votes = make_votes(3, 40, 5, missing=0.3)
    votes = replace(votes, labels=np.where(np.arange(40) < 6, -1, votes.labels).astype(np.int8))
    wrong = np.where(votes.votes < 0, np.nan, votes.votes != votes.labels[:, None])
    wrong[:6] = np.nan
    excess = wrong - np.nanmean(wrong, axis=0)
    expected = [np.nan if np.isnan(row).all() else np.nanmean(row) for row in excess]
    np.testing.assert_allclose(item_errors(votes), expected, atol=1e-12)


def test_errors_are_the_same_with_responses_swapped_and_judges_permuted() -> None:
    votes = make_votes(4, 40, 5, missing=0.0)
    swap = np.arange(40) % 2
    labels, cells = votes.labels ^ swap, votes.votes ^ swap[:, None]
    swapped = replace(votes, labels=labels.astype(np.int8), votes=cells.astype(np.int8))
    np.testing.assert_array_equal(item_errors(swapped), item_errors(votes))
    reverse = votes.with_judges(votes.judges[::-1])
    np.testing.assert_allclose(item_errors(reverse), item_errors(votes), atol=1e-12)


def test_errors_that_only_differ_between_strata_leave_nothing() -> None:
    votes = make_votes(5, 40, 5)
    strata = np.arange(40) % 2
    cells = np.repeat((votes.labels ^ strata)[:, None], 5, axis=1).astype(np.int8)
    np.testing.assert_allclose(item_errors(replace(votes, votes=cells), [strata]), 0.0, atol=1e-12)


def test_equal_errors_within_values_are_as_significant_as_the_draws_allow() -> None:
    errors = np.random.default_rng(0).normal(size=60)[PAIRS]
    assert alike_p(errors, PAIRS) == SMALLEST
    assert alike_p(errors, PAIRS, PAIRS.astype(float)) == SMALLEST  # Not by their order.


def test_constant_errors_are_not_alike() -> None:
    assert alike_p(np.zeros(120), PAIRS) == 1.0


def test_a_trend_over_numbers_is_not_a_cluster() -> None:
    errors = PAIRS / 60.0 + np.random.default_rng(1).normal(size=120)
    assert alike_p(3.0 * PAIRS / 60.0 + errors, PAIRS) == SMALLEST
    assert alike_p(3.0 * PAIRS / 60.0 + errors, PAIRS, PAIRS.astype(float)) > 0.05


@pytest.mark.parametrize(
    "values",
    [np.arange(120), np.arange(120) % 19, np.r_[np.repeat(np.arange(25), 2), 25 + np.arange(70)]],
    ids=["none shared", "few values", "most items alone"],
)
def test_too_few_shared_values_say_nothing(values: np.ndarray) -> None:
    assert alike_p(values % 2 + 0.0, values) == 1.0


@pytest.mark.simulation
@pytest.mark.parametrize("chance", [0.5, 0.05])
def test_values_dealt_at_random_are_significant_as_often_as_stated(chance: float) -> None:
    """1,000 files; the binomial count at level .05 exceeds 77 with probability 1e-4."""
    rng = np.random.default_rng(2)
    errors = (rng.random((1_000, 120)) < chance) * 1.0
    p = np.array([alike_p(row, rng.permutation(PAIRS)) for row in errors])
    assert (p <= 0.05).sum() <= 77


def test_intervals_are_as_much_wider_as_the_design_effect_says() -> None:
    votes = make_votes(6, 50, 4)
    twice = np.repeat(np.arange(50), 2)
    names = tuple(f"i{row}" for row in range(100))
    doubled = VoteMatrix(votes.votes[twice], votes.labels[twice], names, votes.judges)
    assert times_as_wide(doubled, twice) == pytest.approx(np.sqrt(2))
    assert times_as_wide(votes, np.arange(50)) == pytest.approx(1.0)
    assert times_as_wide(votes, np.full(50, -1)) == pytest.approx(1.0)
