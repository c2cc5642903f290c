"""VoteMatrix -> a wide file that loads with the same SHA-256."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes.attributes import is_numeric_word
from judgepanel.votes.cells import UNSTORABLE, csv_quoted, not_reserved, shield
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
    judges = [_judge_column(votes, position) for position in range(votes.n_judges)]
    _write([*_item_columns(votes), *judges], Path(path))


def _judge_column(votes: VoteMatrix, position: int) -> _Column:
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
    name = _checked(shield(votes.judges[position], is_role_name))
    return _Column(name, cells.tolist(), pa.string() if (cells == _TIE).any() else kind)


def _texts(
    name: str, texts: Iterable[str], reserved: Callable[[str], bool] = not_reserved
) -> _Column:
    return _Column(name, [_checked(shield(text, reserved)) for text in texts], pa.string())


def write_judges(votes: VoteMatrix, path: str | Path) -> None:
    """Write the judge table with its ``judge`` column, in the formats of ``write_votes``."""
    if votes.judge_table is None:
        raise InputError("the votes have no judge table")
    about = votes.judge_table.drop(columns=JUDGE_COLUMN, errors="ignore")
    columns = [_typed(shield(str(name)), values) for name, values in about.items()]
    _write([_texts(JUDGE_COLUMN, votes.judges, is_role_name), *columns], Path(path))


def _item_columns(votes: VoteMatrix) -> list[_Column]:
    labels = [None if label == MISSING else label for label in votes.labels.tolist()]
    columns = [_texts("item_id", votes.item_ids), _Column("label", labels, pa.int8())]
    if votes.groups is not None:
        columns.append(_texts("group_id", votes.groups, is_verdict))
    if votes.features is not None:
        named = votes.features.add_prefix(FEATURE_PREFIX)
        columns += [_typed(str(name), values) for name, values in named.items()]
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
    texts = ("" if pd.isna(value) else str(value) for value in values)
    return _texts(name, texts, is_numeric_word)


def _checked(text: str) -> str:
    if UNSTORABLE.search(text):
        raise InputError("a NUL or a broken Unicode character cannot be written")
    return text


def _write(columns: list[_Column], path: Path) -> None:
    extension = next(filter(path.name.lower().endswith, _WRITERS), None)
    if extension is None:
        raise InputError("cannot write this kind of file", ", ".join(_WRITERS), file=path.name)
    path.write_bytes(_WRITERS[extension](columns))


def _text(value: Value) -> str:
    """Return the text of a value; grades are floats, even if equal to a vote."""
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value)


def _csv(columns: list[_Column]) -> bytes:
    lines = zip(*([column.name, *column.values] for column in columns), strict=True)
    return "".join(",".join(csv_quoted(_text(v)) for v in line) + "\n" for line in lines).encode()


def _array(column: _Column) -> pa.Array:
    values = map(_text, column.values) if column.kind == pa.string() else column.values
    return pa.array(values, column.kind)


def _parquet(columns: list[_Column]) -> bytes:
    sink = pa.BufferOutputStream()
    names = [column.name for column in columns]
    pa.parquet.write_table(pa.Table.from_arrays(list(map(_array, columns)), names=names), sink)
    return bytes(sink.getvalue())


def _jsonl(columns: list[_Column]) -> bytes:
    names = [column.name for column in columns]
    rows = zip(*(column.values for column in columns), strict=True)
    records = (dict(zip(names, row, strict=True)) for row in rows)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


_WRITERS: dict[str, Callable[[list[_Column]], bytes]] = {
    ".csv": _csv,
    ".csv.gz": lambda columns: gzip.compress(_csv(columns), mtime=0),
    ".parquet": _parquet,
    ".jsonl": _jsonl,
}
