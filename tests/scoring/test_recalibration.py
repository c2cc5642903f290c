"""Calibration slope and intercept: against a library, on swaps, and where no fit exists."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from judgepanel.scoring.metrics import recalibrate


def draw(seed, n=400, slope=1.0, intercept=0.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.3, 2.0, n)
    p = 1.0 / (1.0 + np.exp(-(intercept + slope * logits)))
    return logits, np.where(rng.random(n) < p, 1.0, -1.0), rng.uniform(0.5, 2.0, n)


def test_the_fit_is_the_unpenalised_logistic_regression_of_labels_on_logits():
    logits, signs, weights = draw(0, slope=0.6, intercept=0.4)
    recalibration = recalibrate(logits, signs, weights)
    peer = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000)
    peer.fit(logits[:, None], signs > 0, sample_weight=weights)
    assert recalibration.slope == pytest.approx(peer.coef_[0, 0], abs=1e-5)
    assert recalibration.intercept == pytest.approx(peer.intercept_[0], abs=1e-5)


def test_under_symmetric_the_fit_is_that_of_items_and_their_swaps():
    logits, signs, weights = draw(1, slope=0.5)
    odd = recalibrate(logits, signs, weights, symmetric=True)
    both = recalibrate(
        np.concatenate([logits, -logits]),
        np.concatenate([signs, -signs]),
        np.concatenate([weights, weights]),
    )
    assert odd.slope == pytest.approx(both.slope, abs=1e-8)
    assert both.intercept == pytest.approx(0.0, abs=1e-8)
    assert odd.intercept == 0.0


def test_influence_has_mean_zero_and_foretells_what_leaving_an_item_out_does():
    logits, signs, weights = draw(2)
    recalibration = recalibrate(logits, signs, weights)
    shares = weights / weights.sum()
    np.testing.assert_allclose(recalibration.influence @ shares, 0.0, atol=1e-7)
    for i in (0, 17, 250):
        left = recalibrate(np.delete(logits, i), np.delete(signs, i), np.delete(weights, i))
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
    assert recalibrate(logits, signs, np.ones(len(signs)), symmetric=symmetric) is None


def test_one_class_is_no_hindrance_where_swaps_are_scored_too():
    logits = np.array([1.0, 2.0, 0.5, -3.0, 0.4])
    assert recalibrate(logits, np.ones(5), np.ones(5), symmetric=True) is not None
