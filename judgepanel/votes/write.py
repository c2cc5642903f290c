"""VoteMatrix -> a wide file that loads with the same SHA-256."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes.attributes import is_group_word, is_numeric_word
from judgepanel.votes.cells import csv_quoted, shield
from judgepanel.votes.companions import JUDGE_COLUMN
from judgepanel.votes.errors import InputError
from judgepanel.votes.matrix import MISSING, VoteMatrix
from judgepanel.votes.names import FEATURE_PREFIX, is_role_name

Value = str | float | int | None
_TIE = 2
_WORDS = {0: "0", 1: "1", MISSING: "", _TIE: "tie"}


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column before the votes (texts or floats), with its name in the file."""

    name: str
    values: list[str] | list[float | None] | list[int | None]
    kind: pa.DataType


def write_votes(votes: VoteMatrix, path: str | Path) -> None:
    """Write a wide file: item_id, label, group_id, feat_*, one column per judge.

    The extension sets the format: .csv, .csv.gz, .parquet or .jsonl. ``load_votes`` with the same
    task and, if they would not be guessed, the thresholds of grades by judge gives the same
    SHA-256, ties and grades included, if features are floats (nan for missing) or texts, as the
    readers produce them; ``write_judges`` writes the judge table to a separate file. Names and
    texts that a spreadsheet would run as a formula, or that would be read as something else, get a
    leading apostrophe, which the readers remove (``judgepanel.votes.cells``).

    Raises
    ------
    InputError
        An unsupported extension, or a text or number that no file can hold (NUL, infinity).
    """
    names = [_checked(shield(judge, is_role_name)) for judge in votes.judges]
    cells = votes.votes if votes.ties is None else np.where(votes.ties, _TIE, votes.votes)
    _write(_item_columns(votes), names, _with_grades(cells, votes), Path(path))


def _with_grades(cells: np.ndarray, votes: VoteMatrix) -> np.ndarray:
    """Return the cells with grades instead of the votes and ties that were cut from them."""
    if votes.grades is None:
        return cells
    graded = ~np.isnan(votes.grades)
    mixed = cells.astype(object)
    mixed[graded] = votes.grades[graded]
    return mixed


def write_judges(votes: VoteMatrix, path: str | Path) -> None:
    """Write the judge table with its ``judge`` column, in the formats of ``write_votes``."""
    if votes.judge_table is None:
        raise InputError("the votes have no judge table")
    names = [_checked(shield(judge, is_role_name)) for judge in votes.judges]
    columns = [_Column(JUDGE_COLUMN, names, pa.string())]
    columns += [
        _typed(shield(str(name)), values)
        for name, values in votes.judge_table.items()
        if name != JUDGE_COLUMN
    ]
    _write(columns, [], np.zeros((votes.n_judges, 0), np.int8), Path(path))


def _item_columns(votes: VoteMatrix) -> list[_Column]:
    ids = [_checked(shield(item)) for item in votes.item_ids]
    labels = [None if label == MISSING else label for label in votes.labels.tolist()]
    columns = [_Column("item_id", ids, pa.string()), _Column("label", labels, pa.int8())]
    if votes.groups is not None:
        groups = [_checked(shield(group, is_group_word)) for group in votes.groups]
        columns.append(_Column("group_id", groups, pa.string()))
    if votes.features is not None:
        columns += [
            _typed(f"{FEATURE_PREFIX}{name}", values) for name, values in votes.features.items()
        ]
    return columns


def _typed(name: str, values: pd.Series) -> _Column:
    _checked(name)
    if name != name.strip() or name == FEATURE_PREFIX:
        raise InputError("a name that would not be read back", column=name, remedy="rename it")
    if pd.api.types.is_numeric_dtype(values.dtype):
        numbers = [float(value) for value in values]
        if any(np.isinf(number) for number in numbers):
            raise InputError(
                "an infinite number",
                column=name,
                allowed="finite numbers",
                remedy="set it to a finite number, or to nan",
            )
        return _Column(name, [None if np.isnan(x) else x for x in numbers], pa.float64())
    texts = ["" if pd.isna(value) else str(value) for value in values]
    return _Column(name, [_checked(shield(text, is_numeric_word)) for text in texts], pa.string())


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "\0"
    if "\0" in text:
        raise InputError("a NUL or a broken Unicode character cannot be written")
    return text


Writer = Callable[[list[_Column], list[str], np.ndarray], bytes]


def _write(columns: list[_Column], names: list[str], votes: np.ndarray, path: Path) -> None:
    name = path.name.lower()
    for extension, writer in _WRITERS.items():
        if name.endswith(extension):
            path.write_bytes(writer(columns, names, votes))
            return
    raise InputError("cannot write this kind of file", file=path.name, allowed=", ".join(_WRITERS))


def _csv(columns: list[_Column], names: list[str], votes: np.ndarray) -> bytes:
    head = ",".join(_quoted(name) for name in (*(column.name for column in columns), *names))
    return "\n".join((head, *_csv_rows(columns, votes), "")).encode()


def _csv_rows(columns: list[_Column], votes: np.ndarray) -> Iterator[str]:
    fronts = zip(*(column.values for column in columns), strict=True)
    for front, row in zip(fronts, votes, strict=True):
        yield ",".join((*map(_quoted, front), *map(_word, row.tolist())))


def _word(cell: float) -> str:
    """Return the text of a vote, a tie or a grade; grades are floats, even if equal to a vote."""
    return repr(cell) if isinstance(cell, float) else _WORDS[cell]


def _quoted(value: Value) -> str:
    if value is None:
        return ""
    return csv_quoted(value if isinstance(value, str) else repr(value))


def _zipped_csv(columns: list[_Column], names: list[str], votes: np.ndarray) -> bytes:
    return gzip.compress(_csv(columns, names, votes), mtime=0)


def _parquet(columns: list[_Column], names: list[str], votes: np.ndarray) -> bytes:
    arrays = [pa.array(column.values, column.kind) for column in columns]
    for position in range(len(names)):
        cells = np.ascontiguousarray(votes[:, position])
        if cells.dtype == object or (cells == _TIE).any():
            arrays.append(_texts_or_numbers(cells.tolist()))
        else:
            arrays.append(pa.array(cells, pa.int8(), mask=cells == MISSING))
    table = pa.Table.from_arrays(arrays, names=[*(column.name for column in columns), *names])
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink)
    return bytes(sink.getvalue())


def _texts_or_numbers(cells: list[int | float]) -> pa.Array:
    """Return a judge's column: numbers if it has grades and no tie without one, else texts."""
    if any(isinstance(cell, float) for cell in cells) and _TIE not in cells:
        numbers = [cell if isinstance(cell, float) else None for cell in cells]
        return pa.array(numbers, pa.float64())
    return pa.array([_word(cell) for cell in cells], pa.string())


def _jsonl(columns: list[_Column], names: list[str], votes: np.ndarray) -> bytes:
    keys = [*(column.name for column in columns), *names]
    words = {0: 0, 1: 1, MISSING: None, _TIE: _WORDS[_TIE]}

    def word(cell: float) -> float | str | None:
        return cell if isinstance(cell, float) else words[cell]

    fronts = zip(*(column.values for column in columns), strict=True)
    lines = (
        json.dumps(
            dict(zip(keys, (*front, *map(word, row.tolist())), strict=True)), ensure_ascii=False
        )
        for front, row in zip(fronts, votes, strict=True)
    )
    return "\n".join((*lines, "")).encode()


_WRITERS: dict[str, Writer] = {
    ".csv": _csv,
    ".csv.gz": _zipped_csv,
    ".parquet": _parquet,
    ".jsonl": _jsonl,
}
