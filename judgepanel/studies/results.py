"""What results have in common: declared columns, the fields of a run, frames and summaries.

A number of a result is declared once, as a field with :func:`column` or as a method with
:func:`derived`: what it is, its heading in tables for people and its display format. The frame, the
descriptions of its columns and the table of a page follow from that.

What results and partials declare of their fields, and how partials of splits are combined.

A partial is what the chunks of a study return. Its fields are arrays with one entry per split,
exact sums, other partials, or equal in all chunks.

Descriptions of every column of every study's frame, for docs, tooltips and data dictionaries.

``COMMON`` describes names that mean the same in all studies; those specific to one are described
where its result declares them, or one of its ``RECORDS``, or in its ``COLUMNS``. Ends of intervals
(``nll_lo``, ``nll_hi``) are described from the figure that they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from operator import add, iadd
from typing import Any, Generic, Self, TypeVar, cast, dataclass_transform

import numpy as np
import pandas as pd

from judgepanel.arrays import Ints
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Prepared, Spec, Study

T = TypeVar("T")
COLUMN, BY_SPLIT, BY_ROW, SUMMED = "column", "by split", "by row", "summed"
"""Metadata of declared fields."""


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """A column of a result's frame.

    ``text`` describes it; empty for a name that means the same in all studies. ``heading`` and
    ``form`` (:mod:`judgepanel.words.tables`) are those of tables for people; a column without a
    heading is in the frame only. ``name`` is its name if not that of the field, ``axis`` the axis
    of the frame along which an array (n,) runs, ``expand`` an axis of the frame that an array with
    all others lacks. ``ends`` says what holds for the ends of its interval of ``level`` per cent,
    ``bounds`` are their names; with bounds, an interval of a name that is taken gives its ends
    only. ``central``: its ends are those of the central 95 % over splits. ``key`` columns say what
    a row is and come first.
    """

    text: str = ""
    heading: str = ""
    form: str = ""
    name: str = ""
    axis: int = -1
    expand: int | tuple[int, ...] | None = None
    ends: str = ""
    bounds: tuple[str, str] | None = None
    level: int = 95
    central: bool = False
    key: bool = False

    def shaped(self, values: Any) -> Any:
        """Return values with the axes of the frame."""
        if self.expand is not None:
            return np.expand_dims(values, self.expand)
        if self.axis < -1 and np.ndim(values) == 1:
            return _array(values).reshape(-1, *[1] * (-1 - self.axis))
        return values


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


def combine_into(left: T, right: T) -> T:
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


def constant(values: Any, text: str = "", **more: Any) -> Derived[Any]:
    """Declare a column that is the same in all results; parameters as in :class:`FrameColumn`."""
    return Derived(lambda _: values, FrameColumn(text, **more))


def frame_columns(kind: type) -> Mapping[str, FrameColumn]:
    """Return the declared columns of a result's class by field or method: keys first, run last."""
    declared = {f.name: f.metadata[COLUMN] for f in fields(kind) if COLUMN in f.metadata}
    for base in reversed(kind.__mro__):
        declared |= {n: value.info for n, value in vars(base).items() if isinstance(value, Derived)}
    run = {name: declared.pop(name) for name in ("n_splits", "seed") if name in declared}
    in_order = sorted((declared | run).items(), key=lambda item: not item[1].key)
    return {n: c if c.name else replace(c, name=n) for n, c in in_order}


@frozen
class SplitCounts:
    """Splits so far, and how many items calibrate and are evaluated in each."""

    numbers: Ints = by_split()
    n_calibration: Ints = by_split()
    n_evaluation: Ints = by_split()

    @classmethod
    def of(cls, splits: Sequence[Split], **figures: Any) -> Self:
        """Return the figures of these splits."""
        sizes = [(split.number, len(split.calibration), len(split.evaluation)) for split in splits]
        numbers, n_calibration, n_evaluation = np.array(sizes, dtype=np.int64).reshape(-1, 3).T
        return cls(numbers, n_calibration, n_evaluation, **figures)


MEANS = ("n_calibration", "n_evaluation", "null_nll", "constant_nll")
"""Fields of results that are means of what the splits have under the same name."""


class Declared:
    """A result whose frame follows from its declared columns."""

    __slots__ = ()

    @classmethod
    def from_run(
        cls, prepared: Prepared, spec: Spec, n_splits: int, *records: Any, **figures: Any
    ) -> Self:
        """Return a result: its figures, and those fields that the votes and the spec give.

        An option of the spec, or a field of one of the records, gives the field of its name, unless
        a later record or a figure has that name.
        """
        given: dict[str, Any] = {}
        for record in (spec, *records):
            given |= _fields(record)
        given |= {
            "judges": prepared.judges,
            "orientation": prepared.oriented.policy,
            "protocol": spec.settings.protocol,
            "one_class": prepared.oriented.one_class,
            "measures_coding": prepared.oriented.measures_coding,
            "n_items": prepared.ballots.n_items,
            "n_judges": prepared.ballots.n_judges,
            "n_splits": n_splits,
            "planned_splits": spec.settings.most_splits,
            "seed": spec.settings.seed,
        }
        own = {entry.name for entry in fields(cast(Any, cls))}
        return cls(**{name: given[name] for name in own & given.keys()} | figures)

    @classmethod
    def from_splits(
        cls, prepared: Prepared, spec: Spec, splits: SplitCounts, *records: Any, **figures: Any
    ) -> Self:
        """Return a result as :meth:`from_run`, with means over the splits (``MEANS``)."""
        means = {}
        for entry in fields(cast(Any, cls)):
            if entry.name in MEANS and entry.name not in figures:
                values = getattr(splits, entry.name)
                single = entry.type == "float"
                means[entry.name] = float(values.mean()) if single else values.mean(axis=0)
        return cls.from_run(prepared, spec, len(splits.numbers), *records, **means | figures)

    def frame(self) -> pd.DataFrame:
        """Return the declared columns: one row per position of the largest, last axis fastest."""
        columns: dict[str, Any] = {}
        for name, info in frame_columns(type(self)).items():
            values = getattr(self, name)
            if info.bounds is None:
                columns[info.name] = info.shaped(values)
            else:
                columns.setdefault(info.name, values.value)
                columns |= zip(info.bounds, (values.lo, values.hi), strict=True)
        return long_frame(columns)

    def records(self, axis: Mapping[str, Iterable[object]], *names: str) -> list[dict[str, Any]]:
        """Return fields by position of their first axis as JSON, beside what the positions are."""
        positions = enumerate(zip(*axis.values(), strict=True))
        return [
            dict(zip(axis, position, strict=True))
            | json_values({name: getattr(self, name)[i] for name in names})
            for i, position in positions
        ]

    def decisions(self) -> dict[str, Any]:
        """Return the decisions that follow from the figures, by name; JSON values."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Return decisions, and every field that is a single number or text."""
        return {**self.decisions(), **scalars(self), "partial": getattr(self, "partial", False)}


@frozen
class RunResult(Declared):
    """The data behind a result.

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


@frozen
class SplitResult(RunResult):
    """A result whose splits all score the items of their evaluation side.

    ``n_evaluation`` is their mean number.
    """

    n_evaluation: float


@frozen
class PipelineResult(SplitResult):
    """A split result under one pipeline, whose base rate has ``null_nll``."""

    aggregator: str
    calibrator: str
    null_nll: float
    n_judges: int
    n_calibration: float

    def repeated(self, records: Iterable[Mapping[str, object]], *names: str) -> pd.DataFrame:
        """Return records as a frame, every row followed by some fields of the result."""
        return pd.DataFrame(list(records)).assign(**{name: getattr(self, name) for name in names})


@frozen
class NllResult(SplitResult):
    """A split result with fields ``nll``, in nats, and ``null_nll``, that of the base rate."""

    @derived()
    def skill(self: Any) -> Any:
        """Share of the base rate's NLL that a panel removes."""
        return 1.0 - self.nll.value / self.null_nll


def long_frame(columns: Mapping[str, object]) -> pd.DataFrame:
    """Return one row per position of the largest shape of the columns, the last axis fastest.

    Every column is broadcast to it as in NumPy: single texts and numbers are repeated, an
    array (n,) runs along the last axis, one (m, 1) along the axis before. An
    :class:`~judgepanel.scoring.interval.Interval` called ``x`` gives ``x``, ``x_lo`` and ``x_hi``.
    """
    arrays = {name: _array(values) for name, values in _flat(columns)}
    shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
    cells = {name: np.broadcast_to(values, shape).ravel() for name, values in arrays.items()}
    return pd.DataFrame(cells)


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


def records_of(kind: Callable[..., T], /, **columns: Any) -> tuple[T, ...]:
    """Return one record per position of its columns, which are equally long.

    Arrays, intervals, lists and tuples give every record its own value; all else is the same in
    all records.
    """
    own = {
        name: values.tolist() if isinstance(values, np.ndarray) else values
        for name, values in columns.items()
        if isinstance(values, np.ndarray | Interval | list | tuple)
    }
    (n,) = {v.shape[0] if isinstance(v, Interval) else len(v) for v in own.values()}
    return tuple(
        kind(**columns | {name: values[place] for name, values in own.items()})
        for place in range(n)
    )


def scalars(result: Any) -> dict[str, Any]:
    """Return all fields of a result that are a single number, text or truth value, as JSON."""
    values = _fields(result).items()
    return {name: to_plain(value) for name, value in values if isinstance(value, str | int | float)}


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


_COMPARED = "NLL of this panel minus that of all judges, in nats; above 0 keeping all is better."

COMMON: Mapping[str, str] = {
    "aggregator": "How the votes are summed.",
    "calibrator": "How the sum becomes a probability.",
    "panel": "Which judges: all, or the top k.",
    "judge": "Name of the judge.",
    "judges": "Number of judges.",
    "family": "Family of the judge in the judge table; blank if it gives none.",
    "k": "Number of judges in the panel.",
    "n_splits": "Number of splits into calibration and evaluation items behind the figures.",
    "seed": "Seed of the splits.",
    "nll": "Negative log-likelihood: mean -log p(true label) on new items, in nats.",
    "null_nll": "NLL of the base rate of the calibration labels, without any judge.",
    "constant_nll": "NLL of a constant score calibrated by the same calibrator.",
    "skill": "1 - NLL / null NLL: 0 is no better than the base rate, 1 is perfect.",
    "brier": "Brier score: mean squared difference of probability and label, 0 to 1.",
    "accuracy": "Share of right decisions on new items, 0 to 1.",
    "ece": (
        "Expected calibration error: mean absolute difference of stated confidence and accuracy."
    ),
    "delta": _COMPARED,
    "margin": "Differences smaller than this, in nats, count as no loss.",
    "p": "Two-sided p-value of no difference.",
    "p_holm": "The p-value after Holm's correction for several tests.",
    "band_lo": "Lower end of the 95 % interval of the difference that covers all rows at once.",
    "band_hi": "Upper end of the 95 % interval of the difference that covers all rows at once.",
    "verdict": "What the interval of the difference decides against the margin.",
    "chosen_share": "Share of the splits in which the choice on calibration rows selected this.",
    "tied": "Whether it cannot be distinguished from the best.",
    "cost": "Cost of the panel per item; blank if costs are unknown.",
    "unit": "Unit of the costs.",
    "labels": "Number of labels on which the panel was fitted, mean over splits.",
    "items": "Number of items.",
    "stage": "Before (raw) or after calibration.",
    "stability": (
        "Agreement of the splits: 1 if all choose alike, 0 if the choice is effectively random."
    ),
    "size": "Number of judges chosen, mean over splits.",
    "seen": "NLL on the rows on which the choice was made, in nats.",
    "optimism": "NLL on new items minus the NLL on which the choice was made, in nats.",
    "gap": "Accuracy minus mean stated confidence.",
    "correct": "Number of labelled items on which the judge's vote is right.",
    "voted": "Number of labelled items on which the judge voted.",
    "coverage": "Share of all items on which the judge voted, 0 to 1.",
    "constant": "Whether the judge gives the same verdict on every item.",
    "ability": "Ability in a 2PL model, in standard deviations of item difficulty.",
    "discrimination": "How sharply the judge separates easy from hard items in a 2PL model.",
    "nearest": "The judge whose errors correlate with this judge's most.",
    "feature": "Item feature.",
}


_CENTRAL = "central 95 % over splits"
_ENDS = {"_lo": "Lower", "_hi": "Upper"}
_STARTS = {
    "weight_": "Weight of the judge's vote under {}.",
    "feat_": "Value of the item feature {}.",
}
_SETS = {
    "coverage": "Share of sets at {level} % that hold the true label.",
    "size": "Mean number of labels in a set at {level} %, 0 to 2.",
    "share_neither": "Share of sets at {level} % without a label.",
    "share_only_0": "Share of sets at {level} % with label 0 only.",
    "share_only_1": "Share of sets at {level} % with label 1 only.",
    "share_both": "Share of sets at {level} % with both labels.",
}


def own_columns(study: Study[Any, Any, Any]) -> Mapping[str, str]:
    """Return the column descriptions specific to this study: of records, then of its result.

    ``HIDDEN`` of a result are columns of its records that are not in its frame.
    """
    own: dict[str, str] = {}
    kinds = (*getattr(study.result, "RECORDS", ()), study.result)
    hidden = getattr(study.result, "HIDDEN", ())
    for column in (column for kind in kinds for column in frame_columns(kind).values()):
        if column.name in hidden:
            continue
        if column.text:
            own[column.name] = column.text
        bounds = column.bounds or (f"{column.name}_lo", f"{column.name}_hi")
        for name, word in zip(bounds, _ENDS.values(), strict=True):
            if column.ends or column.bounds or column.central:
                over = _CENTRAL if column.central else f"{column.level} % interval"
                own[name] = f"{word} end of the {over} of {column.name}{column.ends}."
    return own | dict(getattr(study.result, "COLUMNS", {}))


def describe(study: Study[Any, Any, Any], column: str) -> str:
    """Return the description of a column of a study's frame.

    Raises
    ------
    KeyError
        The column is not described.
    """
    text = description(study, column)
    if not text:
        raise KeyError(f"the column {column} of the study {study.name} is not described")
    return text


def description(study: Study[Any, Any, Any], column: str) -> str:
    """Return the description of a column of a study's frame; empty if it is not described."""
    own = own_columns(study)
    if column in own or column in COMMON:
        return own.get(column) or COMMON[column]
    for end, word in _ENDS.items():
        figure = column.removesuffix(end)
        if figure != column and description(study, figure):
            over = _CENTRAL if figure == "ece" else "95 % interval"
            return f"{word} end of the {over} of {figure}."
    for start, words in _STARTS.items():
        if column.startswith(start):
            return words.format(column.removeprefix(start))
    # Describe figures of conformal sets, whose names contain their level: ``share_80_both``.
    parts = column.split("_")
    level = next((part for part in parts if part.isdigit() and len(part) == 2), None)
    text = _SETS.get("_".join(part for part in parts if part != level), "")
    return "" if level is None else text.format(level=level)


def described(study: Study[Any, Any, Any], columns: Iterable[str]) -> pd.DataFrame:
    """Return the data dictionary of a frame: one row per column, with its description."""
    names = [str(column) for column in columns]
    return pd.DataFrame({"column": names, "description": [describe(study, name) for name in names]})
