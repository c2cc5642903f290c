"""The answer of the reading process: a table or a refusal, serialised as data only.

The process that reads a file handles untrusted content. Its answer is checked here field by field
and nothing in it is ever executed, so an attacker who takes over that process can at most return a
different table. Layout: a JSON header, then for each column its codes and its distinct texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.votes.coverage import Coverage, JudgeCoverage, Unread
from judgepanel.votes.errors import InputError
from judgepanel.votes.table import RawTable, check_size, column_names
from judgepanel.votes.words import distinct

_MAGIC = b"judgepanel-table"
_SIZES = (1, 2, 4, 8)
_FORMATS = ("csv", "parquet", "arrow", "jsonl", "excel")
_TASKS = (None, "pairwise", "pointwise")
_MOST_CHOICES = 100
_FIELDS = ("problem", "file", "row", "column", "value", "allowed", "remedy")


class BadAnswer(ValueError):
    """The bytes are not a valid answer."""


def packed(table: RawTable) -> Iterator[bytes]:
    """Yield the bytes of a table in pieces."""
    columns: list[list[Any]] = []
    pieces: list[tuple[np.ndarray, bytes]] = []
    for name in table.columns:
        codes, words = distinct(table.frame[name])
        texts = "\0".join(words).encode()
        columns.append([name, len(words), codes.itemsize, len(texts)])
        pieces.append((codes, texts))
    header = {
        "name": table.name,
        "format": table.format,
        "rows": table.n_rows,
        "first_row": table.first_row,
        "header_row": table.header_row,
        "lines": table.lines is not None,
        "columns": columns,
        "coverage": None if table.coverage is None else asdict(table.coverage),
        "notes": table.notes,
        "task": table.task,
    }
    yield from _headed(header)
    if table.lines is not None:
        yield table.lines.astype(np.int32).tobytes()
    for codes, texts in pieces:
        yield codes.tobytes()
        yield texts


def packed_error(error: InputError) -> Iterator[bytes]:
    """Yield the bytes of a refusal in pieces."""
    fields = {name: getattr(error, name) for name in _FIELDS}
    value = fields["value"]
    fields["value"] = None if value is None else str(value)[:200]
    fields["choices"] = error.choices[:_MOST_CHOICES]
    yield from _headed({"error": fields})


def _headed(header: dict[str, Any]) -> Iterator[bytes]:
    text = json.dumps(header).encode()
    yield _MAGIC
    yield len(text).to_bytes(8, "big")
    yield text


def unpacked(data: bytes) -> RawTable:
    """Return the table in an answer.

    Raises InputError if the answer says that the file was refused, and BadAnswer for bytes that are
    not a complete answer.
    """
    try:
        return _unpacked(data)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadAnswer(str(error)) from None


def _unpacked(data: bytes) -> RawTable:
    start = len(_MAGIC) + 8
    size = int.from_bytes(data[len(_MAGIC) : start], "big")
    if not data.startswith(_MAGIC) or size > len(data) - start:
        raise BadAnswer("no header")
    header = json.loads(data[start : start + size])
    if "error" in header:
        raise _error(header["error"])
    body = _Body(data, start + size)
    rows = _int(header["rows"])
    check_size(rows, len(header["columns"]))
    lines = body.numbers(np.dtype(np.int32), rows) if header["lines"] is True else None
    names = [_str(column[0]) for column in header["columns"]]
    if rows < 1 or column_names(names, None) != names:
        raise BadAnswer("names of columns")
    dtypes: dict[bytes, pd.CategoricalDtype] = {}
    columns = {}
    for name, (_, n_words, itemsize, n_bytes) in zip(names, header["columns"], strict=True):
        if itemsize not in _SIZES:
            raise BadAnswer("size of codes")
        codes = body.numbers(np.dtype(f"i{itemsize}"), rows)
        texts = body.take(_int(n_bytes))
        if texts not in dtypes:
            dtypes[texts] = pd.CategoricalDtype(pd.Index(texts.decode().split("\0"), dtype="str"))
        if len(dtypes[texts].categories) != n_words or codes.min() < 0 or codes.max() >= n_words:
            raise BadAnswer("codes without a text")
        columns[name] = pd.Categorical.from_codes(codes, dtype=dtypes[texts], validate=False)
    body.end()
    if header["format"] not in _FORMATS or header["task"] not in _TASKS:
        raise BadAnswer("format or task")
    return RawTable(
        frame=pd.DataFrame(columns, copy=False),
        name=_str(header["name"]),
        format=header["format"],
        first_row=_int(header["first_row"]),
        lines=lines,
        header_row=None if header["header_row"] is None else _int(header["header_row"]),
        coverage=None if header["coverage"] is None else _coverage(header["coverage"]),
        notes=tuple(_str(note) for note in header["notes"]),
        task=header["task"],
    )


class _Body:
    """A cursor over the bytes that follow the header."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._at = start

    def take(self, size: int) -> bytes:
        self._at += self._room(size)
        return self._data[self._at - size : self._at]

    def numbers(self, kind: np.dtype[Any], count: int) -> np.ndarray:
        size = self._room(count * kind.itemsize)
        numbers = np.frombuffer(self._data, kind, count, self._at)
        self._at += size
        return numbers

    def _room(self, size: int) -> int:
        if size > len(self._data) - self._at:
            raise BadAnswer("cut off")
        return size

    def end(self) -> None:
        if self._at != len(self._data):
            raise BadAnswer("something follows")


def _error(fields: dict[str, Any]) -> InputError:
    row = fields["row"]
    texts = {name: fields[name] for name in _FIELDS if name not in ("problem", "row")}
    choices = tuple(_str(choice) for choice in fields["choices"])
    given = {name: None if text is None else _str(text) for name, text in texts.items()}
    row = None if row is None else _int(row)
    return InputError(_str(fields["problem"]), row=row, choices=choices, **given)


def _coverage(content: dict[str, Any]) -> Coverage:
    judges = tuple(
        JudgeCoverage(
            judge=_str(judge["judge"]),
            levels=tuple(_int(count) for count in judge["levels"]),
            reasons=tuple(_int(count) for count in judge["reasons"]),
            **{name: _int(judge[name]) for name in _COUNTS},
        )
        for judge in content["judges"]
    )
    unread = tuple(
        Unread(
            row=_int(entry["row"]),
            **{name: _str(entry[name]) for name in ("judge", "item", "reason", "excerpt")},
        )
        for entry in content["unread"]
    )
    return Coverage(judges, unread, tuple(_str(note) for note in content["notes"]))


_COUNTS = ("outputs", "shown_first", "both", "same", "both_first")


def _int(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 40:
        raise BadAnswer("not a count")
    return value


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise BadAnswer("not a text")
    value.encode()
    return value
