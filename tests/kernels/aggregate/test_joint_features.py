"""The design effect that sets the prior of tau: against loops and closed forms."""

import math

import numpy as np
import pytest

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.joint import CAUTION, Verdicts, features
from tests.helpers import make_ballots


def verdicts_of(right, times=None):
    right = np.asarray(right, dtype=np.int8)
    times = np.ones(len(right)) if times is None else np.asarray(times, dtype=np.float64)
    return Verdicts(right, times, times @ (right > 0), times @ (right != 0))


def design_effect_by_loop(right, weights):
    """The definition, item by item and judge by judge."""
    n_items, n_judges = right.shape
    together = alone = 0.0
    for i in range(n_items):
        parts = []
        for j in range(n_judges):
            if right[i, j]:
                column = right[:, j].astype(float)
                mean = column.sum() / (np.count_nonzero(column) + 2.0)
                parts.append(weights[j] * (right[i, j] - mean))
        together += sum(parts) ** 2
        alone += sum(part**2 for part in parts)
    return max(together / alone, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_design_effect_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    hard = np.where(rng.random(40) < 0.3, -1, 1)
    votes = np.where(rng.random((40, 6)) < 0.3, -1, 1) * hard[:, None]
    votes[rng.random(votes.shape) < 0.2] = 0
    weights = rng.normal(size=6)
    expected = design_effect_by_loop(votes, weights)
    assert verdicts_of(votes).design_effect(weights) == pytest.approx(expected, rel=1e-12)


def test_m_judges_who_always_agree_have_a_design_effect_of_m():
    column = np.random.default_rng(0).choice([-1, 1], (50, 1), p=[0.3, 0.7])
    for m in (1, 4, 9):
        effect = verdicts_of(np.repeat(column, m, axis=1)).design_effect(np.full(m, 0.7))
        assert effect == pytest.approx(m, rel=1e-12)


def test_a_shared_correlation_rho_gives_one_plus_rho_times_the_others():
    """Each judge repeats a common draw with probability 1/2, so that rho is 1/4."""
    rng = np.random.default_rng(1)
    n, m = 20_000, 9
    own = np.where(rng.random((n, m)) < 0.3, -1, 1)
    common = np.where(rng.random((n, 1)) < 0.3, -1, 1)
    votes = np.where(rng.random((n, m)) < 0.5, common, own)
    assert verdicts_of(votes).design_effect(np.ones(m)) == pytest.approx(1 + 0.25 * 8, abs=0.1)
    assert verdicts_of(own).design_effect(np.ones(m)) == pytest.approx(1.0, abs=0.05)


def test_a_design_effect_is_at_least_one_and_one_without_votes():
    opposite = np.array([[1, -1], [-1, 1]] * 10)
    assert verdicts_of(opposite).design_effect(np.ones(2)) == 1.0
    assert verdicts_of(np.zeros((5, 3))).design_effect(np.ones(3)) == 1.0
    assert verdicts_of(opposite).design_effect(np.zeros(2)) == 1.0


def test_rows_that_stand_for_many_count_as_often():
    rng = np.random.default_rng(2)
    votes, times = rng.choice([-1, 0, 1], (12, 4)), rng.integers(1, 9, 12)
    weights = np.array([1.0, 0.4, 0.0, -0.6])
    every = verdicts_of(np.repeat(votes, times, axis=0)).design_effect(weights)
    assert verdicts_of(votes, times).design_effect(weights) == pytest.approx(every, rel=1e-12)


def test_the_prior_of_tau_follows_the_design_effect_and_swaps_change_no_bit():
    ballots = make_ballots(3, 60, 5, missing=0.1)
    rows = np.arange(60)
    sides = np.where(np.arange(60) % 2, -1, 1).astype(np.int8)
    swapped = Ballots(ballots.votes * sides[:, None], ballots.signs * sides, ballots.units)
    one, other = (
        features(votes, rows, np.arange(5), one_coin=True, agreement=False)
        for votes in (ballots, swapped)
    )
    right = ballots.votes * ballots.signs[:, None]
    assert one.rate == pytest.approx(CAUTION * design_effect_by_loop(right, one.base), rel=1e-12)
    assert math.isclose(one.rate, other.rate, rel_tol=0.0)
