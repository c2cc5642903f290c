"""One wrong decision more than observed: formulas, unchanged results, and coverage."""

import math

import numpy as np
import pytest
from scipy import stats

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.descriptive import (
    FEW_ERRORS,
    allow_difference,
    allow_level,
    between,
    one_more_error,
)
from judgepanel.scoring.inference import estimate, simultaneous_reach
from judgepanel.scoring.splits import Split, split

CLIPPED = -math.log(0.999)


def losses(n_wrong, n_items=100, sure=0.97):
    """Losses of a panel that gives its decisions ``sure``, wrong on the first so many items."""
    values = np.full((1, n_items), -math.log(sure))
    values[0, :n_wrong] = -math.log1p(-sure)
    return values


def fitted(n_wrong, n_items=100, n=1):
    items = np.repeat(losses(n_wrong, n_items), n, axis=0)
    items += 0.01 * np.random.default_rng(0).random(items.shape)
    splits = np.random.default_rng(1).normal(items.mean(), 0.01, (8, n))
    return items, estimate(items, splits, np.arange(n_items), n_items // 2, n_items // 2)


def test_one_more_error_costs_what_a_wrong_decision_does():
    units = np.arange(100)
    assert one_more_error(losses(0), units)[0] == pytest.approx(-math.log(0.03) / 100)
    assert one_more_error(losses(FEW_ERRORS - 1), units)[0] == one_more_error(losses(0), units)[0]
    assert one_more_error(losses(FEW_ERRORS), units)[0] == 0.0
    # Sure decisions are rarely the wrong ones, so the unsure half sets most of the cost.
    mixed = np.concatenate([losses(0, 50, 0.6), losses(0, 50, 0.999)], axis=1)
    cost = (0.4 * -math.log(0.4) + 0.001 * -math.log(0.001)) / 0.401
    assert one_more_error(mixed, units)[0] == pytest.approx(cost / 100)


def test_items_of_a_group_go_wrong_together():
    alone, in_fives = (one_more_error(losses(2), np.arange(100) // m)[0] for m in (1, 5))
    assert in_fives == pytest.approx(5 * alone)


def test_groups_with_a_wrong_decision_are_counted_and_ties_are_none():
    units = np.arange(100) // 10
    assert one_more_error(losses(20), units)[0] > 0.0  # 20 items of 2 groups.
    tied = losses(0)
    tied[0, :20] = np.round(math.log(2.0) * 2.0**40) / 2.0**40
    assert one_more_error(tied, np.arange(100))[0] > 0.0


def test_a_panel_that_is_always_at_its_limit_has_a_finite_error():
    certain = np.full((1, 40), CLIPPED)
    assert one_more_error(certain, np.arange(40))[0] == pytest.approx(-math.log(0.001) / 40)


def test_the_upper_end_of_a_level_is_the_formula_and_nothing_else_moves():
    items, before = fitted(2)
    extra = one_more_error(items, np.arange(100))
    after = allow_level(before, extra)
    quantile = stats.t.ppf(0.975, before.df[0])
    wanted = before.value + extra + quantile * np.sqrt(before.se**2 + extra**2)
    np.testing.assert_allclose(after.hi, wanted, rtol=1e-12)
    for name in ("value", "se", "df", "lo", "p", "covariance"):
        assert np.array_equal(getattr(after, name), getattr(before, name))


def test_enough_wrong_decisions_leave_every_bit_as_it_was():
    items, before = fitted(FEW_ERRORS, n=3)
    extra = one_more_error(items, np.arange(100))
    for after in (allow_level(before, extra), allow_difference(before, extra)):
        for name in ("value", "se", "df", "lo", "hi", "p", "covariance"):
            assert np.array_equal(getattr(after, name), getattr(before, name))


def test_a_difference_widens_alike_on_both_sides_and_its_test_follows():
    _, before = fitted(12, n=4)
    extra = np.array([0.0, 0.01, 0.05, 0.2])
    after = allow_difference(before, extra)
    reach = stats.t.ppf(0.975, before.df) * after.se
    np.testing.assert_allclose(after.hi - after.value, reach, rtol=1e-12)
    np.testing.assert_allclose(after.value - after.lo, reach, rtol=1e-12)
    wanted = extra + stats.t.ppf(0.975, before.df) * np.sqrt(before.se**2 + extra**2)
    np.testing.assert_allclose(reach[1:], wanted[1:], rtol=1e-12)
    assert (after.lo[0], after.hi[0], after.p[0]) == (before.lo[0], before.hi[0], before.p[0])
    assert ((after.p < 0.05) == ((after.lo > 0) | (after.hi < 0))).all()
    np.testing.assert_allclose(np.diagonal(after.covariance), after.se**2)
    assert np.linalg.eigvalsh(after.covariance).min() > -1e-12
    assert np.isfinite(simultaneous_reach(after, seed=0))


def test_a_difference_needs_both_panels_to_be_accurate():
    first, other = np.array([[0.1, 0.0, 0.1, 0.2], [0.3, 0.1, 0.0, 0.1]])
    assert between(first, other).tolist() == [0.3, 0.0, 0.0, 0.2]


def panel(n_items, accuracy, rng, n_judges=9):
    labels = 2 * rng.integers(0, 2, n_items) - 1
    right = rng.random((n_items, n_judges)) < accuracy
    votes = np.where(right, labels[:, None], -labels[:, None]).astype(np.int8)
    return Ballots(votes, labels.astype(np.int8), np.arange(n_items))


@pytest.mark.simulation
def test_intervals_of_very_accurate_panels_hold():
    """Nine judges of accuracy .92, 100 items: before, NLL of all held in one data set of ten."""
    rng, ks = np.random.default_rng(8_071), np.array([5, 9])
    recipe, units, n_splits = Recipe("one_coin", ("temperature",)), np.arange(100), 6

    def nll(ballots, entry):
        return evaluate_split(ballots, entry, ks, recipe).evaluation["temperature"].nll

    fresh = Split(0, np.arange(50), np.arange(50, 1_550))
    truth = np.mean([nll(panel(1_550, 0.92, rng), fresh).mean(axis=1) for _ in range(60)], axis=0)
    before, after = [], []
    for _ in range(60):
        ballots, sums, times, means = panel(100, 0.92, rng), np.zeros((2, 100)), np.zeros(100), []
        for number in range(n_splits):
            one_split = split(units, number)
            values = nll(ballots, one_split)
            sums[:, one_split.evaluation] += values
            times[one_split.evaluation] += 1
            means.append(values.mean(axis=1))
        items, splits = (sums / np.maximum(times, 1))[:, times > 0], np.array(means)
        own = np.arange(items.shape[1])
        level = estimate(items, splits, own, 50, 50)
        gap = estimate(items[:1] - items[1:], splits[:, :1] - splits[:, 1:], own, 50, 50)
        extra = one_more_error(items, own)
        wider = allow_difference(gap, between(extra[:1], extra[1:]))
        delta = truth[0] - truth[1]
        for results, wide, other in (
            (before, level, gap),
            (after, allow_level(level, extra), wider),
        ):
            held = (wide.lo - 1e-6 <= truth) & (truth <= wide.hi)
            results.append([*held, bool(other.lo[0] <= delta <= other.hi[0])])
    assert np.mean(before, axis=0)[1] < 0.5
    assert (np.mean(after, axis=0) >= 0.93).all()
