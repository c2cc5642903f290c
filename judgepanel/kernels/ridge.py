"""Ridge logistic regression on votes, many at once: the objective of stacking and joint.

For parameters theta = (weights, tau, b), of which tau and b may be absent, and rows a of a design
that are multiplied by the label's sign, a fit minimises

    sum_i softplus(-a_i theta) + |weights|^2 / (2 C) + (rate tau - SHAPE log tau)
        + PRECISION (b - level)^2 / 2.

It is convex, and every term after the first is a log prior, so that perfect separation and
one-class labels have a finite optimum: the weights are normal with variance C, tau > 0 is gamma
distributed with mean (1 + SHAPE) / rate, and b is normal. What a judge's vote counts may be held
at 0 or above (:mod:`kernels.ridge`); the optimum is unique then, too.

Weights that may not fall below zero, for many ridge fits at once.

What a vote counts in all is w_j = delta_j + tau base_j: a correction, and a share of the judge's
one-coin weight. The bound w_j >= 0 ties delta_j to tau. While it binds, a Newton step moves both
together: delta_j falls by base_j as tau rises by 1, and w_j stays 0.

Optima along a path of ridges C by chord steps, for dense ridge fits.

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

Features of ridge fits, dense in batches or sparse one by one, and their Newton systems.

Optima along a path of ridges C, for many ridge fits at once.

Dense designs without bounds take chord steps (:mod:`kernels.ridge`). What is sparse
or bounded takes Newton steps (:func:`kernels.ridge.minimise`). Without bounds every C
starts from a quadratic extrapolation of the path in log C.

A :data:`Design` has signed features of B problems with n rows and p parameters each.

``forward`` gives margins (B, n) of parameters (B, p), and ``backward`` sums over rows (B, p) of the
features times a number per row (B, n). ``solve`` gives x (B, p) with
(A^T diag(curvature) A + diag(diagonal)) x = right; the best x of a face where one is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats
from judgepanel.kernels.ballots import Sparse
from judgepanel.kernels.maps import sigmoid, softplus
from judgepanel.scoring.metrics import single_product

_ON_BOUND = 1e-9
"""Weights up to here are held, and set to 0, where a larger weight would raise the objective."""


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """Whose weights are at least 0, in B problems of k judges.

    ``bounded`` (B, k) says who; ``base`` (B, k) are one-coin weights. ``tau`` is the position of
    tau among the parameters, None where there is none.
    """

    bounded: Bools
    base: Floats
    tau: int | None

    def weights(self, theta: Floats) -> Floats:
        """What a vote of each judge counts in all, (B, k), of parameters (B, p)."""
        return np.asarray(theta[:, : self.base.shape[1]] + self._of_tau(theta))

    def face(self, theta: Floats, gradient: Floats) -> Face:
        """Where the next step stays: the bounds that hold, and that it would pay to cross."""
        on_bound = self.bounded & (self.weights(theta) <= _ON_BOUND)
        return Face(self, on_bound & (gradient[:, : self.base.shape[1]] > 0.0))

    def above(self, theta: Floats, face: Face | None = None) -> Floats:
        """The parameters (B, p) with weights below the bounds, and those a face holds, set to 0."""
        low = self.bounded & (self.weights(theta) < 0.0)
        if face is not None:
            low |= face.held
        above = theta.copy()
        k = self.base.shape[1]
        above[:, :k] = np.where(low, -self._of_tau(theta), theta[:, :k])
        return above

    def _of_tau(self, theta: Floats) -> Floats:
        if self.tau is None:
            return np.zeros_like(self.base)
        return np.asarray(theta[:, self.tau, None] * self.base)


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """Moves that keep the weights of ``held`` judges (B, k) at 0.

    A move is given by its free parameters (B, p); those of held judges are not read.
    """

    floor: Floor
    held: Bools

    def lift(self, free: Floats) -> Floats:
        """The move (B, p) of free parameters (B, p)."""
        move, k, tau = free.copy(), self.held.shape[1], self.floor.tau
        move[:, :k][self.held] = 0.0
        if tau is not None:
            move[:, :k] -= self.held * self.floor.base * free[:, tau, None]
        return move

    def drop(self, slope: Floats) -> Floats:
        """Slopes (B, p) or (B, m, p) in free parameters: the transpose of :meth:`lift`."""
        free, k, tau = slope.copy(), self.held.shape[1], self.floor.tau
        held, base = self.held, self.floor.base
        if slope.ndim == 3:
            held, base = held[:, None], base[:, None]
        free[..., :k] *= ~held
        if tau is not None:
            free[..., tau] -= np.vecdot(held * base, slope[..., :k])
        return free

    def reduced(self, hessian: Floats) -> Floats:
        """A Hessian (B, p, p) in free parameters, that of the identity for held judges."""
        smaller = self.drop(self.drop(hessian).transpose(0, 2, 1))
        place = np.arange(self.held.shape[1])
        smaller[:, place, place] += self.held
        return smaller


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


Design: TypeAlias = "DenseDesign | SparseDesign"


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
    theta = np.where(stay, at.theta, there.theta)
    margins = np.where(stay, at.margins, there.margins)
    return Point(theta, margins, np.where(climbed, at.value, there.value))


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One ridge fit: the objective of :mod:`kernels.ridge` with weighted rows.

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
    from judgepanel.kernels.compiled import walk  # noqa: PLC0415

    size, place = problem.features.shape[1], 0
    optima, ridges = np.zeros((len(Cs), size)), np.asarray(Cs, dtype=np.float64)
    rows = np.ascontiguousarray(problem.features), np.ascontiguousarray(problem.times)
    priors = (
        -1 if problem.rate is None else problem.n_weights,
        SHAPE,
        np.nan if problem.rate is None else float(problem.rate),
        PRECISION,
        np.nan if problem.level is None else float(problem.level),
    )
    for precision in (np.float32, np.float64):
        if place < len(Cs):
            product = np.zeros((size, size), dtype=precision)
            place = walk(*rows, priors, ridges, ahead, optima, place, product)
    return optima


def aheads(Cs: Sequence[float]) -> Floats:
    """What the optima before each C, three at most, weigh where their parabola puts it (n_C, 3)."""
    logs = np.log(np.asarray(Cs, dtype=np.float64))
    weights = np.zeros((len(logs), 3))
    for i, x in enumerate(logs):
        # What values at ``xs`` weigh in their polynomial at ``x`` (Lagrange).
        xs = logs[max(0, i - 3) : i]
        apart, ahead = xs[:, None] - xs, np.tile(x - xs, (len(xs), 1))
        np.fill_diagonal(apart, 1.0)
        np.fill_diagonal(ahead, 1.0)
        weights[i, : len(xs)] = np.prod(ahead / apart, axis=1)
    return weights


_CG_TOLERANCE = 1e-4
_CG_STEPS = 200
_ROUNDING = 1e-5
"""Share by which the diagonal of a block in single precision is raised, so that rounding leaves it
positive definite."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseDesign:
    """Features (B, n, p) of B problems; those with fewer than n rows are padded by zeros.

    ``single`` are the rows (n_b, p) of each problem in single precision: enough for the Hessians
    of steps, which decide how fast they converge and not where.
    """

    features: Floats
    single: tuple[NDArray[np.float32], ...]

    @classmethod
    def of(cls, parts: Sequence[Floats]) -> DenseDesign:
        """Problems of p parameters, each with its own number of rows (n_b, p)."""
        features = np.zeros((len(parts), max(map(len, parts)), parts[0].shape[1]))
        for padded, part in zip(features, parts, strict=True):
            padded[: len(part)] = part
        return cls(features, tuple(part.astype(np.float32) for part in parts))

    def forward(self, theta: Floats) -> Floats:
        return np.asarray(np.matmul(self.features, theta[:, :, None])[:, :, 0])

    def backward(self, rows: Floats) -> Floats:
        return np.asarray(np.matmul(rows[:, None, :], self.features)[:, 0, :])

    def product(self, curvature: Floats) -> Floats:
        """A^T diag(curvature) A, (B, p, p)."""
        scaled = self.features * np.sqrt(curvature)[:, :, None]
        return np.asarray(np.matmul(scaled.transpose(0, 2, 1), scaled))

    def solve(
        self, curvature: Floats, diagonal: Floats, right: Floats, face: Face | None = None
    ) -> Floats:
        hessian = np.empty((*diagonal.shape, diagonal.shape[1]))
        root = np.sqrt(curvature).astype(np.float32)
        for product, rows, often in zip(hessian, self.single, root, strict=True):
            scaled = rows * often[: len(rows), None]
            product[:] = single_product(scaled.T, scaled)
        place = np.arange(hessian.shape[-1])
        hessian[:, place, place] += diagonal
        if face is not None:
            hessian, right = face.reduced(hessian), face.drop(right)
        x = np.asarray(np.linalg.solve(hessian, right[:, :, None])[:, :, 0], dtype=np.float64)
        return x if face is None else face.lift(x)


@dataclass(frozen=True, slots=True, eq=False)
class SparseDesign:
    """One problem with many judges who voted on few items each.

    The features are ``votes`` (n, k) minus the products of ``signs`` (n,) and ``centre`` (k,), and
    ``beside`` (n, q); ``across`` (k, n) are the votes of each judge, ``squares`` (k, n) their
    squares. Newton systems are solved by conjugate gradients, preconditioned by the diagonal of
    the votes and the block of the others, for which ``single`` precision of ``beside`` is enough.
    """

    votes: Sparse
    across: Sparse
    squares: Sparse
    signs: Floats
    centre: Floats
    beside: Floats
    single: NDArray[np.float32]

    @classmethod
    def of(cls, votes: Sparse, signs: Floats, centre: Floats, beside: Floats) -> SparseDesign:
        """The design of votes that are already times ``signs``."""
        across = scipy.sparse.csr_array(votes.T)
        squares = scipy.sparse.csr_array(
            (across.data * across.data, across.indices, across.indptr), across.shape
        )
        return cls(votes, across, squares, signs, centre, beside, beside.astype(np.float32))

    def forward(self, theta: Floats) -> Floats:
        weights, others = theta[0, : len(self.centre)], theta[0, len(self.centre) :]
        level = float(self.centre @ weights)
        return np.asarray(self.votes @ weights - self.signs * level + self.beside @ others)[None]

    def backward(self, rows: Floats) -> Floats:
        votes = self.across @ rows[0] - self.centre * float(self.signs @ rows[0])
        return np.concatenate([votes, rows[0] @ self.beside])[None]

    def solve(
        self, curvature: Floats, diagonal: Floats, right: Floats, face: Face | None = None
    ) -> Floats:
        k, size = len(self.centre), diagonal.shape[1]
        weight = self.squares @ curvature[0] + diagonal[0, :k]
        scaled = self.single * np.sqrt(curvature[0]).astype(np.float32)[:, None]
        block = single_product(scaled.T, scaled)
        block = block + np.diag(diagonal[0, k:] + _ROUNDING * np.diag(block))
        factor = scipy.linalg.cho_factor(block) if size > k else None

        def product(x: Floats) -> Floats:
            along = x[None] if face is None else face.lift(x[None])
            slope = self.backward(curvature * self.forward(along)) + diagonal * along
            return np.asarray((slope if face is None else face.drop(slope))[0])

        def nearby(x: Floats) -> Floats:
            rest = x[k:] if factor is None else scipy.linalg.cho_solve(factor, x[k:])
            return np.concatenate([x[:k] / weight, rest])

        hessian = scipy.sparse.linalg.LinearOperator((size, size), matvec=product, dtype=float)
        easier = scipy.sparse.linalg.LinearOperator((size, size), matvec=nearby, dtype=float)
        # Short of its tolerance the step still descends, and the outer iteration goes on.
        goal = right if face is None else face.drop(right)
        solution, _ = scipy.sparse.linalg.cg(
            hessian, goal[0], rtol=_CG_TOLERANCE, maxiter=_CG_STEPS, M=easier
        )
        x = np.asarray(solution, dtype=np.float64)[None]
        return x if face is None else face.lift(x)


def solve_path(
    design: Design,
    prior: Prior,
    Cs: Sequence[float],
    floor: Floor | None = None,
    *,
    problems: int = 1,
) -> Floats:
    """Parameters (n_C, B, p) at the optimum of B ``problems`` for every C, ascending."""
    if isinstance(design, DenseDesign) and floor is None:
        batch = []
        for b, features in enumerate(design.features):
            rate = None if prior.rate is None else float(prior.rate[b])
            level = None if prior.level is None else float(prior.level[b])
            batch.append(Problem(features, np.ones(len(features)), prior.n_weights, rate, level))
        return np.stack(solve_paths(batch, Cs), axis=1)
    optima: list[Floats] = []
    for C, share in zip(Cs, aheads(Cs), strict=True):
        start = prior.start(problems)
        if optima and floor is not None:
            start = optima[-1]
        elif optima:
            last = np.stack(optima[-3:])
            start = prior.inside(np.tensordot(share[: len(last)], last, axes=1), optima[-1])
        optima.append(minimise(design, prior, C, start, floor))
    return np.stack(optima)
