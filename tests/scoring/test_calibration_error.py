"""Bins of confidence, the noise in their gaps, and gaps that chance alone produces."""

import numpy as np
import pytest

from judgepanel.scoring.metrics import (
    STATED,
    bin_of,
    chance_errors,
    equal_width_edges,
    excess_gap,
    gap_of,
    gaps_above,
    shared_luck,
)


@pytest.mark.parametrize("bins", [10, 15])
def test_equal_width_bins_are_those_of_the_ece(bins):
    rng = np.random.default_rng(0)
    confidence = np.append(rng.uniform(0.5, 0.999, 300), [0.5, 0.6, 0.8, 0.999])
    hit = (rng.random(304) < 0.8).astype(float)
    edges = equal_width_edges(bins)
    codes = bin_of(confidence, edges)
    gaps = np.bincount(codes, hit - confidence, len(edges) - 1)
    assert np.abs(gaps).sum() / 304 == pytest.approx(
        float(gap_of(gaps_above(confidence, hit, bins), 304))
    )


def test_bins_of_confidences_people_say_have_those_in_their_middle():
    codes = bin_of(np.array([0.5, 0.58, 0.7, 0.8, 0.9, 0.999]), np.array(STATED))
    assert codes.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_excess_of_a_noisy_gap_is_its_folded_mean():
    rng = np.random.default_rng(1)
    gaps, se = np.array([0.0, 0.02, -0.1, 0.1]), np.array([0.05, 0.05, 0.02, 0.0])
    drawn = np.abs(gaps + se * rng.standard_normal((200_000, 4))).mean(axis=0)
    np.testing.assert_allclose(excess_gap(gaps, se), drawn - np.abs(gaps), atol=3e-4)


def test_chance_errors_are_those_of_labels_drawn_from_the_probabilities():
    rng = np.random.default_rng(2)
    n = 200
    p = rng.uniform(0.02, 0.98, n)
    confidence = np.maximum(p, 1 - p)
    edges = equal_width_edges(10)
    cells = bin_of(confidence, edges)
    errors = chance_errors(
        p, cells, np.arange(n), np.full(n, 1 / n), n_cells=5, draws=2_000, seed=0
    )
    own = []
    for _ in range(2_000):
        hit = ((rng.random(n) < p) == (p >= 0.5)).astype(float)
        own.append(float(gap_of(gaps_above(confidence, hit, 10), n)))
    assert errors.mean() == pytest.approx(np.mean(own), abs=0.001)
    assert np.quantile(errors, 0.95) == pytest.approx(np.quantile(own, 0.95), abs=0.004)


def test_evaluations_of_one_item_share_its_luck():
    rng = np.random.default_rng(3)
    p = np.tile(rng.uniform(0.6, 0.9, 50), 20)
    item = np.tile(np.arange(50), 20)
    cells, weights = np.zeros(1000, dtype=int), np.full(1000, 1 / 1000)
    shared = chance_errors(p, cells, item, weights, n_cells=1, draws=400, seed=0).mean()
    apart = chance_errors(p, cells, np.arange(1000), weights, n_cells=1, draws=400, seed=0).mean()
    assert shared / apart == pytest.approx(np.sqrt(20), rel=0.15)


def test_items_of_a_group_share_their_luck_as_far_as_their_residuals_do():
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(400), 4)
    alike = np.repeat(rng.normal(size=400), 4)
    assert shared_luck(alike, group).correlation == pytest.approx(1.0, abs=0.01)
    assert shared_luck(rng.normal(size=1600), group).correlation < 0.1
    assert shared_luck(alike, np.arange(1600)).correlation == 0.0
    p = rng.uniform(0.6, 0.9, 1600)
    cells, weights = np.zeros(1600, dtype=int), np.full(1600, 1 / 1600)
    chance = [
        chance_errors(
            p, cells, np.arange(1600), weights, n_cells=1, draws=600, seed=0, shared=shared
        ).mean()
        for shared in (None, shared_luck(alike, group))
    ]
    assert chance[1] / chance[0] == pytest.approx(2.0, rel=0.15)
