"""What another tool wrote: a file, a folder or a ZIP archive, and single files opened once."""

from __future__ import annotations

import codecs
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes import delimited, errors, formats, limits, records
from judgepanel.votes.errors import EXPORT_AGAIN, InputError, TooLarge, unopened
from judgepanel.votes.table import too_large_unpacked

try:
    from lzma import LZMAError
except ImportError:  # This Python was built without it, and its zipfile refuses such members.
    LZMAError = zlib.error  # type: ignore[misc, assignment]

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<26xHH")
_DAMAGED = "the ZIP archive is damaged"
_BROKEN = (
    *(zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError),
    *(struct.error, zlib.error, LZMAError, pa.ArrowException),
)
"""What reading a damaged member raises; NotImplementedError is a RuntimeError."""
BUILT_OTHERWISE = (LookupError, ArithmeticError, TypeError, AttributeError, ValueError)
"""What a reader runs into where a file has the layout's marks, and something else inside."""
_HIDDEN = ("__MACOSX", "state.json", "dataset_info.json", "dataset_dict.json")
"""Parts of paths that are no data: of an operating system, and about a dataset."""
READABLE = (".csv", ".tsv", ".csv.gz", ".parquet", ".arrow", ".feather", ".jsonl", ".json", ".xlsx")
"""Endings of files that hold tables."""
_LONGEST_HEADER = 10_000


@dataclass(frozen=True, slots=True)
class Files:
    """Files by their paths, '/' between the parts, in a fixed order.

    ``read`` returns the content of one of them; it raises InputError where it cannot be read.
    """

    name: str
    names: tuple[str, ...]
    read: Callable[[str], bytes]


def folder(path: Path) -> Files:
    """All files below a folder; paths begin with its own name. Links are not followed."""

    def read(name: str) -> bytes:
        try:
            return (path.parent / name).read_bytes()
        except OSError as error:
            raise unopened(error, name) from None

    below = (Path(at, name) for at, _, names in os.walk(path) for name in names)
    files = (file for file in below if file.is_file() and not file.is_symlink())
    names = sorted(file.relative_to(path.parent).as_posix() for file in files)
    return Files(path.name, tuple(names), read)


class Archive:
    """The files in a ZIP archive, Zstandard's kind as well; nothing is ever written to a disk.

    Raises InputError for a damaged or locked archive, and for one with more than
    ``limits.MAX_MEMBERS`` files or ``room`` bytes (``limits.MAX_UNPACKED``), archives inside it
    and theirs counted.
    """

    def __init__(self, name: str, data: bytes, room: int | None = None) -> None:
        self.name = name
        self._data = data
        try:
            # Held open: to open it reads the whole list of its files.
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            entries = [entry for entry in self._archive.infolist() if not entry.is_dir()]
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise InputError(_DAMAGED, file=name, remedy=EXPORT_AGAIN) from None
        if any(entry.flag_bits & 1 for entry in entries):
            remedy = "make it again without a password"
            raise InputError("the ZIP archive is locked", file=name, remedy=remedy)
        room = limits.MAX_UNPACKED if room is None else room
        self._room = room - sum(entry.file_size for entry in entries)
        self._inside: dict[str, int] = {}
        if self._room < 0:
            raise too_large_unpacked().in_file(name)
        if len(entries) > limits.MAX_MEMBERS:
            problem, most = f"{len(entries):,} files in one archive", f"{limits.MAX_MEMBERS:,}"
            raise TooLarge(problem, f"at most {most}", "split it", file=name)
        self._entries = {entry.filename: entry for entry in entries}
        self.names = tuple(sorted(self._entries))

    def inside(self, name: str) -> Archive:
        """The archive that a member is."""
        room = self._room - sum(size for other, size in self._inside.items() if other != name)
        archive = Archive(name, self.read(name), room)
        self._inside[name] = room - archive._room
        return archive

    def read(self, name: str) -> bytes:
        """The content of a member, never more of it than the archive said it has."""
        entry = self._entries[name]
        try:
            if entry.compress_type != _ZSTANDARD:
                with self._archive.open(entry) as member:
                    return member.read(entry.file_size)
            # Python reads this method from 3.14 on.
            length, extra = _LOCAL_HEADER.unpack_from(self._data, entry.header_offset)
            start = entry.header_offset + _LOCAL_HEADER.size + length + extra
            packed = pa.py_buffer(memoryview(self._data)[start : start + entry.compress_size])
            with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
                content: bytes = stream.read(entry.file_size)
                return content
        except _BROKEN:
            raise InputError(_DAMAGED, file=self.name, value=name, remedy=EXPORT_AGAIN) from None


Source = Files | Archive


def source_of(path: Path) -> Source:
    """The files at a path: a folder's, an archive's, or the one that is there."""
    if path.is_dir():
        return folder(path)
    try:
        return source_in(path.name, path.read_bytes())
    except OSError as error:
        raise unopened(error, path.name) from None


def source_in(name: str, data: bytes) -> Source:
    """The files in an upload; a log of Inspect AI is one file, although it is an archive."""
    if data.startswith(formats.ZIP) and not name.lower().endswith(".eval"):
        return Archive(name, data)
    return Files(name, (name,), lambda _: data)


def member(source: Source, name: str) -> str:
    """What messages call a file of a source."""
    return name if name == source.name else "/".join(PurePosixPath(name).parts[-5:])


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
        if not data.startswith(formats.ZIP):
            raise InputError("not a log of Inspect AI", "a whole .eval", EXPORT_AGAIN, file=file)
        inner = source.inside(path) if isinstance(source, Archive) else Archive(file, data)
        return Document(path, file, parts=inner)
    with errors.in_file(file):
        if ending == "json":
            return Document(path, file, whole=records.decoded(data))
        if ending in _RECORDS:
            return Document(path, file, lines=tuple(_RECORDS[ending](data, file)))
    return None


def glimpsed(path: str, data: bytes) -> Document | None:
    """The first record of a single file, or of a table its columns: there may be many of them.

    None where the file has no records, or none that can be told without the rest.
    """
    ending = path.lower().rpartition(".")[2]
    end = data.find(b"\n")
    first = data if end < 0 else data[:end]
    try:
        if _RECORDS.get(ending) is _rows:
            if len(first) > _LONGEST_HEADER:
                return None  # No tool writes so many columns.
            # A table has a row: here it is the header once more.
            columns = list(formats.read_table(first + b"\n" + first, path).columns)
        elif ending == "parquet":
            columns = pa.parquet.read_schema(pa.BufferReader(data)).names
        elif data.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[":
            return Document(path, path, whole=[_first_of_list(data)])
        else:
            return Document(path, path, lines=tuple(records.json_lines(first)))
    except (InputError, ValueError, RecursionError, pa.ArrowException, OSError):
        return None
    return Document(path, path, lines=((1, dict.fromkeys(columns, "")),))


def _first_of_list(data: bytes) -> Any:
    """The first element of a JSON list, without the others."""
    text = data[: limits.MAX_CELL].decode("utf-8-sig", "ignore")
    start = len(text) - len(text[text.index("[") + 1 :].lstrip())
    return json.JSONDecoder().raw_decode(text, start)[0]


def _rows(data: bytes, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    table = formats.read_table(data, file)
    columns = [table.frame[name].tolist() for name in table.columns]
    for number, cells in enumerate(zip(*columns, strict=True)):
        yield table.row(number), dict(zip(table.columns, cells, strict=True))


def _parquet(data: bytes, _: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a Parquet file; columns of lists of objects, such as conversations, are left out."""
    with delimited.readable("Parquet"):
        table = delimited.parquet_in(data)
        plain = [field.name for field in table.schema_arrow if not _of_objects(field.type)]
        batches = table.iter_batches(columns=plain, use_threads=False)
        yield from enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), start=1)


def _of_objects(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) or (pa.types.is_list(kind) and _of_objects(kind.value_type))


_RECORDS: Mapping[str, Callable[[bytes, str], Iterator[tuple[int, Any]]]] = MappingProxyType(
    {
        **dict.fromkeys(("jsonl", "ndjson"), lambda data, _: records.json_lines(data)),
        **dict.fromkeys(("csv", "tsv"), _rows),
        "parquet": _parquet,
    }
)
"""Readers of the records in a file, with their numbers, by its ending."""
