"""The votes of a file as an array, from a wide (column per judge) or long (row per vote) layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import names_in, refuse_unknown, unique_ids
from judgepanel.votes.cells import unshield
from judgepanel.votes.columns import Mapping, is_role_name
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.grades import Scale, grades_of
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.remedies import (
    CORRECT_CELL,
    JUDGE_OR_NOT,
    REMOVE_ROW,
    RENAME_COLUMN,
    ROLE_COLUMN,
    SCORES_OR_NOT,
)
from judgepanel.votes.table import RawTable, check_size
from judgepanel.votes.words import ALLOWED_VERDICTS, UNKNOWN, ties_in, verdicts_of

_PROBLEM = "not a verdict"


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Votes int8 (n_items, n_judges) in {0, 1, -1}, and the item of each row of the file.

    ``ties`` bool (n_items, n_judges) marks missing votes that were given as ties. ``grades``
    float64 (n_items, n_judges) and ``thresholds`` (n_judges,) are NaN if missing, and None if no
    judge gives grades. ``items`` (n_rows,) are positions in ``item_ids`` for a long file, None for
    a wide one (row i is item i).
    """

    votes: NDArray[np.int8]
    ties: NDArray[np.bool_]
    item_ids: tuple[str, ...]
    judges: tuple[str, ...]
    items: NDArray[np.intp] | None = None
    grades: NDArray[np.float64] | None = None
    thresholds: NDArray[np.float64] | None = None


Scales = dict[str, Scale]


def read_verdicts(table: RawTable, mapping: Mapping, scales: Scales | None = None) -> Verdicts:
    """Return all votes of a file; ``scales`` are those of judges with grades (:mod:`votes.grades`).

    Raises InputError for an unknown verdict word, an empty or repeated item id, an empty or
    repeated judge name, and two votes of one judge on one item.
    """
    read = _wide if mapping.layout == "wide" else _long
    return read(table, mapping, scales or {})


def _wide(table: RawTable, mapping: Mapping, scales: Scales) -> Verdicts:
    judges = _judge_names(table, mapping.judge_columns)
    item_ids = unique_ids(table, mapping.id_column)
    votes = np.empty((table.n_rows, len(judges)), dtype=np.int8, order="F")
    ties = np.zeros(votes.shape, dtype=bool, order="F")
    grades = np.full(votes.shape, np.nan, order="F") if scales else None
    for position, (column, judge) in enumerate(zip(mapping.judge_columns, judges, strict=True)):
        codes, ties[:, position] = verdicts_of(table.frame[column]), ties_in(table.frame[column])
        scale = scales.get(judge)
        if scale is not None and grades is not None:
            values = grades_of(table.frame[column])
            codes, ties[:, position] = _cut(values, scale.threshold, codes, ties[:, position])
            grades[:, position] = values
        _refuse_unknown(table, column, codes)
        votes[:, position] = codes
    return Verdicts(votes, ties, item_ids, judges, None, grades, _thresholds(judges, scales))


def _cut(
    values: NDArray[np.float64],
    threshold: float | NDArray[np.float64],
    codes: NDArray[np.int8],
    ties: NDArray[np.bool_],
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return votes and ties (n,) of grades, which are NaN for words; other verdicts are unknown."""
    word = np.isnan(values)
    cut = np.where(values == threshold, MISSING, values > threshold)
    cut = np.where(word, np.where(codes == MISSING, MISSING, UNKNOWN), cut)
    return cut.astype(np.int8), np.where(word, ties, values == threshold)


def _thresholds(judges: tuple[str, ...], scales: Scales) -> NDArray[np.float64] | None:
    if not scales:
        return None
    return np.array([scales[judge].threshold if judge in scales else np.nan for judge in judges])


def _refuse_unknown(
    table: RawTable, column: str, codes: NDArray[np.int8], remedy: str = JUDGE_OR_NOT
) -> None:
    unknown = codes == UNKNOWN
    if not unknown.any():
        return
    problem, allowed = _PROBLEM, ALLOWED_VERDICTS
    numbers = grades_of(table.frame[column])
    scores = numbers[unknown]
    if not np.isnan(scores[0]):
        remedy = f"{SCORES_OR_NOT}; {remedy}"
        if not np.isnan(scores).any() and len(np.unique(scores)) > 1:
            low, high = np.nanmin(numbers), np.nanmax(numbers)
            problem = f"{_PROBLEM}, in a column of numbers from {low:g} to {high:g}"
            allowed = "0 or 1, a verdict in words (yes, A, pass, ...), or blank for no verdict"
    refuse_unknown(table, column, codes, problem, allowed, remedy)


def _judge_names(table: RawTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for column in columns:
        name = unshield(column, is_role_name)
        if name == "" or name in names:
            raise InputError(
                "the judge name is empty" if name == "" else "this judge is given twice",
                file=table.name,
                row=table.header_row,
                column=column,
                allowed="every judge name once",
                remedy=RENAME_COLUMN,
            )
        names[name] = column
    return tuple(names)


def _long(table: RawTable, mapping: Mapping, scales: Scales) -> Verdicts:
    item_column, judge_column, verdict_column = (
        str(mapping.item_column),
        str(mapping.judge_column),
        str(mapping.verdict_column),
    )
    items, item_ids = _in_order(*names_in(table, item_column, "item id"))
    raters, judges = _in_order(*names_in(table, judge_column, "judge name", is_role_name))
    check_size(len(item_ids), len(judges))
    codes, tied = verdicts_of(table.frame[verdict_column]), ties_in(table.frame[verdict_column])
    thresholds, values = _thresholds(judges, scales), None
    if thresholds is not None:
        values = grades_of(table.frame[verdict_column])
        graded = ~np.isnan(thresholds[raters])
        cut, on_it = _cut(values, thresholds[raters], codes, tied)
        codes, tied = np.where(graded, cut, codes), np.where(graded, on_it, tied)
        values = np.where(graded, values, np.nan)
    _refuse_unknown(table, verdict_column, codes, CORRECT_CELL)
    cells = items * len(judges) + raters
    twice = pd.Series(cells).duplicated().to_numpy()
    if twice.any():
        second = int(np.argmax(twice))
        first = table.row(int(np.argmax(cells == cells[second])))
        raise InputError(
            f"judge {quote_value(judges[raters[second]])} already has a vote on this item in row "
            f"{first}",
            file=table.name,
            row=table.row(second),
            column=item_column,
            value=item_ids[items[second]],
            allowed="one row for each item and judge",
            remedy=f"{REMOVE_ROW}, or name a column that tells the items apart {ROLE_COLUMN['id']}",
        )
    votes = np.full(len(item_ids) * len(judges), MISSING, dtype=np.int8)
    votes[cells] = codes
    ties = np.zeros(len(votes), dtype=bool)
    ties[cells] = tied
    grades = None
    shape = (len(item_ids), len(judges))
    if values is not None:
        grades = np.full(shape, np.nan)
        grades.ravel()[cells] = values
    return Verdicts(
        votes.reshape(shape), ties.reshape(shape), item_ids, judges, items, grades, thresholds
    )


def _in_order(
    codes: NDArray[np.intp], names: list[str]
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return the names renumbered in order of first occurrence."""
    ordered, first = pd.factorize(codes)
    return np.asarray(ordered, dtype=np.intp), tuple(names[code] for code in first)
