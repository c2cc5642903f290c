"""What results have in common: declared columns, the fields of a run, frames and summaries.

A number of a result is declared once, as a field with :func:`column` or as a method with
:func:`derived`: what it is, its heading in tables for people and its display format. The frame, the
descriptions of its columns and the table of a page follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.partials import COLUMN, FrameColumn, column, frozen

T = TypeVar("T")


class Derived(Generic[T]):
    """A column that is computed from fields when it is read."""

    def __init__(self, method: Callable[[Any], T], info: FrameColumn) -> None:
        self.method, self.info, self.__doc__ = method, info, method.__doc__

    def __get__(self, result: Any, _: type) -> T:
        """Return the values of a result; the column itself from the class."""
        return self.method(result) if result is not None else self  # type: ignore[return-value]


def derived(
    text: str = "", heading: str = "", form: str = "", **more: Any
) -> Callable[[Callable[[Any], T]], Derived[T]]:
    """Declare a method as a column of the frame; parameters as in :class:`FrameColumn`."""
    return lambda method: Derived(method, FrameColumn(text, heading, form, **more))


def frame_columns(kind: type) -> Mapping[str, FrameColumn]:
    """Return the declared columns of a result's class by field or method, those of the run last."""
    declared = {f.name: f.metadata[COLUMN] for f in fields(kind) if COLUMN in f.metadata}
    for base in reversed(kind.__mro__):
        declared |= {n: value.info for n, value in vars(base).items() if isinstance(value, Derived)}
    run = {name: declared.pop(name) for name in ("n_splits", "seed") if name in declared}
    named = {n: c if c.name else replace(c, name=n) for n, c in (declared | run).items()}
    return MappingProxyType(named)


@frozen
class RunResult:
    """The data behind a result; :func:`judgepanel.studies.common.fields_of_run` fills the fields.

    ``n_splits`` of ``planned_splits`` splits are included. ``measures_coding`` means that figures
    show how the labels were coded and not how good the judges are.
    """

    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
    n_splits: int = column()
    planned_splits: int
    seed: int = column()
    warnings: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    def frame(self) -> pd.DataFrame:
        """Return the declared columns: one row per position of the largest, last axis fastest."""
        columns = {}
        for name, info in frame_columns(type(self)).items():
            values = getattr(self, name)
            if info.axis < -1 and np.ndim(values) == 1:
                values = _array(values).reshape(-1, *[1] * (-1 - info.axis))
            columns[info.name] = values
        return long_frame(None, columns)

    def last(self, *names: str) -> dict[str, Any]:
        """Return the last row of some columns, as JSON values; an interval keeps its ends."""
        return json_values({name: getattr(self, name)[-1] for name in names})

    def decisions(self) -> dict[str, Any]:
        """Return the decisions that follow from the figures, by name; JSON values."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Return decisions, and every field that is a single number or text."""
        return {**self.decisions(), **scalars(self), "partial": self.partial}


@frozen
class SplitResult(RunResult):
    """A result whose splits all score the items of their evaluation side.

    ``n_evaluation`` is their mean number; :func:`judgepanel.studies.common.run_fields` fills the
    fields.
    """

    n_evaluation: float


@frozen
class NllResult(SplitResult):
    """A split result with fields ``nll``, in nats, and ``null_nll``, that of the base rate."""

    @derived()
    def skill(self: Any) -> Any:
        """Share of the base rate's NLL that a panel removes."""
        return 1.0 - self.nll.value / self.null_nll


def long_frame(shape: tuple[int, ...] | None, columns: Mapping[str, object]) -> pd.DataFrame:
    """Return one row per position of ``shape``, the last axis fastest; None is the largest shape.

    Every column is broadcast to ``shape`` as in NumPy: single texts and numbers are repeated, an
    array (n,) runs along the last axis, one (m, 1) along the axis before. An
    :class:`~judgepanel.scoring.interval.Interval` called ``x`` gives ``x``, ``x_lo`` and ``x_hi``.
    """
    arrays = {name: _array(values) for name, values in _flat(columns)}
    if shape is None:
        shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
    return pd.DataFrame(
        {name: np.broadcast_to(values, shape).ravel() for name, values in arrays.items()}
    )


def json_values(values: Mapping[str, object]) -> dict[str, Any]:
    """Return values as JSON by name; an interval ``x`` gives ``x``, ``x_lo`` and ``x_hi``."""
    return {name: to_plain(value) for name, value in _flat(values)}


def _flat(columns: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, values in columns.items():
        if isinstance(values, Interval):
            yield from zip((name, f"{name}_lo", f"{name}_hi"), values, strict=True)
        else:
            yield name, values


def _array(values: object) -> Any:
    """Return text as objects: pandas gives NumPy's fixed-width strings another dtype."""
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind == "U" else array


def flat_row(record: Any, **ends: str) -> dict[str, Any]:
    """Return the fields of a record of single numbers as a row of a frame.

    An interval called ``x`` gives ``x``, ``x_lo`` and ``x_hi``; ``ends`` names another prefix for
    ``lo`` and ``hi``, none for ``delta`` and ``value``. ``band``, which has the value of ``delta``,
    gives its ends only.
    """
    row: dict[str, Any] = {}
    for name, value in _fields(record).items():
        if isinstance(value, Interval):
            stem = {"delta": "", "value": "", **ends}.get(name, f"{name}_")
            row |= zip((name, f"{stem}lo", f"{stem}hi"), value, strict=True)
        else:
            row[name] = value
    row.pop("band", None)
    return row


def scalars(result: Any) -> dict[str, Any]:
    """Return all fields of a result that are a single number, text or truth value, as JSON."""
    values = _fields(result)
    return {
        name: to_plain(value)
        for name, value in values.items()
        if isinstance(value, str | int | float)
    }


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
