"""Optima along a path of ridges C by chord steps, for many dense ridge fits at once.

A chord step is theta - H^-1 gradient, with the Hessian H of an earlier point. It costs O(n p), a
Newton step O(n p^2 + p^3). H is renewed where steps converge slowly; a new C changes its diagonal
alone. Single precision is enough for H and its factor, which decide how fast the steps converge
and not where. Every C starts from a quadratic extrapolation of the path in log C.

A step is taken if it lowers gradient^T H^-1 gradient, twice what a step promises, and halved
until it does. The objective is convex, so that this falls along -H^-1 gradient whatever H is, and
is 0 at the optimum alone: the value of the objective is never needed.

Problems of a batch differ in size, and each goes along its path at its own pace. They share calls
on small arrays and nothing else. Products and systems are each problem's own, so that nobody in a
batch moves a bit of another.

Rows of a large problem are read in blocks that stay in the cache between the two products of a
step.

Cost of a problem with n rows, p parameters, c ridges and r renewals, about as many as ridges:
O(c n p + c p^3 + r n p^2) time, O(n + p^2) memory beside the features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # LAPACK is imported by the first fit: reading and scoring votes does without it.
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.ridge import PRECISION, SHAPE, Floats
from judgepanel.kernels.calibrate.maps import sigmoid
from judgepanel.scoring.single import single_product

Index = NDArray[np.intp]
Bools = NDArray[np.bool_]

_TOLERANCE = 1e-17
"""What the last step may promise, in nats of the summed objective, twice over. What remains is less
by the rate of convergence: logits end within 1e-8 of the optimum."""
_SLOW = 0.01  # of what the step before promised
_MAX_STEPS, _MAX_SINGLE = 200, 30
_BLOCK_CELLS = 600_000


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
    optima = [np.zeros((len(Cs), problem.features.shape[1])) for problem in problems]
    walk = _Walk(problems, Cs, optima)
    while walk.underway:
        walk.step()
    return optima


class _Chord:
    """The Hessian of one problem: its product at an earlier point, and the factor for a C.

    Both are in single precision until that turns out not to be enough.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._single = True
        self._product: NDArray[Any] = np.eye(problem.features.shape[1], dtype=np.float32)
        self._factor = self._product

    def solved(self, gradient: Floats) -> Floats:
        """H^-1 gradient."""
        lapack = scipy.linalg.lapack
        solve = lapack.spotrs if self._factor.dtype == np.float32 else lapack.dpotrs
        move: Floats = solve(self._factor, gradient, lower=0)[0]
        return move

    def renew(self, wrong: Floats, C: float, theta: Floats, *, single: bool) -> None:
        """The Hessian at a point where rows have these weights in the gradient."""
        curvature = wrong * (1.0 - wrong / self.problem.times)
        if single and self._single:
            self._product = self._product_in_single(np.sqrt(curvature).astype(np.float32))
            if self.factorise(C, theta):
                return
        self._single = False
        features = self.problem.features
        self._product = (features.T * curvature) @ features
        self.factorise(C, theta)

    def _product_in_single(self, scale: NDArray[np.float32]) -> NDArray[np.float32]:
        """The product (p, p) of the features with themselves, their rows times ``scale``."""
        features = self.problem.features
        product = np.zeros((features.shape[1],) * 2, dtype=np.float32)
        for rows in _row_blocks(self.problem):
            scaled = features[rows].astype(np.float32) * scale[rows, None]
            product += single_product(scaled.T, scaled)
        return product

    def factorise(self, C: float, theta: Floats) -> bool:
        """The factor for a C at this point; the last one stays where there is none."""
        problem = self.problem
        bend = np.full(len(theta), 1.0 / C)
        if problem.rate is not None:
            bend[problem.n_weights] = SHAPE / theta[problem.n_weights] ** 2
        if problem.level is not None:
            bend[-1] = PRECISION
        hessian = np.array(self._product, order="F")
        place = np.arange(len(bend))
        hessian[place, place] += bend.astype(hessian.dtype)
        lapack = scipy.linalg.lapack
        factorise = lapack.spotrf if hessian.dtype == np.float32 else lapack.dpotrf
        factor, info = factorise(hessian, lower=0, clean=0, overwrite_a=1)
        if info == 0:
            self._factor = factor
        return bool(info == 0)


class _Walk:
    """Problems on their way along the path, their rows and parameters one after the other.

    A problem is at ``theta``, which is ``base`` less ``length`` times ``move``. ``before`` is what
    that step promised under the H of now, infinite where none was taken for this C.
    """

    def __init__(
        self, problems: Sequence[Problem], Cs: Sequence[float], optima: Sequence[Floats]
    ) -> None:
        self._Cs = np.asarray(Cs, dtype=np.float64)
        self._ahead = aheads(Cs)
        self._chords = [_Chord(problem) for problem in problems]
        self._optima = list(optima)
        self._place = np.zeros(len(problems), dtype=np.int64)
        self._theta = np.concatenate([_start(problem) for problem in problems])
        self._base, self._move = self._theta, np.zeros_like(self._theta)
        self._before = np.full(len(problems), np.inf)
        self._length = np.ones(len(problems))
        self._steps = np.zeros(len(problems), dtype=np.int64)
        self._new = np.ones(len(problems), dtype=bool)
        self._arrange()

    @property
    def underway(self) -> bool:
        return len(self._chords) > 0

    def step(self) -> None:
        """One step of every problem; those at the end of the path leave."""
        parts, rows = self._parts, self._rows
        wrong, sums = self._sums()
        gradient = self._slope() - sums
        move = np.concatenate(
            [chord.solved(gradient[part]) for chord, part in zip(self._chords, parts, strict=True)]
        )
        promise = np.add.reduceat(gradient * move, self._starts)
        self._steps += 1
        back = ~(promise <= self._before) & (self._steps < _MAX_STEPS)
        slow = promise > np.maximum(_SLOW * self._before, _TOLERANCE)
        slow = ~back & (slow | self._new)
        self._new = self._new & back
        for i in np.flatnonzero(slow):
            chord, part = self._chords[i], parts[i]
            single = bool(self._steps[i] < _MAX_SINGLE)
            chord.renew(wrong[rows[i]], self._Cs[self._place[i]], self._theta[part], single=single)
            move[part] = chord.solved(gradient[part])
            promise[i] = gradient[part] @ move[part]
        self._go(move, promise, back)

    def _sums(self) -> tuple[Floats, Floats]:
        """How far each row is from its label, times how often it is there; and the sums of the
        features with these weights, one problem after the other.
        """
        wrong, sums = np.empty(len(self._times)), np.zeros(len(self._theta))
        for run in self._runs:
            start, stop = run[0].at.start, run[-1].at.stop
            margins = [block.features @ self._theta[self._parts[block.of]] for block in run]
            wrong[start:stop] = sigmoid(-np.concatenate(margins))
            wrong[start:stop] *= self._times[start:stop]
            for block in run:
                sums[self._parts[block.of]] += wrong[block.at] @ block.features
        return wrong, sums

    def _go(self, move: Floats, promise: Floats, back: Bools) -> None:
        """On by a new move; half of the way back where the last one has led up."""
        length = self._reach(move)
        done = ~back & (length == 1.0) & (promise <= _TOLERANCE)
        done |= self._steps >= _MAX_STEPS
        if back.any():
            again = np.repeat(back, self._sizes)
            move = np.where(again, self._move, move)
            self._base = np.where(again, self._base, self._theta)
            length = np.where(back, self._length / 2.0, length)
            promise = np.where(back, self._before, promise)
        else:
            self._base = self._theta
        self._move, self._length, self._before = move, length, promise
        self._theta = self._base - np.repeat(length, self._sizes) * move
        if done.any():
            self._advance(np.flatnonzero(done))

    def _advance(self, arrived: Index) -> None:
        """To the next C, ahead on the parabola through the last three optima."""
        for i in arrived:
            place, optima, part = self._place[i], self._optima[i], self._parts[i]
            optima[place] = self._theta[part]
            if place + 1 == len(self._Cs):
                continue
            ahead = self._ahead[place + 1] @ optima[max(0, place - 2) : place + 1]
            problem = self._chords[i].problem
            if problem.rate is not None:
                least = 0.1 * optima[place, problem.n_weights]
                ahead[problem.n_weights] = max(ahead[problem.n_weights], least)
            self._theta[part] = ahead
            self._chords[i].factorise(self._Cs[place + 1], ahead)
        self._place[arrived] += 1
        self._before[arrived], self._steps[arrived] = np.inf, 0
        on = self._place < len(self._Cs)
        if on.all():
            self._ridges = np.repeat(self._Cs[self._place], self._sizes)
            return
        kept = np.repeat(on, self._sizes)
        self._theta, self._base, self._move = self._theta[kept], self._base[kept], self._move[kept]
        self._before, self._length = self._before[on], self._length[on]
        self._steps, self._place, self._new = self._steps[on], self._place[on], self._new[on]
        self._chords = [self._chords[i] for i in np.flatnonzero(on)]
        self._optima = [self._optima[i] for i in np.flatnonzero(on)]
        self._arrange()

    def _arrange(self) -> None:
        """Where whose rows and parameters are."""
        problems = [chord.problem for chord in self._chords]
        self._rows = _slices([len(problem.times) for problem in problems])
        self._sizes = np.array([problem.features.shape[1] for problem in problems], dtype=np.int64)
        self._parts = _slices(self._sizes.tolist())
        self._starts = np.array([part.start for part in self._parts], dtype=np.int64)
        self._times = np.concatenate([np.zeros(0), *(problem.times for problem in problems)])
        self._scaled = np.array([problem.rate is not None for problem in problems], dtype=bool)
        self._taus = np.array([problem.n_weights for problem in problems], dtype=np.int64)
        self._taus = (self._starts + self._taus)[self._scaled]
        self._rates = np.array([p.rate for p in problems if p.rate is not None])
        levelled = np.array([problem.level is not None for problem in problems], dtype=bool)
        self._level_at = (self._starts + self._sizes - 1)[levelled]
        self._levels = np.array([p.level for p in problems if p.level is not None])
        self._ridges = np.repeat(self._Cs[self._place], self._sizes)
        self._runs = list(_runs(problems))

    def _slope(self) -> Floats:
        """First derivatives of all penalties."""
        theta = self._theta
        slope = theta / self._ridges
        slope[self._taus] = self._rates - SHAPE / theta[self._taus]
        slope[self._level_at] = PRECISION * (theta[self._level_at] - self._levels)
        return np.asarray(slope)

    def _reach(self, move: Floats) -> Floats:
        """Step lengths (B,), at most 1, that leave a tenth of tau."""
        length = np.ones(len(self._chords))
        fall = move[self._taus] / self._theta[self._taus]
        length[self._scaled] = np.where(fall > 0.9, 0.9 / np.maximum(fall, 0.9), 1.0)
        return length


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some rows of one problem of a batch: whose, ``of``, and where among the batch's rows."""

    of: int
    at: slice
    features: Floats


def _row_blocks(problem: Problem) -> list[slice]:
    """Rows of a problem that stay in the cache together."""
    n, p = problem.features.shape
    most = max(1, _BLOCK_CELLS // p)
    return [slice(start, min(start + most, n)) for start in range(0, n, most)]


def _runs(problems: Sequence[Problem]) -> Iterator[list[_Block]]:
    """Blocks of a batch, one after the other; a run of them stays in the cache."""
    run: list[_Block] = []
    before, cells = 0, 0
    for i, problem in enumerate(problems):
        for rows in _row_blocks(problem):
            features = problem.features[rows]
            if run and cells + features.size > _BLOCK_CELLS:
                yield run
                run, cells = [], 0
            run.append(_Block(i, slice(before + rows.start, before + rows.stop), features))
            cells += features.size
        before += len(problem.times)
    if run:
        yield run


def _start(problem: Problem) -> Floats:
    """Where a path begins, (p,): tau and b at their prior means, no weights."""
    theta = np.zeros(problem.features.shape[1])
    if problem.rate is not None:
        theta[problem.n_weights] = (1.0 + SHAPE) / problem.rate
    if problem.level is not None:
        theta[-1] = problem.level
    return theta


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def aheads(Cs: Sequence[float]) -> list[Floats]:
    """What the optima before each C, three at most, weigh in where their parabola puts it."""
    logs = np.log(np.asarray(Cs, dtype=np.float64))
    return [_lagrange(logs[max(0, i - 3) : i], logs[i]) for i in range(len(logs))]


def _lagrange(xs: Floats, x: float) -> Floats:
    """What values at ``xs`` weigh in their polynomial at ``x`` (Lagrange)."""
    apart, ahead = xs[:, None] - xs, np.tile(x - xs, (len(xs), 1))
    np.fill_diagonal(apart, 1.0)
    np.fill_diagonal(ahead, 1.0)
    return np.asarray(np.prod(ahead / apart, axis=1))
