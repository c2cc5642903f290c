"""What results and partials declare of their fields, and how partials of splits are combined.

A partial is what the chunks of a study return. Its fields are arrays with one entry per split,
exact sums, other partials, or equal in all chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from operator import add, iadd
from typing import Any, TypeVar, cast, dataclass_transform

import numpy as np

from judgepanel.arrays import Ints

T = TypeVar("T")
COLUMN, BY_SPLIT, BY_ROW, SUMMED = "column", "by split", "by row", "summed"
"""Metadata of declared fields."""


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """A column of a result's frame.

    ``text`` describes it; empty for a name that means the same in all studies. ``heading`` and
    ``form`` (:mod:`judgepanel.words.tables`) are those of tables for people; a column without a
    heading is in the frame only. ``name`` is its name if not that of the field, ``axis`` the axis
    of the frame along which an array (n,) runs, ``ends`` what holds for the ends of its interval.
    """

    text: str = ""
    heading: str = ""
    form: str = ""
    name: str = ""
    axis: int = -1
    ends: str = ""


def column(text: str = "", heading: str = "", form: str = "", **more: Any) -> Any:
    """Declare a field as a column of the frame; parameters as in :class:`FrameColumn`."""
    return field(metadata={COLUMN: FrameColumn(text, heading, form, **more)})


def by_split(axis: int = 0) -> Any:
    """Declare an array, or a tuple, with one entry per split along an axis."""
    return field(metadata={BY_SPLIT: axis})


def by_row(axis: int = 0) -> Any:
    """Declare an array with the evaluated rows of all splits, ``n_evaluation`` of each."""
    return field(metadata={BY_ROW: axis})


def summed() -> Any:
    """Declare an exact sum over splits."""
    return field(metadata={SUMMED: True})


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    field_specifiers=(column, by_split, by_row, summed, field),
)
def frozen(kind: type[T]) -> type[T]:
    """Make a class a frozen, slotted dataclass; arrays do not compare, so neither does it."""
    return dataclass(frozen=True, slots=True, eq=False)(kind)


def combine(left: T, right: T) -> T:
    """Combine two sets of splits; exact and independent of order.

    Splits are in the order of ``numbers``, those of the partial or of the first one inside. What is
    neither by split nor summed is equal in both, or None or empty in one.
    """
    return cast(T, _combined(left, right, add))


def absorb(left: T, right: T) -> T:
    """Like :func:`combine`, but reuses the memory of ``left``, which must not be used again."""
    return cast(T, _combined(left, right, iadd))


def joined(left: T, right: T) -> T:
    """Like :func:`combine`, where the sums of ``right`` contain those of ``left``."""
    return cast(T, _combined(left, right, lambda _, sums: sums))


def _combined(left: Any, right: Any, plus: Callable[[Any, Any], Any]) -> Any:
    if left is None or right is None or not np.size(left) or not np.size(right):
        return right if left is None or not np.size(left) else left
    if isinstance(left, tuple):
        return tuple(_combined(a, b, plus) for a, b in zip(left, right, strict=True))
    if not is_dataclass(type(left)):
        return left
    numbers, values = _numbers(left, right), {}
    for entry in fields(left):
        both = getattr(left, entry.name), getattr(right, entry.name)
        if SUMMED in entry.metadata:
            values[entry.name] = plus(*both)
        elif BY_SPLIT in entry.metadata:
            values[entry.name] = _joined(*both, entry.metadata[BY_SPLIT], numbers)
        elif BY_ROW in entry.metadata:
            lengths = np.concatenate([part.n_evaluation for part in (left, right)])
            of_rows = None if numbers is None else np.repeat(numbers, lengths)
            values[entry.name] = _joined(*both, entry.metadata[BY_ROW], of_rows)
        else:
            values[entry.name] = _combined(*both, plus)
    return replace(left, **values)


def _joined(left: Any, right: Any, axis: int, numbers: Ints | None) -> Any:
    """Return both together, ordered by the numbers of their splits unless these are None."""
    if isinstance(left, tuple):
        both = (*left, *right)
        order = range(len(both)) if numbers is None else np.argsort(numbers, kind="stable")
        return tuple(both[place] for place in order if both)
    together = np.concatenate([left, right], axis=axis)
    if numbers is None or together.shape[axis] < len(numbers):
        return together
    return together.take(np.argsort(numbers, kind="stable"), axis=axis)


def _numbers(left: Any, right: Any) -> Ints | None:
    """Return the numbers of the splits of both; None if they are in order, or have none."""
    first, second = _numbers_of(left), _numbers_of(right)
    if first is None or second is None or not first.size or not second.size:
        return None
    return None if first[-1] < second[0] else np.concatenate([first, second])


def _numbers_of(partial: Any) -> Ints | None:
    if hasattr(partial, "numbers"):
        return np.asarray(partial.numbers)
    parts = partial if isinstance(partial, tuple) else ()
    if is_dataclass(partial):
        parts = tuple(getattr(partial, entry.name) for entry in fields(partial))
    return next((n for n in map(_numbers_of, parts) if n is not None), None)
