"""Item attributes in a votes file: ids, groups and features."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import cells, errors, limits, matrix
from judgepanel.votes.errors import InputError, correct_or_name, quote_value
from judgepanel.votes.table import RawTable

Integers = NDArray[np.integer]
Codes = NDArray[np.intp]
Flags = NDArray[np.bool_]
Reserved = Callable[[str], bool]

THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", re.ASCII)
_SHIELDED = re.compile(r"['\s]")
"""What :func:`unshield` may take away."""


def is_numeric_word(text: str) -> bool:
    """Whether a feature cell with this text would be read as a number or as missing."""
    is_infinite = text.strip().lower().lstrip("+-") in ("inf", "infinity")
    is_number = is_infinite or cells.is_number(cells.decimal_of(text))
    return text != "" and (is_number or cells.is_missing(text))


def refuse_first(
    error: InputError, wrong: Flags, table: RawTable, column: str, rows: Codes | None = None
) -> None:
    """Raise the error about the first cell of a column that is wrong, if there is one.

    ``rows`` are the rows of the table of ``wrong``, all of them by default.
    """
    if wrong.any():
        place = int(np.argmax(wrong))
        raise error.in_cell(table, column, place if rows is None else int(rows[place]))


def repeated(key: Integers) -> tuple[int, int] | None:
    """Return where a code stood that occurs again, and where it first does so."""
    twice = pd.Series(key).duplicated().to_numpy()
    if not twice.any():
        return None
    second = int(np.argmax(twice))
    return int(np.argmax(key == key[second])), second


def names_in(
    table: RawTable, columns: Sequence[str], kind: str, reserved: Reserved = cells.not_reserved
) -> tuple[Codes, list[str]]:
    """Return codes (n_rows,) into the distinct names in a column; refuse empty names.

    Several columns name something together: their names are joined by a slash.
    """
    if len(columns) > 1:
        parts = [names_in(table, (column,), kind) for column in columns]
        by_row = np.stack([codes for codes, _ in parts])
        pairs, codes = np.unique(by_row, axis=1, return_inverse=True)
        words = [np.array(own, dtype=object)[k] for (_, own), k in zip(parts, pairs, strict=True)]
        return np.asarray(codes).ravel(), list(map("/".join, zip(*words, strict=True)))
    (column,) = columns
    codes, words = cells.distinct(table.frame[column])
    _refuse_long(table, column, codes, words)
    if _SHIELDED.search("".join(words)):
        words = [cells.unshield(word, reserved) for word in words]
    target, names = pd.factorize(np.array(words, dtype=object))
    codes, remedy = np.asarray(target[codes], dtype=np.intp), "fill it in, or remove the row"
    empty = InputError(f"the {kind} is empty", "a name in every row", remedy)
    refuse_first(empty, (names == "")[codes], table, column)
    return codes, list(names)


def _refuse_long(
    table: RawTable, column: str, codes: Codes, words: Sequence[str], rows: Codes | None = None
) -> None:
    """Refuse names or values that are too long, before they are repeated.

    ``rows`` are the rows of the table of ``codes``, all of them by default.
    """
    lengths = np.array([len(word) for word in words], dtype=np.int64)[codes]
    long = lengths > limits.MAX_NAME
    if long.any():
        problem = f"the cell has {lengths[np.argmax(long)]:,} characters"
        error = InputError(problem, f"at most {limits.MAX_NAME:,}", "shorten it in the file")
        refuse_first(error, long, table, column, rows)
    matrix.check_texts(f"cell of {quote_value(column)}", lengths.tolist())


def unique_ids(table: RawTable, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the item ids of a wide file, or row numbers from 1 if there is no id column.

    Raises InputError for an empty or duplicate id.
    """
    if not columns:
        return tuple(map(str, range(1, table.n_rows + 1)))
    codes, names = names_in(table, columns, "item id")
    if (again := repeated(codes)) is not None:
        first, second = again
        problem = f"this item id is already in row {table.row(first)}"
        long = "a file with one row per vote needs the columns item, judge and verdict"
        remedy = f"{correct_or_name('id')}; {long}"
        error = InputError(problem, "every item id once", remedy, value=names[codes[second]])
        raise error.in_record(table, columns[0], second)
    return tuple(np.array(names, dtype=object)[codes])


def given_rows(
    table: RawTable, column: str, values: Integers, given: Flags, items: Codes, n_items: int
) -> Codes:
    """Return for each item of a long file a row that gives its value, or any row if none does.

    ``values`` (n_rows,) are codes and ``given`` marks the rows that count. Raises InputError if two
    rows of an item disagree.
    """
    rows, differing = first_given(values, given, items, n_items)
    if len(differing):
        row = int(differing[0])
        problem = f"this item has another {column} in row {table.row(int(rows[items[row]]))}"
        error = InputError(problem, f"one {column} an item", "give all rows of the item the same")
        raise error.in_cell(table, column, row)
    return rows


def first_given(values: Integers, given: Flags, items: Codes, n_items: int) -> tuple[Codes, Codes]:
    """Return the first given row of each item, or any row, and the given rows that differ from it.

    Arguments are those of :func:`given_rows`.
    """
    rows = np.zeros(n_items, dtype=np.intp)
    rows[items[::-1]] = np.arange(len(items) - 1, -1, -1)
    places = np.flatnonzero(given)
    rows[items[places[::-1]]] = places[::-1]
    return rows, places[values[places] != values[rows[items[places]]]]


def filled(table: RawTable, column: str) -> Flags:
    """Return which cells (n_rows,) of a column are not blank."""
    codes, words = cells.distinct(table.frame[column])
    return np.array([word.strip() != "" for word in words], dtype=bool)[codes]


def groups_in(table: RawTable, column: str, rows: Codes) -> tuple[str, ...]:
    """Return the group of each item; refuse an item without a group."""
    empty = InputError("the group is empty", "a group for every item", correct_or_name("group"))
    refuse_first(empty, ~filled(table, column)[rows], table, column, rows)
    # A group may have the name of a verdict, or of a missing group.
    return tuple(_texts(table, column, rows, cells.is_verdict))


def _texts(table: RawTable, column: str, rows: Codes, reserved: Reserved) -> NDArray[np.object_]:
    """Return the texts in rows of a column."""
    codes, words = cells.distinct(table.frame[column])
    _refuse_long(table, column, codes[rows], words, rows)
    return np.array([cells.unshield(word, reserved) for word in words], dtype=object)[codes[rows]]


def feature_names(table: RawTable, columns: Sequence[str]) -> dict[str, str]:
    """Return features by name, which is that of their column without ``feat_``."""
    named: dict[str, str] = {}
    for column in columns:
        name = column.removeprefix(cells.FEATURE_PREFIX)
        if name == "" or name in named:
            problem = "has no name" if name == "" else f"is called as {quote_value(named[name])} is"
            allowed = "a name of its own after feat_"
            error = InputError(f"this feature {problem}", allowed, errors.RENAME_COLUMN)
            raise error.in_header(table, column)
        named[name] = column
    return named


def typed_column(table: RawTable, column: str, rows: Codes) -> pd.Series:
    """Return rows of a column as float64 (blank = nan) if all cells are numbers, otherwise as text.

    Commas are decimal unless all could separate thousands, as in ``1,250``. Raises InputError for
    an infinite number.
    """
    codes, words = cells.distinct(table.frame[column])
    commas = [word for word in words if "," in word]
    thousands = bool(commas) and all(map(THOUSANDS.fullmatch, commas))
    plain = [word.strip() for word in words]
    if thousands or not all(word == "" or is_numeric_word(word) for word in plain):
        return pd.Series(_texts(table, column, rows, is_numeric_word), dtype="str")
    floats = [np.nan if cells.is_missing(word) else float(cells.decimal_of(word)) for word in plain]
    values = np.array(floats)[codes[rows]]
    allowed = "finite numbers, or blank for a missing one"
    infinite = InputError("an infinite number", allowed, errors.CORRECT_CELL)
    refuse_first(infinite, np.isinf(values), table, column, rows)
    return pd.Series(values)
