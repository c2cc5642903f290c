"""Selective prediction: ranks, ties, the area, and the variance of both."""

from itertools import permutations

import numpy as np
import pytest

from judgepanel.scoring.conformal import answered, auac_values, ranked


def area(hits):
    """Mean over k of the accuracy of the first k."""
    return float(np.mean(np.cumsum(hits) / np.arange(1, len(hits) + 1)))


def test_the_area_is_the_mean_accuracy_over_all_numbers_answered():
    rng = np.random.default_rng(0)
    confidence, hit = rng.random(40), (rng.random(40) < 0.7).astype(float)
    values = auac_values(ranked(confidence), hit)
    assert values.mean() == pytest.approx(area(hit[np.argsort(-confidence)]))


def test_ties_are_averaged_over_their_orders():
    confidence = np.array([0.9, 0.7, 0.7, 0.7, 0.6])
    hit = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    orders = [[0, *middle, 4] for middle in permutations([1, 2, 3])]
    wanted = np.mean([area(hit[order]) for order in orders])
    assert auac_values(ranked(confidence), hit).mean() == pytest.approx(wanted)
    remaining = answered(ranked(confidence), np.array([0.4, 1.0]))
    np.testing.assert_allclose(remaining[0], [1, 1 / 3, 1 / 3, 1 / 3, 0])
    assert (remaining[1] == 1.0).all()


def test_a_confidence_that_says_nothing_gains_nothing():
    hit = np.array([1.0, 0.0, 1.0, 1.0])
    assert auac_values(ranked(np.full(4, 0.8)), hit).mean() == pytest.approx(hit.mean())


def test_the_variance_of_the_influence_values_is_that_of_the_area():
    rng = np.random.default_rng(1)
    areas, foretold = [], []
    for _ in range(400):
        confidence = rng.uniform(0.5, 1.0, 300)
        hit = (rng.random(300) < confidence).astype(float)
        values = auac_values(ranked(confidence), hit)
        areas.append(values.mean())
        foretold.append(values.var(ddof=1) / 300)
    assert np.sqrt(np.mean(foretold)) == pytest.approx(np.std(areas), rel=0.1)
