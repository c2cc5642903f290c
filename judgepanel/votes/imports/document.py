"""One file of another tool's results, opened once, so that every layout can look at it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError
from judgepanel.votes.files import read_table
from judgepanel.votes.imports.source import (
    ZIP,
    Archive,
    Source,
    json_in,
    json_lines,
    member,
)
from judgepanel.votes.remedies import EXPORT_AGAIN
from judgepanel.votes.table import too_large_unpacked

BUILT_OTHERWISE = (
    *(
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        IndexError,
        OverflowError,
        ZeroDivisionError,
    ),
)
"""What a reader runs into where a file has the layout's marks, and something else inside."""
_HIDDEN = ("__MACOSX",)
_TABLES = ("csv", "tsv")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Document:
    """A file: ``whole`` a JSON value, ``lines`` with their numbers, or ``parts``.

    A line is one of JSON Lines, or a row of a table by its columns. ``path`` is the file's place in
    the source, ``file`` what messages call it.
    """

    path: str
    file: str
    whole: Any = None
    lines: tuple[tuple[int, Any], ...] = ()
    parts: Archive | None = None

    @property
    def records(self) -> Iterable[tuple[int, Any]]:
        """The lines, or the elements of a JSON list, with their numbers."""
        return enumerate(self.whole, start=1) if isinstance(self.whole, list) else self.lines

    @property
    def first(self) -> dict[str, Any]:
        """The first record; empty where there is none, or none that has keys."""
        record = next(iter(self.records), (0, None))[1]
        return record if isinstance(record, dict) else {}

    def each(self, read: Callable[[dict[str, Any]], object], allowed: str) -> None:
        """Read all records; InputError with the number of the first that is built otherwise."""
        for number, record in self.records:
            try:
                read(record)
            except BUILT_OTHERWISE:
                raise InputError(
                    "not as such files are written",
                    file=self.file,
                    row=number,
                    allowed=allowed,
                    remedy=EXPORT_AGAIN,
                ) from None


def documents(source: Source) -> Iterator[str]:
    """The paths of all files that somebody put there: none of those a system hides beside them."""
    for name in source.names:
        parts = PurePosixPath(name).parts
        if not any(part in _HIDDEN for part in parts) and not parts[-1].startswith("."):
            yield name


def opened(source: Source, path: str) -> Document | None:
    """A file as a document; None for a kind of file that holds no results.

    Raises InputError for one that is damaged.
    """
    file, data = member(source, path), source.read(path)
    ending = path.lower().rpartition(".")[2]
    if ending == "eval":
        if not data.startswith(ZIP):
            raise InputError(
                "not a log of Inspect AI", file=file, allowed="a whole .eval", remedy=EXPORT_AGAIN
            )
        inner = source.inside(path) if isinstance(source, Archive) else Archive(file, data)
        return Document(path, file, parts=inner)
    if ending in ("jsonl", "ndjson"):
        return Document(path, file, lines=tuple(json_lines(data, file)))
    if ending == "json":
        return Document(path, file, whole=json_in(data, file))
    if ending in _TABLES:
        return Document(path, file, lines=tuple(_rows(data, file)))
    if ending == "parquet":
        return Document(path, file, lines=tuple(enumerate(_parquet(data, file), start=1)))
    return None


def glimpsed(path: str, data: bytes) -> Document | None:
    """The first record of a single file, or of a table its columns: there may be many of them.

    None where the file has no records, or none that can be told without the rest.
    """
    ending = path.lower().rpartition(".")[2]
    end = data.find(b"\n")
    first = data if end < 0 else data[:end]
    try:
        if ending in _TABLES:
            # A table has a row: here it is the header once more.
            columns = read_table(first + b"\n" + first, path).columns
            return Document(path, path, lines=((1, dict.fromkeys(columns, "")),))
        if ending == "parquet":
            names = pa.parquet.read_schema(pa.BufferReader(data)).names
            return Document(path, path, lines=((1, dict.fromkeys(names, "")),))
        if data.removeprefix(_BOM).lstrip()[:1] == b"[":
            return Document(path, path, whole=[_first_of_list(data)])
        return Document(path, path, lines=tuple(json_lines(first, path)))
    except (InputError, ValueError, RecursionError, pa.ArrowException, OSError):
        return None


def _first_of_list(data: bytes) -> Any:
    """The first element of a JSON list, without the others."""
    text = data[: limits.MAX_CELL].decode("utf-8-sig", "ignore")
    start = len(text) - len(text[text.index("[") + 1 :].lstrip())
    return json.JSONDecoder().raw_decode(text, start)[0]


def _rows(data: bytes, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    table = read_table(data, file)
    columns = [table.frame[name].astype("str").tolist() for name in table.columns]
    for number, cells in enumerate(zip(*columns, strict=True)):
        yield table.row(number), dict(zip(table.columns, cells, strict=True))


def _parquet(data: bytes, file: str) -> Iterator[dict[str, Any]]:
    """Rows of a Parquet file; columns of lists of objects, such as conversations, are left out."""
    try:
        table = pa.parquet.ParquetFile(pa.BufferReader(data))
        groups = (table.metadata.row_group(n) for n in range(table.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > limits.MAX_UNPACKED:
            raise too_large_unpacked().in_file(file)
        plain = [field.name for field in table.schema_arrow if not _of_objects(field.type)]
        for batch in table.iter_batches(columns=plain, use_threads=False):
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError):
        raise InputError("the Parquet file is damaged", file=file, remedy=EXPORT_AGAIN) from None


def _of_objects(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) or (pa.types.is_list(kind) and _of_objects(kind.value_type))
