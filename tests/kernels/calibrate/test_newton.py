"""The quadratic model with kinks and a box: every point returned is the optimum."""

import itertools

import numpy as np
import pytest

from judgepanel.kernels.maps import IDENTITY, Box, elastic_newton

LOW, HIGH = np.array([0.0, -np.inf, -np.inf]), np.array([np.inf, 0.0, np.inf])


def models(seed, n):
    """Points in the box, some at kinks or bounds; slopes, curvatures and lassos of n models."""
    rng = np.random.default_rng(seed)
    x = np.clip(IDENTITY + rng.normal(size=(n, 3)) * rng.choice([0.0, 0.3, 3.0], (n, 3)), LOW, HIGH)
    factor = rng.normal(size=(n, 3, 3))
    hessian = factor.transpose(0, 2, 1) @ factor + np.eye(3) * 1e-2
    return x, rng.normal(size=(n, 3)), hessian, rng.choice([5e-5, 0.05, 0.5], n)


def value(y, x, slope, hessian, lasso):
    move = y - x
    return slope @ move + move @ hessian @ move / 2.0 + lasso * np.abs(y - IDENTITY).sum()


def lowest(x, slope, hessian, lasso):
    """The lowest value over all ways to hold coordinates at a kink or bound, or on one side."""
    best = np.inf
    for sides in itertools.product((-1, 0, 1, None), repeat=3):
        y = np.where([side == 0 for side in sides], IDENTITY, 0.0)  # None: at the bound
        free = [i for i, side in enumerate(sides) if side in (-1, 1)]
        if sides[2] is None:
            continue
        move = y - x
        pull = slope[free] + lasso * np.array([sides[i] for i in free])
        held = [i for i in range(3) if i not in free]
        y[free] = x[free] + np.linalg.solve(
            hessian[np.ix_(free, free)], -pull - hessian[np.ix_(free, held)] @ move[held]
        )
        if (y >= LOW).all() and (y <= HIGH).all():
            best = min(best, value(y, x, slope, hessian, lasso))
    return best


def test_every_column_ends_at_the_lowest_point_of_the_box():
    x, slope, hessian, lasso = models(0, 300)
    y = elastic_newton(x, slope, hessian, lasso, Box(IDENTITY, LOW, HIGH))
    assert (y >= LOW).all()
    assert (y <= HIGH).all()
    for own in zip(y, x, slope, hessian, lasso, strict=True):
        expected = lowest(*own[1:])
        assert value(*own) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_column_moves_no_bit_of_another():
    arrays = models(1, 40)
    together = elastic_newton(*arrays, Box(IDENTITY, LOW, HIGH))
    for b in range(40):
        alone = elastic_newton(*(part[b : b + 1] for part in arrays), Box(IDENTITY, LOW, HIGH))
        np.testing.assert_array_equal(alone[0], together[b])
