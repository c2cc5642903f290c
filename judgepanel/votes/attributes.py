"""Item attributes in a votes file: ids, groups and features."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import limits
from judgepanel.votes.cells import is_number, not_reserved, unshield
from judgepanel.votes.errors import (
    CORRECT_CELL,
    RENAME_COLUMN,
    InputError,
    correct_or_name,
    quote_value,
)
from judgepanel.votes.matrix import check_texts
from judgepanel.votes.names import FEATURE_PREFIX
from judgepanel.votes.table import RawTable, check_length
from judgepanel.votes.words import UNKNOWN, decimal_of, distinct, is_missing, is_verdict

THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", re.ASCII)
_SHIELDED = re.compile(r"['\s]")
"""What :func:`unshield` may take away."""
_INFINITE = frozenset({"inf", "infinity"})


def is_numeric_word(text: str) -> bool:
    """Whether a feature cell with this text would be read as a number or as missing."""
    plain = decimal_of(text)
    return text != "" and (
        is_missing(text) or is_number(plain) or text.strip().lower().lstrip("+-") in _INFINITE
    )


def is_group_word(text: str) -> bool:
    """Whether a group of this name would be mistaken for a verdict or for a missing group."""
    return is_verdict(text)


def names_in(
    table: RawTable,
    columns: str | Sequence[str],
    kind: str,
    reserved: Callable[[str], bool] = not_reserved,
) -> tuple[NDArray[np.intp], list[str]]:
    """Return codes (n_rows,) into the distinct names in a column; refuse empty names.

    Several columns name something together: their names are joined by a slash.
    """
    if not isinstance(columns, str) and len(columns) > 1:
        parts = [names_in(table, column, kind) for column in columns]
        pairs = np.stack([codes for codes, _ in parts])
        distinct_pairs, codes = np.unique(pairs, axis=1, return_inverse=True)
        names = [
            "/".join(own[k] for (_, own), k in zip(parts, pair, strict=True))
            for pair in distinct_pairs.T.tolist()
        ]
        return np.asarray(codes).ravel(), names
    column = columns if isinstance(columns, str) else columns[0]
    codes, words = distinct(table.frame[column])
    _refuse_long(table, column, codes, words)
    place: dict[str, int] = {}
    names = words
    if _SHIELDED.search("".join(words)):
        names = [unshield(word, reserved) for word in words]
    target = np.array([place.setdefault(name, len(place)) for name in names], np.intp)
    codes = target[codes]
    if "" in place:
        raise InputError(
            f"the {kind} is empty", "a name in every row", "fill it in, or remove the row"
        ).in_record(table, column, int(np.argmax(codes == place[""])))
    return codes, list(place)


def _refuse_long(
    table: RawTable,
    column: str,
    codes: NDArray[np.integer],
    words: Sequence[str],
    rows: NDArray[np.intp] | None = None,
) -> None:
    """Refuse names or values that are too long, before they are repeated.

    ``rows`` are the rows of the table of ``codes``, all of them by default.
    """
    lengths = np.array([len(word) for word in words], dtype=np.int64)[codes]
    long = np.flatnonzero(lengths > limits.MAX_NAME)
    if len(long):
        place = int(long[0])
        try:
            check_length(words[codes[place]], limits.MAX_NAME, "the cell")
        except InputError as error:
            row = place if rows is None else int(rows[place])
            raise error.in_record(table, column, row) from None
    check_texts(f"cell of {quote_value(column)}", lengths.tolist())


def first_again(codes: NDArray[np.integer]) -> int | None:
    """Return the first row whose code occurs before it, None if all differ."""
    again = pd.Series(codes).duplicated().to_numpy()
    return int(np.argmax(again)) if again.any() else None


def unique_ids(table: RawTable, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the item ids of a wide file, or row numbers from 1 if there is no id column.

    Raises InputError for an empty or duplicate id.
    """
    if not columns:
        return tuple(str(number) for number in range(1, table.n_rows + 1))
    codes, names = names_in(table, columns, "item id")
    second = first_again(codes)
    if second is not None:
        first = int(np.argmax(codes == codes[second]))
        raise InputError(
            f"this item id is already in row {table.row(first)}",
            "every item id once",
            f"{correct_or_name('id')}; a file with one row per vote needs the columns item, "
            "judge and verdict",
            value=names[codes[second]],
        ).in_record(table, columns[0], second)
    return tuple(np.array(names, dtype=object)[codes])


def given_rows(
    table: RawTable,
    column: str,
    values: NDArray[np.integer],
    given: NDArray[np.bool_],
    items: NDArray[np.intp],
    n_items: int,
) -> NDArray[np.intp]:
    """Return for each item of a long file a row that gives its value, or any row if none does.

    ``values`` (n_rows,) are codes and ``given`` marks the rows that count. Raises InputError if two
    rows of an item disagree.
    """
    rows, differing = first_given(values, given, items, n_items)
    if len(differing):
        row = int(differing[0])
        first = table.row(int(rows[items[row]]))
        raise InputError(
            f"this item has another {column} in row {first}",
            f"one {column} an item",
            "give all rows of the item the same",
        ).in_cell(table, column, row)
    return rows


def first_given(
    values: NDArray[np.integer],
    given: NDArray[np.bool_],
    items: NDArray[np.intp],
    n_items: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first given row of each item, or any row, and the given rows that differ from it.

    Arguments are those of :func:`given_rows`.
    """
    rows = np.zeros(n_items, dtype=np.intp)
    rows[items[::-1]] = np.arange(len(items) - 1, -1, -1)
    places = np.flatnonzero(given)
    rows[items[places[::-1]]] = places[::-1]
    return rows, places[values[places] != values[rows[items[places]]]]


def refuse_unknown(
    table: RawTable, column: str, codes: NDArray[np.int8], problem: str, allowed: str, remedy: str
) -> None:
    """Refuse the first cell whose code is ``UNKNOWN``."""
    unknown = codes == UNKNOWN
    if unknown.any():
        error = InputError(problem, allowed, remedy)
        raise error.in_cell(table, column, int(np.argmax(unknown)))


def groups_in(table: RawTable, column: str, rows: NDArray[np.intp]) -> tuple[str, ...]:
    """Return the group of each item; refuse an item without a group."""
    codes, words = distinct(table.frame[column])
    _refuse_long(table, column, codes, words)
    blank = np.array([word.strip() == "" for word in words], dtype=bool)[codes[rows]]
    if blank.any():
        raise InputError(
            "the group is empty", "a group for every item", correct_or_name("group")
        ).in_record(table, column, int(rows[np.argmax(blank)]))
    names = np.array([unshield(word, is_group_word) for word in words], dtype=object)
    return tuple(names[codes[rows]])


def feature_name(table: RawTable, column: str) -> str:
    """Return the name of a feature: its column name without ``feat_``."""
    name = column.removeprefix(FEATURE_PREFIX)
    if name == "":
        error = InputError("this feature has no name", "a name after feat_", RENAME_COLUMN)
        raise error.in_header(table, column)
    return name


def typed_column(table: RawTable, column: str, rows: NDArray[np.intp]) -> pd.Series:
    """Return rows of a column as float64 (blank = nan) if all cells are numbers, otherwise as text.

    Commas are decimal unless all could separate thousands, as in ``1,250``. Raises InputError for
    an infinite number.
    """
    codes, words = distinct(table.frame[column])
    picked = codes[rows]
    commas = [word for word in words if "," in word]
    thousands = bool(commas) and all(map(THOUSANDS.fullmatch, commas))
    numeric = all(word.strip() == "" or is_numeric_word(word.strip()) for word in words)
    if thousands or not numeric:
        _refuse_long(table, column, picked, words, rows)
        texts = [unshield(word, is_numeric_word) for word in words]
        return pd.Series(np.array(texts, dtype=object)[picked], dtype="str")
    plain = (decimal_of(word.strip()) for word in words)
    numbers = np.array([np.nan if is_missing(word) else float(word) for word in plain])
    values = numbers[picked]
    infinite = np.isinf(values)
    if infinite.any():
        raise InputError(
            "an infinite number", "finite numbers, or blank for a missing one", CORRECT_CELL
        ).in_cell(table, column, int(rows[np.argmax(infinite)]))
    return pd.Series(values)
