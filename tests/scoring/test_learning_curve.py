"""Power-law fits against known curves, and where a curve reaches a goal."""

import numpy as np
import pytest

from judgepanel.scoring.descriptive import first_reached, fit_learning_curve

N = np.geomspace(20, 320, 9)


@pytest.mark.parametrize("c", [0.3, 0.8, 1.5])
@pytest.mark.parametrize("a", [0.0, 0.2])
def test_a_power_law_is_found_and_read_beyond_its_points(a, c):
    truth = a + 3.0 * N**-c
    fitted = fit_learning_curve(N, truth[None], np.full(9, 0.01))
    np.testing.assert_allclose(fitted.at(N)[0], truth, atol=2e-3)
    assert fitted.at(640)[0, 0] == pytest.approx(a + 3.0 * 640**-c, abs=5e-3)


def test_rows_are_fitted_as_if_alone():
    rng = np.random.default_rng(0)
    values = 0.3 + 2.0 / N + 0.01 * rng.normal(size=(5, 9))
    se = np.linspace(0.05, 0.01, 9)
    together = fit_learning_curve(N, values, se)
    for i in range(5):
        alone = fit_learning_curve(N, values[[i]], se)
        np.testing.assert_allclose(together.at(N)[i], alone.at(N)[0], rtol=1e-9)


def test_a_score_that_rises_or_stays_gets_a_flat_curve():
    for values in (np.linspace(0.3, 0.4, 9), np.full(9, 0.35)):
        fitted = fit_learning_curve(N, values[None], np.ones(9))
        assert fitted.b[0] == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(fitted.at(N)[0], values.mean())
        assert fitted.needed(np.array([0.2]))[0] == np.inf


def test_no_floor_is_below_zero():
    fitted = fit_learning_curve(N, (0.5 - 0.08 * np.log(N / 20))[None], np.ones(9))
    assert fitted.a[0] >= 0
    assert fitted.at(1e9)[0, 0] >= 0


def test_heavier_points_pull_the_curve():
    values = 0.3 + 2.0 / N
    values[0] += 0.2
    ignored = np.r_[10.0, np.full(8, 0.001)]
    near = fit_learning_curve(N, values[None], ignored).at(N)[0]
    np.testing.assert_allclose(near[1:], values[1:], rtol=0.002)
    assert abs(fit_learning_curve(N, values[None], np.ones(9)).at(N)[0] - values).max() > 0.005


def test_needed_inverts_the_curve_and_is_infinite_at_the_floor():
    fitted = fit_learning_curve(N, (0.2 + 3.0 / N)[None], np.ones(9))
    n = fitted.needed(np.array([0.25]))
    assert fitted.at(n)[0, 0] == pytest.approx(0.25, abs=1e-9)
    assert n[0] == pytest.approx(60, rel=0.05)
    assert fitted.needed(np.array([fitted.a[0]]))[0] == np.inf


def test_a_goal_between_two_budgets_is_read_on_the_log_scale():
    n = np.array([10.0, 40.0, 160.0])
    values = np.array([[0.6, 0.4, 0.3]])
    assert first_reached(n, values, np.array([0.5]))[0] == pytest.approx(20.0)
    assert first_reached(n, values, np.array([0.4]))[0] == pytest.approx(40.0)
    assert first_reached(n, values, np.array([0.7]))[0] == pytest.approx(10.0)
    assert first_reached(n, values, np.array([0.2]))[0] == np.inf


def test_the_first_time_counts_though_the_score_rises_again():
    n = np.array([10.0, 40.0, 160.0, 640.0])
    assert first_reached(n, np.array([[0.6, 0.4, 0.5, 0.3]]), np.array([0.45]))[0] < 40


def test_floor_and_exponent_are_hardly_told_apart_but_the_price_of_labels_is():
    rng = np.random.default_rng(0)
    n = np.geomspace(20, 200, 9)
    levels = 0.3 + 0.02 * (n / 200) ** -0.7 + rng.normal(0, 0.005, (500, 9))
    curve = fit_learning_curve(n, levels, np.full(9, 0.005))
    low, high = np.quantile(curve.c, (0.025, 0.975))
    assert low < 0.45
    assert high > 0.95
    gain = (curve.at(400.0) - curve.at(500.0))[:, 0]
    assert (gain >= 0).all()
    assert np.quantile(np.abs(gain - 0.02 * (2**-0.7 - 2.5**-0.7)), 0.95) < 0.003


def test_a_flat_truth_has_no_exponent_and_no_price():
    levels = 0.3 + np.random.default_rng(1).normal(0, 0.005, (500, 9))
    curve = fit_learning_curve(np.geomspace(20, 200, 9), levels, np.full(9, 0.005))
    assert np.quantile(curve.c, 0.975) > 2.9
    assert np.quantile((curve.at(400.0) - curve.at(500.0))[:, 0], 0.975) < 0.0015
