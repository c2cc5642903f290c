"""Interval: estimates with their intervals as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from judgepanel.arrays import Bools, Floats
from judgepanel.scoring.inference import Estimate

OR_ONE_NUMBER = "or one number"
"""Marks a field that holds an array or a single number."""
NOT_STORED = {"stored": False}
"""Metadata of a field that is used while a result is made, and not stored with it."""
Ends = Annotated[Floats, OR_ONE_NUMBER]
Unit = Literal["nats", "share", "points", "cost", "count", ""]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Estimates and the ends of their intervals: arrays of one shape, or three numbers.

    Parameters
    ----------
    value, lo, hi : float array
        Estimates, lower and upper ends; ends are NaN if the spread is unknown, all three if there
        is no estimate.
    level : float
        Coverage: share of samples whose interval holds the truth, in (0, 1).
    unit : {"nats", "share", "points", "cost", "count", ""}
        Unit of all three; a difference has the unit of its terms.
    monte_carlo : float array, optional
        The part of the standard error that more splits would remove; None or NaN if it is unknown.
        It says when splits are enough (:mod:`judgepanel.studies.contract`) and is not stored.
    """

    value: Ends
    lo: Ends
    hi: Ends
    level: float = 0.95
    unit: Unit = "nats"
    monte_carlo: Ends | None = field(default=None, repr=False, metadata=NOT_STORED)

    def __post_init__(self) -> None:
        if not np.shape(self.value) == np.shape(self.lo) == np.shape(self.hi):
            raise ValueError("value, lo and hi of an interval must have one shape")
        if self.monte_carlo is not None and np.shape(self.monte_carlo) != np.shape(self.value):
            raise ValueError("the Monte Carlo errors of an interval must have its shape")

    @classmethod
    def of(cls, fitted: Estimate, unit: Unit = "nats", *, reach: Floats | None = None) -> Interval:
        """Return the interval of an estimate, or the one of this ``reach`` to either side."""
        value, lo, hi = fitted.value, fitted.lo, fitted.hi
        if reach is not None:
            lo, hi = value - reach, value + reach
        return cls(value, lo, hi, unit=unit, monte_carlo=fitted.monte_carlo)

    @classmethod
    def single(cls, value: float, lo: float, hi: float, unit: Unit = "nats") -> Interval:
        """Return a single estimate with its interval."""
        return cls(np.asarray(value)[()], np.asarray(lo)[()], np.asarray(hi)[()], unit=unit)

    @classmethod
    def full(cls, shape: int | tuple[int, ...], fill: float, unit: Unit = "nats") -> Interval:
        """Return value and ends filled with one number; NaN for no estimate."""
        value, lo, hi = (np.full(shape, fill) for _ in range(3))
        return cls(value, lo, hi, unit=unit, monte_carlo=np.full(shape, np.nan))

    @classmethod
    def alone(cls, value: Floats, unit: Unit = "nats") -> Interval:
        """Return estimates without intervals."""
        lo, hi = (np.full(np.shape(value), np.nan) for _ in range(2))
        return cls(value, lo, hi, unit=unit)

    @classmethod
    def joined(cls, parts: Iterable[Interval], axis: int = 0) -> Interval:
        """Concatenate intervals of one unit along an existing axis."""
        parts = tuple(parts)
        ends = (np.concatenate(end, axis=axis) for end in zip(*map(_ends, parts), strict=True))
        value, lo, hi, error = ends
        return cls(value, lo, hi, parts[0].level, parts[0].unit, error)

    @classmethod
    def stacked(cls, parts: Iterable[Interval], axis: int = 0) -> Interval:
        """Stack intervals of one unit and shape along a new axis."""
        parts = tuple(parts)
        ends = (np.stack(end, axis=axis) for end in zip(*map(_ends, parts), strict=True))
        value, lo, hi, error = ends
        return cls(value, lo, hi, parts[0].level, parts[0].unit, error)

    def __iter__(self) -> Iterator[Any]:
        """Yield value, lower and upper end."""
        return iter((self.value, self.lo, self.hi))

    def __getitem__(self, key: Any) -> Interval:
        """Return the intervals at some indices."""
        return self._each(lambda end: end[key])

    def put(self, key: Any, parts: Iterable[ArrayLike]) -> None:
        """Fill in value, lower and upper end at some indices while a result is assembled."""
        for end, part in zip(self, parts, strict=True):
            end[key] = part
        if isinstance(parts, Interval) and self.monte_carlo is not None:
            self.monte_carlo[key] = _ends(parts)[-1]

    def __neg__(self) -> Interval:
        """Return the interval of the negated difference."""
        return replace(self, value=-self.value, lo=-self.hi, hi=-self.lo)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the three arrays."""
        return np.shape(self.value)

    def reshape(self, *shape: int) -> Interval:
        """Return the same intervals in another shape."""
        return self._each(lambda end: end.reshape(shape))

    def transposed(self) -> Interval:
        """Return the same intervals with their axes reversed."""
        return self._each(np.transpose)

    def clip(self, least: float, most: float) -> Interval:
        """Return the intervals with ends clipped to the range of the estimand; values stay."""
        lo, hi = (np.clip(end, least, most) for end in (self.lo, self.hi))
        return replace(self, lo=lo, hi=hi)

    def scaled(self, factor: float | Floats, unit: Unit) -> Interval:
        """Return the intervals in another unit; ``factor``, of one or of each, is above 0."""
        return replace(self._each(lambda end: factor * end), unit=unit)

    def where(self, condition: ArrayLike) -> Interval:
        """Return the intervals where a condition holds, NaN elsewhere."""
        return self._each(lambda end: np.where(condition, end, np.nan))

    def above(self, reference: float = 0.0) -> Bools:
        """Whether the whole interval lies above a number."""
        return np.asarray(self.lo > reference)

    def below(self, reference: float = 0.0) -> Bools:
        """Whether the whole interval lies below a number."""
        return np.asarray(self.hi < reference)

    def _each(self, change: Callable[[Floats], Floats]) -> Interval:
        error = None if self.monte_carlo is None else change(self.monte_carlo)
        value, lo, hi = map(change, self)
        return replace(self, value=value, lo=lo, hi=hi, monte_carlo=error)


def _ends(part: Interval) -> tuple[Floats, Floats, Floats, Floats]:
    """Value, ends and Monte Carlo error, which is NaN if it is unknown."""
    error = part.monte_carlo
    return (*part, np.full(part.shape, np.nan) if error is None else error)
