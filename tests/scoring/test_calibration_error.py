"""Bins of confidence, gaps by noise and by chance alone, slope and intercept."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from judgepanel.scoring import metrics


@pytest.mark.parametrize("bins", [10, 15])
def test_equal_width_bins_are_those_of_the_ece(bins):
    rng = np.random.default_rng(0)
    confidence = np.append(rng.uniform(0.5, 0.999, 300), [0.5, 0.6, 0.8, 0.999])
    hit = (rng.random(304) < 0.8).astype(float)
    edges = metrics.equal_width_edges(bins)
    codes = metrics.bin_of(confidence, edges)
    gaps = np.bincount(codes, hit - confidence, len(edges) - 1)
    assert np.abs(gaps).sum() / 304 == pytest.approx(
        float(metrics.gap_of(metrics.gaps_above(confidence, hit, bins), 304))
    )


def test_bins_of_confidences_people_say_have_those_in_their_middle():
    codes = metrics.bin_of(np.array([0.5, 0.58, 0.7, 0.8, 0.9, 0.999]), np.array(metrics.STATED))
    assert codes.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_excess_of_a_noisy_gap_is_its_folded_mean():
    rng = np.random.default_rng(1)
    gaps, se = np.array([0.0, 0.02, -0.1, 0.1]), np.array([0.05, 0.05, 0.02, 0.0])
    drawn = np.abs(gaps + se * rng.standard_normal((200_000, 4))).mean(axis=0)
    np.testing.assert_allclose(metrics.excess_gap(gaps, se), drawn - np.abs(gaps), atol=3e-4)


def test_chance_errors_are_those_of_labels_drawn_from_the_probabilities():
    rng = np.random.default_rng(2)
    n = 200
    p = rng.uniform(0.02, 0.98, n)
    confidence = np.maximum(p, 1 - p)
    cells = metrics.bin_of(confidence, metrics.equal_width_edges(10))
    errors = metrics.chance_errors(
        p, cells, np.arange(n), np.full(n, 1 / n), n_cells=5, draws=2_000, seed=0
    )
    own = []
    for _ in range(2_000):
        hit = ((rng.random(n) < p) == (p >= 0.5)).astype(float)
        own.append(float(metrics.gap_of(metrics.gaps_above(confidence, hit, 10), n)))
    assert errors.mean() == pytest.approx(np.mean(own), abs=0.001)
    assert np.quantile(errors, 0.95) == pytest.approx(np.quantile(own, 0.95), abs=0.004)


def test_evaluations_of_one_item_share_its_luck():
    p = np.tile(np.random.default_rng(3).uniform(0.6, 0.9, 50), 20)
    item = np.tile(np.arange(50), 20)
    cells, weights = np.zeros(1000, dtype=int), np.full(1000, 1 / 1000)
    shared = metrics.chance_errors(p, cells, item, weights, n_cells=1, draws=400, seed=0).mean()
    apart = metrics.chance_errors(
        p, cells, np.arange(1000), weights, n_cells=1, draws=400, seed=0
    ).mean()
    assert shared / apart == pytest.approx(np.sqrt(20), rel=0.15)


def test_items_of_a_group_share_their_luck_as_far_as_their_residuals_do():
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(400), 4)
    alike = np.repeat(rng.normal(size=400), 4)
    assert metrics.shared_luck(alike, group).correlation == pytest.approx(1.0, abs=0.01)
    assert metrics.shared_luck(rng.normal(size=1600), group).correlation < 0.1
    assert metrics.shared_luck(alike, np.arange(1600)).correlation == 0.0
    p = rng.uniform(0.6, 0.9, 1600)
    cells, weights = np.zeros(1600, dtype=int), np.full(1600, 1 / 1600)
    chance = [
        metrics.chance_errors(
            p, cells, np.arange(1600), weights, n_cells=1, draws=600, seed=0, shared=shared
        ).mean()
        for shared in (None, metrics.shared_luck(alike, group))
    ]
    assert chance[1] / chance[0] == pytest.approx(2.0, rel=0.15)


def draw(seed, n=400, slope=1.0, intercept=0.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.3, 2.0, n)
    p = 1.0 / (1.0 + np.exp(-(intercept + slope * logits)))
    return logits, np.where(rng.random(n) < p, 1.0, -1.0), rng.uniform(0.5, 2.0, n)


def test_the_fit_is_the_unpenalised_logistic_regression_of_labels_on_logits():
    logits, signs, weights = draw(0, slope=0.6, intercept=0.4)
    recalibration = metrics.recalibrate(logits, signs, weights)
    peer = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000)
    peer.fit(logits[:, None], signs > 0, sample_weight=weights)
    assert recalibration.slope == pytest.approx(peer.coef_[0, 0], abs=1e-5)
    assert recalibration.intercept == pytest.approx(peer.intercept_[0], abs=1e-5)


def test_under_symmetric_the_fit_is_that_of_items_and_their_swaps():
    logits, signs, weights = draw(1, slope=0.5)
    odd = metrics.recalibrate(logits, signs, weights, symmetric=True)
    both = metrics.recalibrate(
        np.r_[logits, -logits], np.r_[signs, -signs], np.r_[weights, weights]
    )
    assert odd.slope == pytest.approx(both.slope, abs=1e-8)
    assert both.intercept == pytest.approx(0.0, abs=1e-8)
    assert odd.intercept == 0.0


def test_influence_has_mean_zero_and_foretells_what_leaving_an_item_out_does():
    logits, signs, weights = draw(2)
    recalibration = metrics.recalibrate(logits, signs, weights)
    shares = weights / weights.sum()
    np.testing.assert_allclose(recalibration.influence @ shares, 0.0, atol=1e-7)
    for i in (0, 17, 250):
        left = metrics.recalibrate(np.delete(logits, i), np.delete(signs, i), np.delete(weights, i))
        foretold = recalibration.slope - shares[i] * recalibration.influence[0, i]
        assert left.slope == pytest.approx(foretold, abs=5e-4)


@pytest.mark.parametrize(
    ("logits", "signs", "symmetric"),
    [
        ([1.0, 2.0, -1.0, -3.0], [1, 1, -1, -1], False),  # separated
        ([1.0, 2.0, -1.0, -3.0], [1, 1, -1, -1], True),
        ([1.0, 2.0, 0.5, -3.0], [1, 1, 1, 1], False),  # one class
        ([0.7, 0.7, 0.7, 0.7], [1, -1, 1, 1], False),  # no spread
        ([0.0, 0.0, 0.0], [1, -1, 1], True),  # no spread
    ],
)
def test_where_no_finite_fit_exists_there_is_none(logits, signs, symmetric):
    logits, signs = np.array(logits), np.array(signs, dtype=float)
    assert metrics.recalibrate(logits, signs, np.ones(len(signs)), symmetric=symmetric) is None


def test_one_class_is_no_hindrance_where_swaps_are_scored_too():
    logits = np.array([1.0, 2.0, 0.5, -3.0, 0.4])
    assert metrics.recalibrate(logits, np.ones(5), np.ones(5), symmetric=True) is not None
