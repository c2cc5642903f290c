"""VoteMatrix -> a wide file that loads with the same SHA-256."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes.attributes import is_numeric_word
from judgepanel.votes.cells import csv_quoted, shield
from judgepanel.votes.companions import JUDGE_COLUMN
from judgepanel.votes.errors import InputError
from judgepanel.votes.matrix import MISSING, VoteMatrix
from judgepanel.votes.names import FEATURE_PREFIX, is_role_name
from judgepanel.votes.words import is_verdict

Value = str | float | int | None
_TIE = "tie"


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column of texts or numbers, None if blank, with its name in the file and its type."""

    name: str
    values: Sequence[Value]
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
    judges = [_judge_column(votes, position, name) for position, name in enumerate(names)]
    _write([*_item_columns(votes), *judges], Path(path))


def _judge_column(votes: VoteMatrix, position: int, name: str) -> _Column:
    """Return a judge's grades, and its votes and ties where it has none.

    They are texts in typed files if there are ties among the votes, or if other judges have grades.
    """
    cells = votes.votes[:, position].astype(object)
    cells[cells == MISSING] = None
    if votes.ties is not None:
        cells[votes.ties[:, position]] = _TIE
    kind = pa.int8() if votes.grades is None else pa.string()
    if votes.grades is not None:
        grades = votes.grades[:, position]
        graded = ~np.isnan(grades)
        cells[graded] = grades[graded]
        kind = pa.float64() if graded.any() else kind
    return _Column(name, cells.tolist(), pa.string() if (cells == _TIE).any() else kind)


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
    _write(columns, Path(path))


def _item_columns(votes: VoteMatrix) -> list[_Column]:
    ids = [_checked(shield(item)) for item in votes.item_ids]
    labels = [None if label == MISSING else label for label in votes.labels.tolist()]
    columns = [_Column("item_id", ids, pa.string()), _Column("label", labels, pa.int8())]
    if votes.groups is not None:
        groups = [_checked(shield(group, is_verdict)) for group in votes.groups]
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
            remedy = "set it to a finite number, or to nan"
            raise InputError("an infinite number", "finite numbers", remedy, column=name)
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


def _write(columns: list[_Column], path: Path) -> None:
    name = path.name.lower()
    for extension, writer in _WRITERS.items():
        if name.endswith(extension):
            path.write_bytes(writer(columns))
            return
    raise InputError("cannot write this kind of file", ", ".join(_WRITERS), file=path.name)


def _text(value: Value) -> str:
    """Return the text of a value; grades are floats, even if equal to a vote."""
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value)


def _csv(columns: list[_Column]) -> bytes:
    rows = zip(*(column.values for column in columns), strict=True)
    lines = ([column.name for column in columns], *rows)
    return "".join(",".join(csv_quoted(_text(v)) for v in line) + "\n" for line in lines).encode()


def _zipped_csv(columns: list[_Column]) -> bytes:
    return gzip.compress(_csv(columns), mtime=0)


def _parquet(columns: list[_Column]) -> bytes:
    arrays = [
        pa.array(
            map(_text, column.values) if column.kind == pa.string() else column.values, column.kind
        )
        for column in columns
    ]
    sink = pa.BufferOutputStream()
    names = [column.name for column in columns]
    pa.parquet.write_table(pa.Table.from_arrays(arrays, names=names), sink)
    return bytes(sink.getvalue())


def _jsonl(columns: list[_Column]) -> bytes:
    names = [column.name for column in columns]
    rows = zip(*(column.values for column in columns), strict=True)
    records = (dict(zip(names, row, strict=True)) for row in rows)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


_WRITERS: dict[str, Callable[[list[_Column]], bytes]] = {
    ".csv": _csv,
    ".csv.gz": _zipped_csv,
    ".parquet": _parquet,
    ".jsonl": _jsonl,
}
