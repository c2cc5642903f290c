"""Sampled Shapley values: against all coalitions, and properties that hold for any orders."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest

from judgepanel.kernels.panels import balanced_orders, panels_of, sampled_shapley
from judgepanel.kernels.subsets import subset_trial
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import split
from tests.helpers import make_ballots

K = 4
JUDGES = np.eye(K, dtype=bool)
PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)


def world(aggregator="one_coin", calibrator="temperature", **more):
    ballots = make_ballots(7, 60, K, missing=0.4, **more)
    one_split = split(ballots.units, 2)
    return ballots, one_split, subset_trial(ballots, one_split, aggregator, calibrator)


def by_coalitions(ballots, entry, players, aggregator, calibrator):
    """Shapley's weighted sum over all coalitions, NLLs of which are fitted one by one."""
    panels = panels_of(ballots, entry, aggregator, calibrator, seed=0)
    signs, n = ballots.signs[entry.evaluation].astype(float), len(players)

    def saved(coalition):
        mask = players[list(coalition)].any(axis=0) if coalition else np.zeros(K, dtype=bool)
        return -item_nll(panels.of(mask[None]), signs).mean()

    values = np.zeros(n)
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for size in range(n):
            for some in combinations(others, size):
                gain = saved((*some, j)) - saved(some)
                values[j] += gain / (n * comb(n - 1, size))
    return values


@pytest.mark.parametrize("calibrator", ["none", "temperature", "beta"])
@pytest.mark.parametrize("players", [JUDGES, PAIRS], ids=["judges", "groups"])
@pytest.mark.parametrize("aggregator", ["one_coin", "majority"])
def test_over_all_orders_they_are_exact(aggregator, players, calibrator):
    ballots, entry, trial = world(aggregator, calibrator)
    orders = np.array(list(permutations(range(len(players)))))
    sampled = sampled_shapley(trial, players, orders)
    expected = by_coalitions(ballots, entry, players, aggregator, calibrator)
    np.testing.assert_allclose(sampled.items.mean(axis=1), expected, atol=1e-7)


def test_sampled_orders_come_near():
    ballots, entry, trial = world()
    drawn = [
        sampled_shapley(trial, JUDGES, balanced_orders(K, 20, np.random.default_rng(seed)))
        for seed in range(30)
    ]
    means = np.array([sampled.items.mean(axis=1) for sampled in drawn])
    expected = by_coalitions(ballots, entry, JUDGES, "one_coin", "temperature")
    noise = np.mean([sampled.noise for sampled in drawn], axis=0)
    assert (np.abs(means.mean(axis=0) - expected) < 4.0 * np.sqrt(noise / 30) + 1e-6).all()
    assert noise.sum() == pytest.approx(means.var(axis=0, ddof=1).sum(), rel=0.6)


@pytest.mark.parametrize("symmetric", [False, True])
def test_along_every_order_gains_add_up_to_what_all_save(symmetric):
    _, _, trial = world(symmetric=symmetric)
    for order in balanced_orders(K, 8, np.random.default_rng(1)):
        sampled = sampled_shapley(trial, JUDGES, np.array([order, order]))
        total = sampled.items.mean(axis=1).sum()
        assert total == pytest.approx(sampled.null - sampled.everyone, abs=1e-12)


def test_orders_are_permutations_balanced_by_place():
    orders = balanced_orders(12, 24, np.random.default_rng(0))
    assert orders.shape == (24, 12)
    assert (np.sort(orders, axis=1) == np.arange(12)).all()
    np.testing.assert_array_equal(orders[0::2], orders[1::2, ::-1])
    place = np.argsort(orders, axis=1)
    np.testing.assert_allclose(place[:12].mean(axis=0), 5.5)
    assert balanced_orders(1, 8, np.random.default_rng(0)).shape == (8, 1)


def test_a_judge_that_never_votes_is_worth_nothing():
    ballots, entry, _ = world()
    ballots.votes[:, 3] = 0
    trial = subset_trial(ballots, entry, "one_coin", "beta")
    sampled = sampled_shapley(trial, JUDGES, balanced_orders(K, 8, np.random.default_rng(0)))
    np.testing.assert_allclose(sampled.items[3], 0.0, atol=1e-9)
    assert sampled.made == 8 * K
