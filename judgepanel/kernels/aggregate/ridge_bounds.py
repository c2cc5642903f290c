"""Weights that may not fall below zero, for many ridge fits at once.

What a vote counts in all is w_j = delta_j + tau base_j: a correction, and a share of the judge's
one-coin weight. The bound w_j >= 0 ties delta_j to tau. While it binds, a Newton step moves both
together: delta_j falls by base_j as tau rises by 1, and w_j stays 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Bools, Floats

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
