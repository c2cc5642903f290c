"""A column to group items by, if the file has none: offered by its name, or by the judges' errors.

Items of one question are not independent. A column named as a question is offered if its values
repeat; any other feature or text whose values repeat is offered if judges err alike on items that
share a value (:mod:`error_clusters`). Of several such columns the most significant is offered,
after correction for their number (the first step of Holm's procedure). In a file with one row per
vote such a column says the same on all rows of an item.
"""

from __future__ import annotations

from collections.abc import Mapping as Named

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import first_given
from judgepanel.votes.cells import is_number
from judgepanel.votes.columns import Mapping
from judgepanel.votes.error_clusters import Codes, Floats, alike_p, item_errors, times_as_wide
from judgepanel.votes.errors import quote_value
from judgepanel.votes.matrix import VoteMatrix
from judgepanel.votes.remedies import ROLE_COLUMN
from judgepanel.votes.roles import AGGREGATE_NAMES, repeats_across_items
from judgepanel.votes.table import RawTable, plain_name
from judgepanel.votes.words import decimal_of, distinct, is_missing

LEVEL = 0.02
"""Chance that a column is offered by the errors if the errors depend on none."""
_NAMES = frozenset(
    ("query", "queryid", "prompt", "promptid", "question", "questionid", "instruction")
)
_MOST_STRATA = 30
_HARDLY = 1.05
_REMEDY = f"that column {ROLE_COLUMN['group']}."


def group_hint(
    table: RawTable, mapping: Mapping, votes: VoteMatrix, items: NDArray[np.intp] | None
) -> list[str]:
    """Return a sentence that offers a column to group items by; empty if there is none.

    ``items`` (n_rows,) are the items of the rows of a long file, None for a wide one.
    """
    if mapping.group_column is not None:
        return []
    taken = {*mapping.used} - {*mapping.feature_columns}
    for column in table.columns:
        if (
            column in taken
            or plain_name(column.strip().lower().removeprefix("feat_")) not in _NAMES
        ):
            continue
        cells = _cells_of_items(table, column, items, votes.n_items)
        repeats = None if cells is None else repeats_across_items(cells)
        if cells is not None and repeats is not None:
            return [
                f"{repeats[1]} items share {repeats[0]} values of {quote_value(column)}: intervals "
                "are too narrow unless such items stay together"
                f"{_wider(times_as_wide(votes, _values(cells)))}. Name {_REMEDY}"
            ]
    described = {
        column: _cells_of_items(table, column, items, votes.n_items)
        for column in _descriptions(mapping, items)
    }
    return _by_errors({name: own for name, own in described.items() if own is not None}, votes)


def _descriptions(mapping: Mapping, items: NDArray[np.intp] | None) -> list[str]:
    """Return the columns that may describe items.

    In a long file they have no role of their own. A column that is not used describes items if it
    is the same on all rows of an item, which has to show: most items must have several rows.
    """
    columns = [role.column for role in mapping.roles if role.role in ("feature", "text")]
    if items is None or 2 * (np.bincount(items) > 1).sum() < items.max() + 1:
        return columns
    unused = [role.column for role in mapping.roles if role.role == "ignore"]
    chosen = {column for _, column in mapping.chosen}
    plain = {column: column.strip().lower() for column in unused if column not in chosen}
    return columns + [column for column, name in plain.items() if name not in AGGREGATE_NAMES]


def _cells_of_items(
    table: RawTable, column: str, items: NDArray[np.intp] | None, n_items: int
) -> pd.Series | None:
    """Return the cell of each item in a column; None if the rows of an item differ."""
    cells = table.frame[column]
    if items is None:
        return cells
    codes, words = distinct(cells)
    given = np.array([word.strip() != "" for word in words], dtype=bool)[codes]
    rows, differing = first_given(codes, given, items, n_items)
    if len(differing):
        return None
    return cells.iloc[rows].cat.remove_unused_categories().reset_index(drop=True)


def _by_errors(described: Named[str, pd.Series], votes: VoteMatrix) -> list[str]:
    """Offer the column whose values explain the judges' errors best, if any does."""
    repeating, strata = {}, []
    for column, cells in described.items():
        if repeats_across_items(cells) is not None:
            repeating[column] = cells
        elif len(distinct(cells)[1]) <= _MOST_STRATA:
            strata.append(_values(cells))
    numbers = {column: _numbers(cells) for column, cells in repeating.items()}
    # Fractions are measurements; what they have in common is no origin.
    tested = [c for c, own in numbers.items() if own is None or not np.any(own % 1.0 > 0.0)]
    if not tested:
        return []
    errors = item_errors(votes, strata)
    p = [alike_p(errors, _values(repeating[c]), numbers[c]) for c in tested]
    if min(p) * len(tested) > LEVEL:
        return []
    column = tested[int(np.argmin(p))]
    times = times_as_wide(votes, _values(repeating[column]))
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


def _values(cells: pd.Series) -> Codes:
    """Return codes (n_items,) of the values in a column, -1 if missing."""
    codes, words = distinct(cells)
    missing = np.array([is_missing(word.strip()) for word in words], dtype=bool)
    return np.where(missing[codes], -1, codes).astype(np.intp)


def _numbers(cells: pd.Series) -> Floats | None:
    """Return the numbers in a column (n_items,), NaN if missing; None if a cell is no number."""
    codes, words = distinct(cells)
    texts = ["nan" if is_missing(word) else decimal_of(word.strip()) for word in words]
    if not all(text == "nan" or is_number(text) for text in texts):
        return None
    return np.array([float(text) for text in texts])[codes]
