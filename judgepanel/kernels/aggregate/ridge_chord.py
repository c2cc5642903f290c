"""Optima along a path of ridges C by chord steps, for dense ridge fits.

A chord step is theta - H^-1 gradient, with the Hessian H of an earlier point. It costs O(n p), a
Newton step O(n p^2 + p^3). H is renewed where steps converge slowly; a new C changes its diagonal
alone. Single precision is enough for H and its factor, which decide how fast the steps converge
and not where; where it turns out not to be, H is in double precision from there on. Every C starts
from a quadratic extrapolation of the path in log C.

A step is taken if it lowers gradient^T H^-1 gradient, twice what a step promises, and halved
until it does. The objective is convex, so that this falls along -H^-1 gradient whatever H is, and
is 0 at the optimum alone: the value of the objective is never needed.

Cost of a problem with n rows, p parameters, c ridges and r renewals, about as many as ridges:
O(c n p + c p^3 + r n p^2) time, O(n + p^2) memory beside the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.ridge import PRECISION, SHAPE


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One ridge fit: the objective of :mod:`kernels.aggregate.ridge` with weighted rows.

    Attributes
    ----------
    features : float (n, p), signed, one row for all items that are alike.
    times : float (n,), how many items a row stands for.
    n_weights : parameters before tau and b.
    rate, level : of the priors of tau and b; None without that parameter.
    """

    features: Floats
    times: Floats
    n_weights: int
    rate: float | None
    level: float | None


def solve_paths(problems: Sequence[Problem], Cs: Sequence[float]) -> list[Floats]:
    """Parameters (n_C, p) of every problem at its optimum for every C, ascending."""
    ahead = aheads(Cs)
    return [_solve(problem, Cs, ahead) for problem in problems]


def _solve(problem: Problem, Cs: Sequence[float], ahead: Floats) -> Floats:
    """Parameters (n_C, p) at the optimum for every C."""
    # numba is imported by the first fit: reading and scoring votes does without it.
    from judgepanel.kernels.aggregate.ridge_steps import walk  # noqa: PLC0415

    size, place = problem.features.shape[1], 0
    optima = np.zeros((len(Cs), size))
    priors = (
        -1 if problem.rate is None else problem.n_weights,
        SHAPE,
        np.nan if problem.rate is None else float(problem.rate),
        PRECISION,
        np.nan if problem.level is None else float(problem.level),
    )
    for precision in (np.float32, np.float64):
        if place < len(Cs):
            place = walk(
                np.ascontiguousarray(problem.features),
                np.ascontiguousarray(problem.times),
                priors,
                np.asarray(Cs, dtype=np.float64),
                ahead,
                optima,
                place,
                np.zeros((size, size), dtype=precision),
            )
    return optima


def aheads(Cs: Sequence[float]) -> Floats:
    """What the optima before each C, three at most, weigh where their parabola puts it (n_C, 3)."""
    logs = np.log(np.asarray(Cs, dtype=np.float64))
    weights = np.zeros((len(logs), 3))
    for i, x in enumerate(logs):
        xs = logs[max(0, i - 3) : i]
        weights[i, : len(xs)] = _lagrange(xs, x)
    return weights


def _lagrange(xs: Floats, x: float) -> Floats:
    """What values at ``xs`` weigh in their polynomial at ``x`` (Lagrange)."""
    apart, ahead = xs[:, None] - xs, np.tile(x - xs, (len(xs), 1))
    np.fill_diagonal(apart, 1.0)
    np.fill_diagonal(ahead, 1.0)
    return np.asarray(np.prod(ahead / apart, axis=1))
