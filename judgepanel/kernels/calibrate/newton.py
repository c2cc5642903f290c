"""Damped proximal Newton in a few parameters, for many columns together.

``descend`` minimises any objective; ``elastic_newton`` minimises the quadratic model of an
objective with an L1 term and a box, in three parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints

_TOLERANCE = 1e-7
_MAX_ITERATIONS = 60


def descend(
    start: Floats,
    measure: Callable[[Floats, Ints], Floats],
    step: Callable[[Floats, Floats], Floats],
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Damped proximal Newton for all columns together: points (B, p), objectives, converged (B,).

    ``measure(x, rows)`` returns, for these columns, the objective followed by the sums from which
    ``step`` computes the next point; a step that increases the objective is halved. A step below
    the tolerance is taken and ends the iteration: convergence is quadratic, so only rounding
    remains.
    """
    x = start.copy()
    live = np.arange(len(x))
    sums = measure(x, live)
    value = sums[:, 0].copy()
    for _ in range(_MAX_ITERATIONS):
        move = step(x[live], sums) - x[live]
        last = np.abs(move).max(-1) <= _TOLERANCE * (1.0 + np.abs(x[live]).max(-1))
        x[live[last]] += move[last]
        live, move = live[~last], move[~last]
        if not len(live):
            break
        sums = _damped(x, value, live, move, measure)
    converged = np.ones(len(x), dtype=bool)
    converged[live] = False
    return x, value, converged


def _damped(
    x: Floats,
    value: Floats,
    live: Ints,
    move: Floats,
    measure: Callable[[Floats, Ints], Floats],
) -> Floats:
    """Move the live columns in place, each by the longest halved step that does not increase."""
    base = x[live]
    sums = measure(base + move, live)
    ceiling = value[live] + 1e-13 * (1.0 + np.abs(value[live]))
    for _ in range(40):
        climbed = np.flatnonzero(~(sums[:, 0] <= ceiling))
        if not len(climbed):
            break
        move[climbed] *= 0.5
        sums[climbed] = measure((base + move)[climbed], live[climbed])
    x[live] = base + move
    value[live] = np.minimum(value[live], sums[:, 0])
    return sums


def elastic_newton(
    x: Floats,
    gradient: Floats,
    hessian: Floats,
    lasso: Floats,
    centre: Floats,
    low: Floats,
    high: Floats,
) -> Floats:
    """Minimise the quadratic model plus lasso |y - centre|_1 in the box, (B, 3); lasso is (B,).

    One linear solve moves the coordinates that are free at ``x`` to their optimum. If that guess of
    the free coordinates violates an optimality condition, the column goes as far towards it as no
    coordinate crosses a kink or a bound, and guesses again after two sweeps of cyclic descent.
    """
    y = x.copy()
    slope = gradient.copy()
    live = np.arange(len(x))
    for _ in range(25):
        part, tilt, bent, pull = y[live], slope[live], hessian[live], lasso[live]
        solved, right = _solve_free(part, tilt, bent, pull, centre, low, high)
        y[live[right]] = solved[right]
        if right.all():
            break
        wrong = ~right
        live, bent = live[wrong], bent[wrong]
        near = _towards(part[wrong], solved[wrong], centre, low, high)
        tilt = tilt[wrong] + _times(bent, near - part[wrong])
        y[live], slope[live], largest = _sweep(near, tilt, bent, pull[wrong], centre, low, high)
        live = live[largest >= 1e-11]
        if not len(live):
            break
    return y


def _towards(y: Floats, goal: Floats, centre: Floats, low: Floats, high: Floats) -> Floats:
    """Points (B, 3) on the way from y to a goal, where the first coordinate meets a kink or bound.

    That coordinate is put exactly there; the quadratic model falls up to that point.
    """
    move = goal - y
    ends = np.where((centre - y) * move > 0.0, centre, np.where(move > 0.0, high, low))
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(move == 0.0, np.inf, (ends - y) / move)
    length = np.minimum(reach.min(axis=-1, keepdims=True), 1.0)
    return np.where(reach <= length, ends, y + length * move)


def _sweep(
    y: Floats,
    slope: Floats,
    hessian: Floats,
    lasso: Floats,
    centre: Floats,
    low: Floats,
    high: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Two sweeps of cyclic descent: return the point, its slope and the largest move (B,)."""
    largest = np.zeros(len(y))
    for i in (0, 1, 2, 0, 1, 2):
        bend = hessian[:, i, i]
        target = shrink(y[:, i] - slope[:, i] / bend - centre[i], lasso / bend)
        target = np.clip(target + centre[i], low[i], high[i])
        move = target - y[:, i]
        y[:, i] = target
        slope += hessian[:, i] * move[:, None]
        largest = np.maximum(largest, np.abs(move))
    return y, slope, largest


def _solve_free(
    y: Floats,
    slope: Floats,
    hessian: Floats,
    lasso: Floats,
    centre: Floats,
    low: Floats,
    high: Floats,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Optimum (B, 3) with coordinates at kinks and bounds of ``y`` fixed, and validity (B,)."""
    side = np.sign(y - centre)
    kinked = lasso[:, None] > 0
    held = (kinked & (side == 0)) | (y <= low) | (y >= high)
    pull = slope + lasso[:, None] * side
    pair = ~held[:, :, None] & ~held[:, None, :]
    move = np.linalg.solve(
        np.where(pair, hessian, np.eye(3)), np.where(held, 0.0, -pull)[:, :, None]
    )[:, :, 0]
    solved = y + move
    after = slope + _times(hessian, move)
    slack = 1e-12 * (1.0 + np.abs(after))
    same_side = (np.sign(solved - centre) == side) | ~kinked
    free_right = same_side & (solved >= low) & (solved <= high)
    at_kink = (np.abs(after) <= lasso[:, None] + slack) & (side == 0)
    leaves = after + lasso[:, None] * side
    at_bound = ((y <= low) & (leaves >= -slack)) | ((y >= high) & (leaves <= slack))
    return solved, np.where(held, at_kink | at_bound, free_right).all(-1)


def _times(hessian: Floats, move: Floats) -> Floats:
    """Products (B, 3), not by BLAS: some of its kernels round by where in memory a row begins."""
    return np.asarray(sum(hessian[:, :, i] * move[:, i, None] for i in range(3)))


def shrink(x: Floats, by: Floats) -> Floats:
    """Soft threshold: move towards 0 by ``by``, stopping at 0."""
    return np.asarray(np.sign(x) * np.maximum(np.abs(x) - by, 0.0))
