"""Distortions: the formulas, strict monotonicity in the tails, and isotonic fits after them."""

import numpy as np
import pytest

from judgepanel.kernels import maps
from judgepanel.kernels.calibration import fit


def noise(n=0):
    return maps.Noise(0.1, 0.3, 0.2, np.arange(n)[::-1])


def test_there_are_the_papers_seven():
    assert len(maps.DISTORTIONS) == 7


def test_powers_are_those_of_the_probability():
    logits = np.linspace(-6, 6, 25)
    p = maps.sigmoid(logits)
    np.testing.assert_allclose(maps.sigmoid(maps.square(logits)), p**2, rtol=1e-12)
    np.testing.assert_allclose(maps.sigmoid(maps.square_root(logits)), np.sqrt(p), rtol=1e-12)
    np.testing.assert_allclose(maps.square(maps.square_root(logits)), logits, atol=1e-9)


@pytest.mark.parametrize("name", [maps.SQUARE, maps.ROOT])
def test_powers_stay_finite_and_strictly_monotone_where_probabilities_round_to_0_and_1(name):
    logits = np.linspace(-600, 600, 801)
    result = maps.CHANGES[name](logits, noise(), np.random.default_rng(0))
    assert np.isfinite(result).all()
    assert (np.diff(result) > 0).all()


@pytest.mark.parametrize("name", [maps.SQUARE, maps.ROOT])
def test_isotonic_regression_says_the_same_of_every_score_it_was_fitted_to(name):
    rng = np.random.default_rng(2)
    logits = 3.0 * rng.standard_normal((1, 200))
    signs = np.where(rng.random(200) < maps.sigmoid(logits[0]), 1.0, -1.0)
    changed = maps.CHANGES[name](logits, noise(), rng)
    plain = fit(("isotonic",), logits, signs)["isotonic"](logits)
    again = fit(("isotonic",), changed, signs)["isotonic"](changed)
    np.testing.assert_allclose(again, plain, atol=1e-9)


def test_noise_is_bounded_and_the_others_keep_what_they_promise():
    rng = np.random.default_rng(1)
    logits = np.linspace(-20, 20, 1000)
    assert np.abs(maps.noisy(logits, 0.3, rng)).max() <= np.log(999.0) + 1e-9
    turned = maps.CHANGES["binary_noise"](logits, noise(), rng)
    assert set(np.round(turned / logits)) == {-1.0, 1.0}
    assert 0.15 < np.mean(turned != logits) < 0.25
    np.testing.assert_array_equal(maps.CHANGES["inversion"](logits, noise(), rng), -logits)
    np.testing.assert_array_equal(maps.CHANGES["shuffle"](logits, noise(1000), rng), logits[::-1])
