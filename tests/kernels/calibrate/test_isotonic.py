"""Isotonic calibration against its definition, on doubled data, and at ties."""

import numpy as np
import pytest

from judgepanel.kernels.calibration import fit
from judgepanel.kernels.maps import fit_isotonic, sigmoid
from tests.kernels.calibrate.test_calibration import column


def best_rising(y, weight):
    """At k the smallest over ends j >= k of the largest over starts i <= k of the mean of i..j."""
    n = len(y)

    def mean(i, j):
        return np.average(y[i : j + 1], weights=weight[i : j + 1])

    return np.array(
        [min(max(mean(i, j) for i in range(k + 1)) for j in range(k, n)) for k in range(n)]
    )


def p_at(knots, x):
    return sigmoid(knots(np.asarray(x, dtype=float)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_at_the_scores_it_is_the_best_rising_probability(seed, weighted):
    logits, signs = column(seed, n=25)
    weight = np.random.default_rng(seed).uniform(0.1, 2.0, 25) if weighted else np.ones(25)
    order = np.argsort(logits)
    wanted = best_rising((signs[order] > 0).astype(float), weight[order]).clip(0.001, 0.999)
    result = p_at(fit_isotonic(logits, signs, weight if weighted else None), logits[order])
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shift", [0.5, -0.3])
@pytest.mark.parametrize("ties", [False, True])
def test_symmetric_is_the_fit_to_every_item_and_its_swap(seed, shift, ties):
    logits, signs = column(seed, n=40, shift=shift)
    if ties:
        logits = np.round(logits)
    weight = np.random.default_rng(seed).integers(0, 3, 40).astype(float)
    odd = fit_isotonic(logits, signs, weight, symmetric=True)
    doubled = fit_isotonic(np.r_[logits, -logits], np.r_[signs, -signs], np.r_[weight, weight])
    new = np.linspace(-7.0, 7.0, 141)
    np.testing.assert_allclose(p_at(odd, new), p_at(doubled, new), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(odd(new), -odd(-new))


def test_between_knots_p_is_linear_in_the_logit_and_beyond_them_flat():
    knots = fit_isotonic(
        np.array([-2.0, -1.0, -1.0, 3.0, 3.0, 3.0]), np.array([-1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    )
    assert knots.logits.tolist() == [-2.0, -1.0, 3.0]
    np.testing.assert_allclose(knots.p, [0.0, 1 / 2, 2 / 3])
    np.testing.assert_allclose(p_at(knots, [1.0, 3.0, 9.0]), [7 / 12, 2 / 3, 2 / 3], atol=1e-12)
    np.testing.assert_allclose(p_at(knots, [-9.0, -2.0]), 0.001, atol=1e-12)


def test_scores_that_differ_by_rounding_alone_are_one_score():
    logits, signs = column(3, n=60)
    logits = np.round(logits)
    noise = 1e-15 * np.random.default_rng(0).choice([-1.0, 0.0, 1.0], 60) * (1.0 + np.abs(logits))
    for symmetric in (False, True):
        knots = fit_isotonic(logits, signs, symmetric=symmetric)
        other = fit_isotonic(logits + noise, signs, symmetric=symmetric)
        assert len(knots.p) == len(other.p)
        np.testing.assert_allclose(p_at(knots, logits), p_at(other, logits), rtol=0, atol=1e-9)


@pytest.mark.parametrize("symmetric", [False, True])
def test_without_a_weight_it_knows_nothing(symmetric):
    knots = fit_isotonic(np.array([1.0, 2.0]), np.ones(2), np.zeros(2), symmetric=symmetric)
    np.testing.assert_array_equal(knots(np.array([-5.0, 0.0, 5.0])), 0.0)


def test_only_columns_of_one_class_are_replaced_by_temperature():
    logits, signs = column(0, n=40)
    weight = np.stack([np.ones(40), (signs > 0).astype(float), np.zeros(40)])
    fits = fit(("temperature", "isotonic"), np.tile(logits, (3, 1)), signs, weight)
    assert fits["isotonic"].replaced.tolist() == [False, True, True]
    assert [fits["isotonic"].shape(b).kind for b in range(3)] == [
        *("isotonic", "temperature", "temperature")
    ]
    both = fits["isotonic"](np.tile(logits, (3, 1))), fits["temperature"](np.tile(logits, (3, 1)))
    np.testing.assert_array_equal(both[0][1:], both[1][1:])
    alone = fit_isotonic(logits, signs)
    np.testing.assert_array_equal(both[0][0], alone(logits))
