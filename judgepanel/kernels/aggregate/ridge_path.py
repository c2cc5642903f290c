"""Optima along a path of ridges C, for many ridge fits at once.

Dense designs without bounds take chord steps: theta - H^-1 gradient, with the Hessian H of an
earlier point. Such a step costs O(n p), a Newton step O(n p^2 + p^3). H is renewed for the problems
that converge slowly; a new C changes its diagonal alone. Single precision is enough for H, which
decides how fast the steps converge and not where. Every C starts from a quadratic
extrapolation of the path in log C. What is sparse or bounded takes Newton steps
(:func:`kernels.aggregate.ridge.minimise`).

Cost of B problems with n rows, p parameters, c ridges and r renewals, most often r < c:
O(B (c n p + c p^3 + r n p^2)) time, O(B (n p + p^2)) memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.ridge import Design, Floats, Point, Prior, line, minimise, stepped
from judgepanel.kernels.aggregate.ridge_bounds import Floor
from judgepanel.kernels.aggregate.ridge_design import DenseDesign
from judgepanel.kernels.calibrate.maps import sigmoid
from judgepanel.scoring.single import single_product

Index = NDArray[np.intp]

_TOLERANCE = 1e-17
"""What the last step may promise, in nats of the summed objective. What remains is less by the rate
of convergence: logits end within 1e-8 of the optimum."""
_SLOW = 0.01  # of what the step before promised
_MAX_STEPS = 200


def solve_path(
    design: Design,
    prior: Prior,
    Cs: Sequence[float],
    floor: Floor | None = None,
    *,
    problems: int = 1,
) -> Floats:
    """Parameters (n_C, B, p) at the optimum of B ``problems`` for every C, ascending."""
    optima: list[Floats] = []
    chord = _Chord(design, prior) if isinstance(design, DenseDesign) and floor is None else None
    for C in Cs:
        if chord is not None:
            start = _ahead(design, prior, Cs, optima) if optima else prior.start(problems)
            optima.append(chord.minimise(C, start))
        else:
            start = optima[-1] if optima else prior.start(problems)
            optima.append(minimise(design, prior, C, start, floor))
    return np.stack(optima)


def _ahead(design: Design, prior: Prior, Cs: Sequence[float], optima: list[Floats]) -> Floats:
    """Where to start for the next C: ahead on the parabola through the last three optima, or at the
    last of them where that is better.
    """
    C, last = Cs[len(optima)], optima[-1]
    near = np.log(Cs[max(0, len(optima) - 3) : len(optima)])
    ahead = prior.inside(_extrapolated(near, optima[-3:], float(np.log(C))), last)
    better = Point.at(design, prior, C, ahead).value < Point.at(design, prior, C, last).value
    return np.where(better[:, None], ahead, last)


def _extrapolated(xs: Floats, values: list[Floats], x: float) -> Floats:
    """The polynomial through values at xs, at x (Lagrange)."""
    total = np.zeros_like(values[0])
    for i, value in enumerate(values):
        others = np.delete(xs, i)
        total += np.prod((x - others) / (xs[i] - others)) * value
    return total


class _Chord:
    """Chord steps of B problems, with what they keep from one C to the next."""

    def __init__(self, design: DenseDesign, prior: Prior) -> None:
        problems, _, size = design.features.shape
        self._design, self._prior = design, prior
        self._single = design.features.astype(np.float32)
        self._product = np.zeros((problems, size, size))
        self._factor = np.zeros((problems, size, size))
        self._begun = False

    def minimise(self, C: float, start: Floats) -> Floats:
        """The optimum (B, p) for a C."""
        design, prior = self._design, self._prior
        at = Point.at(design, prior, C, start)
        ended = np.zeros(len(start), dtype=bool)
        before = np.full(len(start), np.inf if self._begun else -np.inf)
        if self._begun:
            self._factorise(np.arange(len(start)), prior.slopes(start, C)[1])
        for _ in range(_MAX_STEPS):
            wrong = sigmoid(-at.margins)
            slope, bend = prior.slopes(at.theta, C)
            gradient = slope - design.backward(wrong)
            move, promise = self._step(gradient) if self._begun else (gradient, -before)
            slow = np.flatnonzero(~ended & ~(promise <= _SLOW * before))
            if len(slow):
                scale = np.sqrt((wrong[slow] * (1.0 - wrong[slow])).astype(np.float32))
                scaled = self._single[slow] * scale[:, :, None]
                self._product[slow] = single_product(scaled.transpose(0, 2, 1), scaled)
                self._factorise(slow, bend)
                self._begun = True
                move, promise = self._step(gradient)
            length = np.where(ended, 0.0, prior.reach(at.theta, move))
            at = stepped(at, line(design, prior, C, at, move, promise), length)
            ended |= (promise <= _TOLERANCE) & (length == 1.0)
            if ended.all():
                break
            before = promise
        return at.theta

    def _step(self, gradient: Floats) -> tuple[Floats, Floats]:
        """The moves (B, p), and what they promise (B,)."""
        solved = [
            scipy.linalg.lapack.dpotrs(factor.T, slope, lower=0)[0]
            for factor, slope in zip(self._factor, gradient, strict=True)
        ]
        move = -np.stack(solved)
        return move, np.asarray(-np.vecdot(gradient, move))

    def _factorise(self, which: Index, bend: Floats) -> None:
        hessian = self._product[which]
        place = np.arange(hessian.shape[-1])
        hessian[:, place, place] += bend[which]
        self._factor[which] = np.linalg.cholesky(hessian)
