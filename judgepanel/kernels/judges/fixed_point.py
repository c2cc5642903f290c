"""Fixed points of slow updates, by Anderson acceleration (Walker & Ni 2011, doi:10.1137/10078356X).

The next point is the combination of past updates that minimises the residual in least squares, so a
few directions of slow convergence are covered in a few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from judgepanel.arrays import Floats

_MEMORY = 10
_LARGEST_MIX = 3.0
_WORSE = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """The last update (n,), the number of updates, and whether it moved less than the tolerance."""

    point: Floats
    iterations: int
    converged: bool


@dataclass(slots=True)
class _History:
    """Past points and residuals, and the best update so far."""

    points: list[Floats] = field(default_factory=list)
    residuals: list[Floats] = field(default_factory=list)
    best: Floats | None = None
    least: float = np.inf

    def clear(self) -> None:
        self.points.clear()
        self.residuals.clear()
        self.best, self.least = None, np.inf

    def next(self, point: Floats, after: Floats, scale: Floats) -> Floats:
        """Return the mixed point, or the best plain update if mixing increased the residual."""
        residual = after - point
        size = float(np.linalg.norm(residual / scale))
        if self.best is not None and size > _WORSE * self.least:
            best = self.best
            self.clear()
            return best
        if size < self.least:
            self.best, self.least = after, size
        self.points = [*self.points, point][-_MEMORY:]
        self.residuals = [*self.residuals, residual][-_MEMORY:]
        if len(self.points) < 2:
            return after
        bends = np.diff(np.array(self.residuals), axis=0)
        moves = np.diff(np.array(self.points), axis=0)
        weights = np.linalg.lstsq((bends / scale).T, residual / scale, rcond=1e-10)[0]
        mixed = after - (moves + bends).T @ weights
        if np.abs(mixed - point).max() > _LARGEST_MIX:
            self.clear()
            return after
        return np.asarray(mixed)


def fixed_point(
    update: Callable[[Floats, int], tuple[Floats, Floats]],
    start: Floats,
    *,
    plain: int,
    tolerance: float,
    max_iterations: int,
) -> FixedPoint:
    """Iterate ``update(point, iteration) -> (next point, scale)`` until it converges.

    The first ``plain`` iterations are not mixed. Moves are measured in units of ``scale`` (n,); the
    iteration stops when the largest element is at most ``tolerance``.
    """
    history, point, iteration = _History(), start, 0
    while True:
        iteration += 1
        after, scale = update(point, iteration)
        still = bool(np.abs((after - point) / scale).max() <= tolerance)
        if (still and iteration > plain) or iteration >= max_iterations:
            return FixedPoint(after, iteration, still)
        point = after if iteration <= plain else history.next(point, after, scale)
