"""Accelerated fixed points: linear maps in a few steps, and non-convergence is reported."""

import numpy as np
import pytest

from judgepanel.kernels.irt import fixed_point


def contraction(seed, n=12, rate=0.999):
    """A linear map with a known fixed point and rates up to ``rate``."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = basis @ np.diag(np.append(np.linspace(0, 0.1, n - 3), [0.9, 0.99, rate])) @ basis.T
    goal = rng.normal(size=n)
    return (lambda x, iteration: (goal + matrix @ (x - goal), np.ones(n))), goal


@pytest.mark.parametrize("seed", range(4))
def test_slow_directions_are_crossed_in_a_few_steps(seed):
    update, goal = contraction(seed)
    point = fixed_point(update, np.zeros(12), plain=2, tolerance=1e-10, max_iterations=40)
    assert point.converged
    np.testing.assert_allclose(point.point, goal, atol=1e-6)


def test_plain_updates_alone_would_not_get_there():
    update, goal = contraction(0)
    point = fixed_point(update, np.zeros(12), plain=40, tolerance=1e-10, max_iterations=40)
    assert not point.converged
    assert np.abs(point.point - goal).max() > 0.1


def test_an_update_without_a_fixed_point_ends_and_says_so():
    point = fixed_point(
        lambda x, _: (x + 1.0, np.ones(1)), np.zeros(1), plain=2, tolerance=1e-6, max_iterations=25
    )
    assert not point.converged
    assert point.iterations == 25
    assert np.isfinite(point.point).all()


def test_a_nonlinear_map_is_solved():
    point = fixed_point(
        lambda x, _: (np.cos(x), np.ones(1)),
        np.zeros(1),
        plain=1,
        tolerance=1e-12,
        max_iterations=50,
    )
    assert point.converged
    assert point.point[0] == pytest.approx(0.7390851332151607, abs=1e-10)
