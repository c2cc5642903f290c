"""A column to group items by, if the file has none: offered by its name, or by the judges' errors.

Items of one question are not independent. A column named as a question is offered if its values
repeat; any other feature or text whose values repeat is offered if judges err alike on items that
share a value (:mod:`error_clusters`). Of several such columns the most significant is offered,
after correction for their number (the first step of Holm's procedure).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from judgepanel.votes.cells import is_number
from judgepanel.votes.columns import Mapping
from judgepanel.votes.error_clusters import Codes, Floats, alike_p, item_errors, times_as_wide
from judgepanel.votes.errors import quote_value
from judgepanel.votes.matrix import VoteMatrix
from judgepanel.votes.roles import repeats_across_items
from judgepanel.votes.table import RawTable
from judgepanel.votes.words import distinct, is_missing

LEVEL = 0.02
"""Chance that a column is offered by the errors if the errors depend on none."""
_NAMES = frozenset(
    ("query", "query_id", "prompt", "prompt_id", "question", "question_id", "instruction")
)
_MOST_STRATA = 30
_HARDLY = 1.05
_REMEDY = "that column with --group-column, or on Start under Columns."


def group_hint(table: RawTable, mapping: Mapping, votes: VoteMatrix) -> list[str]:
    """Return a sentence that offers a column to group items by; empty if there is none."""
    if mapping.layout != "wide" or mapping.group_column is not None:
        return []
    taken = (mapping.id_column, mapping.label_column, *mapping.judge_columns)
    for column in table.columns:
        if column in taken or column.strip().lower().removeprefix("feat_") not in _NAMES:
            continue
        repeats = repeats_across_items(table.frame[column])
        if repeats is not None:
            return [
                f"{repeats[1]} items share {repeats[0]} values of {quote_value(column)}: intervals "
                "are too narrow unless such items stay together"
                f"{_wider(times_as_wide(votes, _values(table, column)))}. Name {_REMEDY}"
            ]
    described = [role.column for role in mapping.roles if role.role in ("feature", "text")]
    return _by_errors(table, described, votes)


def _by_errors(table: RawTable, columns: Iterable[str], votes: VoteMatrix) -> list[str]:
    """Offer the column whose values explain the judges' errors best, if any does."""
    repeating, strata = [], []
    for column in columns:
        if repeats_across_items(table.frame[column]) is not None:
            repeating.append(column)
        elif len(distinct(table.frame[column])[1]) <= _MOST_STRATA:
            strata.append(_values(table, column))
    numbers = {column: _numbers(table, column) for column in repeating}
    # Fractions are measurements; what they have in common is no origin.
    tested = [c for c, own in numbers.items() if own is None or not np.any(own % 1.0 > 0.0)]
    if not tested:
        return []
    errors = item_errors(votes, strata)
    p = [alike_p(errors, _values(table, column), numbers[column]) for column in tested]
    if min(p) * len(tested) > LEVEL:
        return []
    column = tested[int(np.argmin(p))]
    times = times_as_wide(votes, _values(table, column))
    if times < _HARDLY:
        return []
    return [
        f"Judges err alike on items that share a value of {quote_value(column)}: if such items "
        f"have one origin, intervals are too narrow unless they stay together{_wider(times)}. In "
        f"that case name {_REMEDY}"
    ]


def _wider(times: float) -> str:
    """Say how much wider intervals are with groups, if it is noticeable."""
    if times < _HARDLY:
        return ""
    return f" (by the errors of the judges they should be about {times:.1f} times as wide)"


def _values(table: RawTable, column: str) -> Codes:
    """Return codes (n_items,) of the values in a column, -1 if missing."""
    codes, words = distinct(table.frame[column])
    missing = np.array([is_missing(word.strip()) for word in words], dtype=bool)
    return np.where(missing[codes], -1, codes).astype(np.intp)


def _numbers(table: RawTable, column: str) -> Floats | None:
    """Return the numbers in a column (n_items,), NaN if missing; None if a cell is no number."""
    codes, words = distinct(table.frame[column])
    cells = ["nan" if is_missing(word.strip()) else word.strip() for word in words]
    if not all(cell == "nan" or is_number(cell) for cell in cells):
        return None
    return np.array([float(cell) for cell in cells])[codes]
