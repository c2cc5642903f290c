"""Learning curves: a power law of score against labels, and where a curve reaches a goal.

The form is a + b n^-c with a floor a >= 0, b >= 0 and c between ``EXPONENTS``, as inverse power
laws of learning assume (Figueroa et al. 2012, doi:10.1186/1472-6947-12-8). It is linear given c, so
a grid over c with weighted least squares fits many curves at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats

EXPONENTS = (0.1, 3.0)
FEWEST_POINTS = 4
_GRID = 60
_FARTHEST = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class LearningCurve:
    """Curves a + b (n / scale)^-c, each array (D,); ``a`` is the asymptotic floor."""

    a: Floats
    b: Floats
    c: Floats
    scale: float

    def at(self, n: float | Floats) -> Floats:
        """Scores (D, m) at m numbers of labels."""
        ratio = np.atleast_1d(np.asarray(n, dtype=np.float64)) / self.scale
        return np.asarray(self.a[:, None] + self.b[:, None] * ratio ** -self.c[:, None])

    def needed(self, goal: Floats) -> Floats:
        """Labels (D,) at which each curve reaches its goal.

        inf if the goal is at or below the floor, or if ``_FARTHEST`` times the scale are not
        enough.
        """
        room = goal - self.a
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            n = self.scale * (self.b / room) ** (1.0 / self.c)
        return np.where((room > 0) & (n <= _FARTHEST * self.scale), n, np.inf)


def fit_learning_curve(n: Floats, values: Floats, se: Floats) -> LearningCurve:
    """Fit every row by weighted least squares.

    Parameters
    ----------
    n : float (B,), numbers of labels, increasing.
    values : float (D, B), scores at those numbers.
    se : float (B,), their standard errors; weights are 1 / se^2, equal if one is 0.
    """
    weight = np.ones(len(n)) if not (se > 0).all() else (se.min() / se) ** 2
    scale = float(n[-1])
    best = np.full(len(values), np.inf)
    a, b, c = (np.zeros(len(values)) for _ in range(3))
    for exponent in np.geomspace(*EXPONENTS, _GRID):
        x = (n / scale) ** -exponent
        floor, height = _line(x, values, weight)
        error = ((values - floor[:, None] - height[:, None] * x) ** 2) @ weight
        better = error < best
        best = np.where(better, error, best)
        a, b = np.where(better, floor, a), np.where(better, height, b)
        c = np.where(better, exponent, c)
    return LearningCurve(a, b, c, scale)


def _line(x: Floats, values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Intercepts and slopes of values on x, both at least 0."""
    share = weight / weight.sum()
    centre, mean = float(x @ share), values @ share
    spread = float(((x - centre) ** 2) @ share)
    slope = np.maximum((values * share) @ (x - centre) / max(spread, 1e-300), 0.0)
    # A decrease within rounding error counts as none, whichever BLAS kernel summed it.
    rounding = 16.0 * np.finfo(np.float64).eps * np.abs(values).max(axis=1)
    slope = np.where(slope * np.ptp(x) > rounding, slope, 0.0)
    floor = mean - slope * centre
    through_zero = np.maximum((values * share) @ x / float((x * x) @ share), 0.0)
    below = floor < 0
    return np.where(below, 0.0, floor), np.where(below, through_zero, slope)


def first_reached(n: Floats, values: Floats, goal: Floats) -> Floats:
    """Labels (D,) at which each row first reaches its goal or falls below it; inf if it never does.

    The score is interpolated linearly in log n; a row at its goal from the start gets the smallest
    number.

    Parameters
    ----------
    n : float (B,), numbers of labels, increasing.
    values : float (D, B), scores at those numbers.
    goal : float (D,).
    """
    there = values <= goal[:, None]
    first = there.argmax(axis=1)
    before = np.maximum(first - 1, 0)
    rows = np.arange(len(values))
    high, low = values[rows, before], values[rows, first]
    drop = np.where(high > low, high - low, 1.0)
    share = np.where(first > 0, np.clip((high - goal) / drop, 0.0, 1.0), 0.0)
    array = np.minimum(n[before] * (n[first] / n[before]) ** share, n[first])
    return np.where(there.any(axis=1), array, np.inf)
