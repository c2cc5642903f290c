"""Ridge logistic regression on votes, many at once: the objective of stacking and joint.

For parameters theta = (weights, tau, b), of which tau and b may be absent, and rows a of a design
that are multiplied by the label's sign, a fit minimises

    sum_i softplus(-a_i theta) + |weights|^2 / (2 C) + (rate tau - SHAPE log tau)
        + PRECISION (b - level)^2 / 2.

It is convex, and every term after the first is a log prior, so that perfect separation and
one-class labels have a finite optimum: the weights are normal with variance C, tau > 0 is gamma
distributed with mean (1 + SHAPE) / rate, and b is normal. What a judge's vote counts may be held
at 0 or above (:mod:`kernels.aggregate.ridge_bounds`); the optimum is unique then, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.ridge_bounds import Face, Floor
from judgepanel.kernels.calibrate.maps import sigmoid, softplus

SHAPE = 0.3
PRECISION = 20.0
_TOLERANCE = 1e-7  # of the Newton decrement, in nats of the summed objective, at the last step
_MAX_ITERATIONS = 60
_SHRINKS = 40
_SHARE = 1e-4  # of what the slope promises, that a step must get


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Which parameters B problems have, and their priors.

    ``n_weights`` come first, then tau where ``rate`` (B,) is given, then b where ``level`` (B,) is.
    """

    n_weights: int
    rate: Floats | None
    level: Floats | None

    @property
    def size(self) -> int:
        return self.n_weights + (self.rate is not None) + (self.level is not None)

    def start(self, problems: int) -> Floats:
        """Where a path begins, (B, p): tau and b at their prior means, no weights."""
        theta = np.zeros((problems, self.size))
        if self.rate is not None:
            theta[:, self.n_weights] = (1.0 + SHAPE) / self.rate
        if self.level is not None:
            theta[:, -1] = self.level
        return theta

    def penalty(self, theta: Floats, C: float) -> Floats:
        """The log priors (B,) of theta (B, p), negated and up to constants."""
        weights = theta[:, : self.n_weights]
        total = np.vecdot(weights, weights) / (2.0 * C)
        if self.rate is not None:
            tau = theta[:, self.n_weights]
            total += self.rate * tau - SHAPE * np.log(tau)
        if self.level is not None:
            total += PRECISION * (theta[:, -1] - self.level) ** 2 / 2.0
        return np.asarray(total)

    def slopes(self, theta: Floats, C: float) -> tuple[Floats, Floats]:
        """First and second derivatives (B, p) of the penalty; it is separable."""
        slope, bend = theta / C, np.full(theta.shape, 1.0 / C)
        if self.rate is not None:
            tau = theta[:, self.n_weights]
            slope[:, self.n_weights] = self.rate - SHAPE / tau
            bend[:, self.n_weights] = SHAPE / tau**2
        if self.level is not None:
            slope[:, -1] = PRECISION * (theta[:, -1] - self.level)
            bend[:, -1] = PRECISION
        return slope, bend

    def inside(self, theta: Floats, near: Floats) -> Floats:
        """The parameters (B, p), with tau at least a tenth of what it is in ``near``."""
        if self.rate is None:
            return theta
        inside, tau = theta.copy(), self.n_weights
        inside[:, tau] = np.maximum(theta[:, tau], 0.1 * near[:, tau])
        return inside

    def reach(self, theta: Floats, move: Floats) -> Floats:
        """Step lengths (B,), at most 1, that leave a tenth of tau."""
        if self.rate is None:
            return np.ones(len(theta))
        fall = -move[:, self.n_weights] / theta[:, self.n_weights]
        return np.asarray(np.where(fall > 0.9, 0.9 / np.maximum(fall, 0.9), 1.0))


class Design(Protocol):
    """Signed features of B problems with n rows and p parameters each."""

    def forward(self, theta: Floats) -> Floats:
        """Margins (B, n) of parameters (B, p)."""

    def backward(self, rows: Floats) -> Floats:
        """Sums over rows (B, p) of the features times a number per row (B, n)."""

    def solve(
        self, curvature: Floats, diagonal: Floats, right: Floats, face: Face | None = None
    ) -> Floats:
        """x (B, p) with (A^T diag(curvature) A + diag(diagonal)) x = right; the best x of a face
        where one is given.
        """


def minimise(
    design: Design, prior: Prior, C: float, start: Floats, floor: Floor | None = None
) -> Floats:
    """Parameters (B, p) at the optimum for one C, by damped Newton steps from ``start``.

    A problem is done after a full step that promised less than the tolerance; as convergence is
    quadratic, what remains is rounding. It then stays where it is, so that no other problem of
    the batch moves a bit of it. Under a ``floor`` steps are projected (Bertsekas 1982,
    doi:10.1137/0320018): they stay on the bounds that bind, and end at those they would cross.
    """
    if floor is not None:
        start = floor.above(start)
    at = Point.at(design, prior, C, start)
    ended = np.zeros(len(start), dtype=bool)
    for _ in range(_MAX_ITERATIONS):
        wrong = sigmoid(-at.margins)
        slope, bend = prior.slopes(at.theta, C)
        gradient = slope - design.backward(wrong)
        face = None if floor is None else floor.face(at.theta, gradient)
        move = design.solve(wrong * (1.0 - wrong), bend, -gradient, face)
        promise = -np.vecdot(gradient, move)
        length = np.where(ended, 0.0, prior.reach(at.theta, move))
        if floor is None or face is None:
            path = line(design, prior, C, at, move, promise)
        else:
            path = _arc(design, prior, C, at, move, gradient, floor, face)
        at = stepped(at, path, length)
        ended |= (promise <= 2.0 * _TOLERANCE) & (length == 1.0)
        if ended.all():
            break
    return at.theta


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Parameters (B, p), their margins (B, n) and the objective (B,)."""

    theta: Floats
    margins: Floats
    value: Floats

    @classmethod
    def at(cls, design: Design, prior: Prior, C: float, theta: Floats) -> Point:
        """The point of parameters (B, p)."""
        return cls.of(prior, C, theta, design.forward(theta))

    @classmethod
    def of(cls, prior: Prior, C: float, theta: Floats, margins: Floats) -> Point:
        """The point of parameters whose margins are known."""
        value = softplus(-margins).sum(axis=-1) + prior.penalty(theta, C)
        return cls(theta, margins, np.asarray(value))


Path = Callable[[Floats], tuple[Point, Floats]]
"""From step lengths (B,) to a point, and by how much (B,) it must be lower to be taken."""


def line(design: Design, prior: Prior, C: float, at: Point, move: Floats, promise: Floats) -> Path:
    """Straight on along a move that promises to fall by ``promise`` (B,)."""
    change = design.forward(move)

    def path(length: Floats) -> tuple[Point, Floats]:
        theta = at.theta + length[:, None] * move
        there = Point.of(prior, C, theta, at.margins + length[:, None] * change)
        return there, np.asarray(_SHARE * length * promise)

    return path


def _arc(
    design: Design,
    prior: Prior,
    C: float,
    at: Point,
    move: Floats,
    gradient: Floats,
    floor: Floor,
    face: Face,
) -> Path:
    """Along a move, and on the bounds from where it meets them."""

    def path(length: Floats) -> tuple[Point, Floats]:
        ahead = floor.above(at.theta + length[:, None] * move, face)
        theta = np.where(length[:, None] > 0.0, ahead, at.theta)
        fall = _SHARE * np.vecdot(gradient, at.theta - theta)
        return Point.at(design, prior, C, theta), np.asarray(fall)

    return path


def stepped(at: Point, path: Path, length: Floats) -> Point:
    """The next point: steps are halved where they do not descend, and not taken if none does."""
    slack = 1e-12 * (1.0 + np.abs(at.value))
    for _ in range(_SHRINKS):
        there, fall = path(length)
        climbed = ~(there.value <= at.value - fall + slack)
        if not climbed.any():
            return there
        length = np.where(climbed, length / 2.0, length)
    stay = climbed[:, None]
    return Point(
        np.where(stay, at.theta, there.theta),
        np.where(stay, at.margins, there.margins),
        np.where(climbed, at.value, there.value),
    )
