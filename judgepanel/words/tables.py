"""Tables for people: columns with a display format, the table of judges, and CSV.

A column keeps its numbers, so tables sort by them; the format produces the text of a cell.

Words for two analyses: how their data differ, and what their results allow us to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from judgepanel.arrays import Floats
from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.what_if import Relation, Side, WhatIf
from judgepanel.studies.results import FrameColumn, frame_columns
from judgepanel.votes.cells import csv_quoted, csv_safe
from judgepanel.words import text as txt
from judgepanel.words.sentences import CODING, panel_pipelines, pipeline_name

if TYPE_CHECKING:
    from judgepanel.votes import VoteMatrix

NumberForm = Literal["number", "whole", "share", "significant", "signed", "p"]
IntervalForm = Literal["level", "share level", "estimate", "difference", "compared", "ends"]
Form = Literal["text"] | NumberForm | IntervalForm
_NUMBERS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "number": lambda value: txt.fixed(value, 3),
        "whole": lambda value: f"{value:,.0f}",
        "share": lambda value: txt.percent(value, 3),
        "significant": txt.sig,
        "signed": txt.signed,
        "p": txt.p_cell,
    }
)
_INTERVALS: Mapping[str, Callable[[Any, Any, Any], str]] = MappingProxyType(
    {
        "level": txt.level,
        "share level": txt.share_level,
        "estimate": txt.with_interval,
        "difference": lambda value, lo, hi: txt.with_interval(value, lo, hi, sign=True),
        "compared": txt.compared,
        "ends": lambda _, lo, hi: "" if np.isnan(lo) else txt.interval(lo, hi, sign=True),
    }
)
Intervals = Interval | Iterable[Interval]
"""An interval (n,), or one of every row."""
SHARES = ("skill", "accuracy", "share", "coverage", "parse rate", "coded ties")
"""Columns that hold shares in every frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Cells of a column, one per row.

    Parameters
    ----------
    values : sequence of str, array (n,) or Interval (n,)
        Text for the form ``text``; an interval for ``level`` (three decimals), ``share level`` (per
        cent), ``estimate``, ``difference`` (with a sign), ``compared`` (``the same`` if
        everything rounds to 0) and ``ends`` (without the estimate); otherwise numbers. NaN is a
        blank cell.
    form : str
        The display format.
    words : mapping of int to str
        Rows that show words instead of a number, such as ``reference``; they sort by the number.
    of : str
        The column of the study's frame, if the heading is not its name.
    """

    values: Interval | Sequence[str] | NDArray[Any]
    form: Form
    words: Mapping[int, str] = field(default_factory=dict)
    of: str = ""

    def __len__(self) -> int:
        """Number of rows."""
        return self.values.shape[0] if isinstance(self.values, Interval) else len(self.values)

    @property
    def numbers(self) -> Floats | None:
        """Numbers (n,) by which the column sorts; None for text."""
        if self.form == "text":
            return None
        values = self.values.value if isinstance(self.values, Interval) else self.values
        return np.asarray(values, dtype=np.float64)

    def texts(self, most: int | None = None) -> list[str]:
        """Return cells as text, of the first ``most`` rows or of all."""
        rows = range(len(self) if most is None else min(most, len(self)))
        return [self.words[row] if row in self.words else self._text(row) for row in rows]

    def _text(self, row: int) -> str:
        if isinstance(self.values, Interval):
            place = self.values[row]
            return "" if np.isnan(place.value) else _INTERVALS[self.form](*place)
        value = self.values[row]
        if self.form == "text":
            return str(value)
        return "" if np.isnan(value) else _NUMBERS[self.form](value)


def text(values: Sequence[str], *, of: str = "") -> Column:
    """Return a column of text."""
    return Column(values, "text", of=of)


def numbers(
    values: ArrayLike, form: Form = "number", *, words: Iterable[str] = (), of: str = ""
) -> Column:
    """Return a column of numbers (n,): three decimals, or another numeric format.

    The first rows show ``words`` in place of their numbers.
    """
    return Column(np.asarray(values, dtype=np.float64), form, dict(enumerate(words)), of)


def _stacked(values: Intervals) -> Interval:
    return values if isinstance(values, Interval) else Interval.stacked(values)


def levels(values: Intervals, *, of: str = "") -> Column:
    """Return scores (n,) with their intervals; shares in per cent."""
    values = _stacked(values)
    return Column(values, "share level" if values.unit == "share" else "level", of=of)


def differences(
    values: Intervals, words: Mapping[int, str] | None = None, *, of: str = ""
) -> Column:
    """Return differences (n,) with their signs and intervals."""
    return Column(_stacked(values), "difference", words or {}, of)


def ends(
    values: Intervals,
    digits: int = 2,
    *,
    sign: bool = False,
    words: Mapping[int, str] | None = None,
    of: str = "",
) -> Column:
    """Return intervals (n,) without their estimates; they sort by their lower ends."""
    values = _stacked(values)
    lower = np.asarray(values.lo)
    texts = {
        row: txt.interval(lo, hi, digits, sign=sign)
        for row, (lo, hi) in enumerate(zip(lower.tolist(), values.hi.tolist(), strict=True))
        if not np.isnan(lo)
    }
    return Column(lower, "number", texts | dict(words or {}), of)


def result_table(result: Any, rows: Any = slice(None)) -> dict[str, Column]:
    """Return the declared columns of a result that have a heading, at these rows of its frame."""
    declared = {n: info for n, info in frame_columns(type(result)).items() if info.heading}
    shaped = {name: info.shaped(getattr(result, name)) for name, info in declared.items()}
    shape = np.broadcast_shapes(*(np.shape(values) for values in shaped.values()))
    return {
        info.heading: _declared(shaped[name], info, shape, rows) for name, info in declared.items()
    }


def _declared(values: Any, info: FrameColumn, shape: tuple[int, ...], rows: Any) -> Column:
    """Return a column in its declared format, or in that of its type."""
    if isinstance(values, Interval):
        default = "share level" if values.unit == "share" else "level"
        values = values.reshape(-1)[rows]
    else:
        values = np.broadcast_to(np.asarray(values), shape).ravel()[rows]
        default = {"U": "text", "O": "text", "i": "whole"}.get(values.dtype.kind, "number")
    return Column(values, cast(Form, info.form or default), of=info.name)


def as_columns(frame: pd.DataFrame, shares: Collection[str] = SHARES) -> dict[str, Column]:
    """Return a frame as columns: floats with three decimals, ``shares`` in per cent, else text."""
    return {str(name): _inferred(frame[name], str(name) in shares) for name in frame.columns}


def _inferred(series: pd.Series[Any], share: bool) -> Column:
    if series.dtype.kind == "f":
        return numbers(series.to_numpy(), "share" if share else "number")
    if series.dtype.kind in "iu":
        return numbers(series.to_numpy(), "whole")
    return text(["" if pd.isna(value) else str(value) for value in series.tolist()])


def texts_of(columns: Mapping[str, Column], most: int | None = None) -> pd.DataFrame:
    """Return cells as text, of the first ``most`` rows or of all."""
    cells = {name: column.texts(most) for name, column in columns.items()}
    return pd.DataFrame(cells, dtype=object)


def accuracy_table(frame: pd.DataFrame) -> dict[str, Column]:
    """Return the judges of an inspection, with names safe for a terminal."""
    ends = [
        f"[{txt.percent(lo, 3)}, {txt.percent(hi, 3)}]"
        for lo, hi in zip(frame["lo"], frame["hi"], strict=True)
    ]
    accuracy = frame["accuracy"].to_numpy()
    unknown = np.flatnonzero(np.isnan(accuracy)).tolist()
    kappa, ac1 = (
        Interval(value.to_numpy(), lo.to_numpy(), hi.to_numpy(), unit="")
        for value, lo, hi in (
            (frame[name], frame[f"{name}_lo"], frame[f"{name}_hi"]) for name in ("kappa", "ac1")
        )
    )
    return {
        "judge": text([txt.one_line(name) for name in frame["judge"]]),
        "accuracy": Column(accuracy, "share", dict.fromkeys(unknown, "n/a")),
        "95 %": numbers(frame["lo"], "share", words=ends),
        "kappa": levels(kappa),
        "AC1": levels(ac1),
        "right": numbers(frame["correct"], "whole"),
        "of": numbers(frame["voted"], "whole"),
        "coverage": numbers(frame["coverage"], "share"),
    }


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as CSV; text that a spreadsheet would run as a formula gets an apostrophe.

    Numbers read back to the bit, missing ones are blank. (pandas leaves a lone carriage return
    unquoted, which breaks the row.)
    """
    columns = [[_csv_cell(value) for value in frame[name].tolist()] for name in frame.columns]
    rows = zip(*columns, strict=True)
    head = ",".join(_csv_cell(str(name)) for name in frame.columns)
    return "\n".join((head, *(",".join(row) for row in rows), ""))


def _csv_cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    return csv_quoted(csv_safe(str(value)))


MARKED = "measures the coding, not the judges"
_NAMES = 3
_SETTINGS = {
    "orientation": "order",
    "protocol": "protocol",
    "splits": "number of splits",
    "fraction": "calibration share",
    "seed": "seed",
    "group_duplicates": "grouping of duplicates",
}


def data_sentence(overlap: Relation) -> str:
    """Say whether both have the same items and labels, and so whether there is a test."""
    if not overlap.same_task:
        return (
            "One is pairwise and the other pointwise: their NLLs are of different tasks, and "
            "comparing their intervals is not a test of the difference."
        )
    if not overlap.same_items:
        return (
            f"They rest on different data ({_counts(overlap)}), so each NLL refers to its own "
            "items and labels, and comparing intervals from different data is not a test of the "
            "difference."
        )
    return (
        f"Both rest on the same {txt.counted(overlap.shared, 'labelled item')} and "
        f"labels{_on(overlap)}"
    )


def _on(overlap: Relation) -> str:
    """Say what else is the same, or what prevents a test of the difference."""
    if overlap.settings:
        names = txt.listed([_SETTINGS[name] for name in overlap.settings])
        return f", but not on the same settings ({names}): no difference is tested."
    if overlap.revoted:
        return (
            f", but {txt.counted(len(overlap.revoted), 'judge')} of the same name voted "
            "differently in the two files: no difference is tested."
        )
    if overlap.host:
        return ", and on the same splits: what differs is who judges."
    if not (overlap.judges_before or overlap.judges_after):
        return ", judges, votes and settings: there is no difference to test."
    return (
        ", but no difference is tested: that needs the votes of all judges in one file, and the "
        "honest protocol."
    )


def paired_sentence(result: WhatIf) -> str:
    """Return the difference on the same items; better or worse only if its interval excludes 0."""
    change = txt.with_interval(*result.delta, sign=True)
    judges = txt.all_judges(len(result.kept.judges))
    text = (
        f"NLL changes by {change} with what is recommended from {judges} "
        f"after in place of {len(result.against.judges):,} before."
    )
    if result.verdict == "tie":
        return "The same judges take part in both: there is no difference."
    if result.measures_coding:
        return f"{text} {CODING}"
    delta, lo, hi = map(float, result.delta)
    if lo <= 0.0 <= hi:
        small = -result.margin < lo and hi < result.margin
        return f"No difference is shown: {text}" + " It is below 2 % either way." * small
    bound = min(abs(lo), abs(hi))
    slight = " It may be less than 2 %." * (bound < result.margin)
    return f"{'Better' if delta < 0 else 'Worse'}: {text}{slight}"


def data_rows(before: Side, after: Side, overlap: Relation) -> list[tuple[str, str, str]]:
    """Return what is compared, before and after: bounded text, still to be escaped."""
    sides = (before, after)
    oriented = [side.oriented for side in sides]
    rows: list[tuple[str, Iterable[str]]] = [
        ("name", (txt.plain(side.name) for side in sides)),
        ("file", (txt.plain(side.file) for side in sides)),
        ("made, UTC", (txt.minute(side.created) for side in sides)),
        ("items", (f"{side.votes.n_items:,}" for side in sides)),
        ("labelled", (f"{int(side.votes.labelled.sum()):,}" for side in sides)),
        ("labelled here only", (f"{n:,}" for n in (overlap.only_before, overlap.only_after))),
        ("rarer label", (txt.percent(side.votes.minority_share) for side in sides)),
        ("judges", (f"{len(side.judges):,}" for side in sides)),
        ("judges in both", (f"{len(overlap.judges_both):,}" for _ in sides)),
        (
            "judges here only",
            (_first_names(n) for n in (overlap.judges_before, overlap.judges_after)),
        ),
        ("judge table", (_judge_columns(side.votes) for side in sides)),
        ("judges set aside", (_first_names(votes.set_aside) for votes in oriented)),
        ("order", (votes.policy.replace("_", " ") for votes in oriented)),
        ("protocol", (side.settings.protocol for side in sides)),
        ("splits", (side.settings.splits_text for side in sides)),
        ("calibration share", (txt.percent(side.settings.fraction) for side in sides)),
        ("seed", (str(side.settings.seed) for side in sides)),
        ("data fingerprint", (side.votes.sha256[:10] for side in sides)),
    ]
    return [(name, *both) for name, (*both,) in rows]  # type: ignore[misc]


def _judge_columns(votes: VoteMatrix) -> str:
    """Return what the judge table says of the judges; a dash without one."""
    names = [] if votes.judge_table is None else list(map(str, votes.judge_table.columns))
    return _first_names(names)


def compared_table(results: Sequence[tuple[str, Recommendation]]) -> dict[str, Column]:
    """Return all judges under the reference, and the panel in use, of each available analysis."""
    if not results:
        return {}
    rows: list[tuple[str, str, str, str, CandidateFigures | Recommendation, float, str]] = []
    for which, result in results:
        coding, null = MARKED if result.measures_coding else "", result.null_nll
        model, reference = result.model, result.reference
        method = pipeline_name(reference.aggregator, reference.calibrator)
        rows.append((which, "all judges", f"{reference.k:,}", method, reference, null, coding))
        method = panel_pipelines(model)
        some = f"{len(model.judges):,} of {result.n_judges:,}"
        rows.append((which, "in use", some, method, result, null, coding))
    names, panels, judges, methods, scored, nulls, notes = zip(*rows, strict=True)
    nll = Interval.stacked(figures.nll for figures in scored)
    columns = {
        "analysis": text(names),
        "panel": text(panels),
        "judges": text(judges),
        "method": text(methods),
        "NLL": numbers(nll.value),
        "NLL 95 %": ends(nll, 3),
        "null NLL": numbers(nulls),
        "skill": numbers(1.0 - nll.value / np.array(nulls), "share"),
    }
    return columns | ({"note": text(notes)} if any(notes) else {})


def _counts(overlap: Relation) -> str:
    parts = [f"by their ids {txt.counted(overlap.shared, 'labelled item')} in both"]
    for n, where in ((overlap.only_before, "before"), (overlap.only_after, "after")):
        parts += [f"{n:,} only {where}"] * bool(n)
    parts += [f"{overlap.relabelled:,} with another label"] * bool(overlap.relabelled)
    parts += ["other groups"] * overlap.regrouped
    return ", ".join(parts)


def _first_names(names: Sequence[str]) -> str:
    """Return the first few names, and how many more; a dash if there are none."""
    displayed = [txt.plain(name, 40) for name in names[:_NAMES]]
    more = len(names) - len(displayed)
    return ", ".join(displayed) + f" and {more:,} more" * bool(more) if names else "–"
