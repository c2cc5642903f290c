"""What all results have in common: fields that describe the run, frames and summaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain


@dataclass(frozen=True, slots=True, eq=False)
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
    n_splits: int
    planned_splits: int
    seed: int
    warnings: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    def decisions(self) -> dict[str, Any]:
        """Return the decisions that follow from the figures, by name; JSON values."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Return decisions, and every field that is a single number or text."""
        return {**self.decisions(), **scalars(self), "partial": self.partial}


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult(RunResult):
    """A result whose splits all score the items of their evaluation side.

    ``n_evaluation`` is their mean number; :func:`judgepanel.studies.common.run_fields` fills the
    fields.
    """

    n_evaluation: float


def long_frame(shape: tuple[int, ...], columns: Mapping[str, object]) -> pd.DataFrame:
    """Return one row per position of ``shape``, the last axis fastest.

    Every column is broadcast to ``shape`` as in NumPy: single texts and numbers are repeated, an
    array (n,) runs along the last axis, one (m, 1) along the axis before. An
    :class:`~judgepanel.scoring.interval.Interval` called ``x`` gives ``x``, ``x_lo`` and ``x_hi``.
    """
    return pd.DataFrame(
        {name: np.broadcast_to(_array(values), shape).ravel() for name, values in _flat(columns)}
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
