"""Where other tools' results lie: one file, a folder, or a ZIP archive, all read alike."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import pyarrow as pa

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError, TooLarge, unopened
from judgepanel.votes.json_text import decoded
from judgepanel.votes.remedies import CHECK_PATH, EXPORT_AGAIN
from judgepanel.votes.table import too_large_unpacked

try:
    from lzma import LZMAError
except ImportError:  # This Python was built without it, and its zipfile refuses such members.
    LZMAError = zlib.error  # type: ignore[misc, assignment]

ZIP = b"PK\x03\x04"
_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<26xHH")
_DAMAGED = "the ZIP archive is damaged"
_BROKEN = (
    *(zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError),
    *(struct.error, zlib.error, LZMAError, pa.ArrowException),
)
"""What reading a damaged member raises; NotImplementedError is a RuntimeError."""


class Source(Protocol):
    """Files by their paths, '/' between the parts, in a fixed order."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of all files."""

    def read(self, name: str) -> bytes:
        """The content of one of them; InputError where it cannot be read."""


class OneFile:
    """A file, by its name and its content."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.names = (name,)
        self._data = data

    def read(self, name: str) -> bytes:
        """The content."""
        return self._data


class Folder:
    """All files below a folder; paths begin with its own name."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._above = path.parent
        files = (file for file in path.rglob("*") if file.is_file())
        self.names = tuple(sorted(file.relative_to(path.parent).as_posix() for file in files))

    def read(self, name: str) -> bytes:
        """The content of a file below the folder."""
        try:
            return (self._above / name).read_bytes()
        except OSError as error:
            raise unopened(error, name) from None


class Archive:
    """The files in a ZIP archive, Zstandard's kind as well; nothing is ever written to a disk.

    Raises InputError for a damaged or locked archive, and for one with more than
    ``limits.MAX_MEMBERS`` files or ``room`` bytes (``limits.MAX_UNPACKED``), archives inside it
    and theirs counted.
    """

    def __init__(self, name: str, data: bytes, room: int | None = None) -> None:
        self.name = name
        self._data = data
        room = limits.MAX_UNPACKED if room is None else room
        try:
            # Held open: to open it reads the whole list of its files.
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            entries = [entry for entry in self._archive.infolist() if not entry.is_dir()]
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise InputError(_DAMAGED, file=name, remedy=EXPORT_AGAIN) from None
        if any(entry.flag_bits & 1 for entry in entries):
            raise InputError(
                "the ZIP archive is locked", file=name, remedy="make it again without a password"
            )
        self._room = room - sum(entry.file_size for entry in entries)
        self._inside: dict[str, int] = {}
        if self._room < 0:
            raise too_large_unpacked().in_file(name)
        if len(entries) > limits.MAX_MEMBERS:
            raise TooLarge(
                f"{len(entries):,} files in one archive",
                file=name,
                allowed=f"at most {limits.MAX_MEMBERS:,}",
                remedy="split it",
            )
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
            if entry.compress_type == _ZSTANDARD:
                return self._zstandard(entry)
            with self._archive.open(entry) as member:
                return member.read(entry.file_size)
        except _BROKEN:
            raise InputError(_DAMAGED, file=self.name, value=name, remedy=EXPORT_AGAIN) from None

    def _zstandard(self, entry: zipfile.ZipInfo) -> bytes:
        # Python reads this method from 3.14 on.
        name, extra = _LOCAL_HEADER.unpack_from(self._data, entry.header_offset)
        start = entry.header_offset + _LOCAL_HEADER.size + name + extra
        packed = pa.py_buffer(memoryview(self._data)[start : start + entry.compress_size])
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            content: bytes = stream.read(entry.file_size)
        return content


def source_of(path: Path) -> Source:
    """The files at a path: a folder's, an archive's, or the one that is there."""
    if path.is_dir():
        return Folder(path)
    try:
        return source_in(path.name, path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            "there is no such file or folder", file=path.name, remedy=CHECK_PATH
        ) from None
    except OSError as error:
        raise unopened(error, path.name) from None


def source_in(name: str, data: bytes) -> Source:
    """The files in an upload; a log of Inspect AI is one file, although it is an archive."""
    if data.startswith(ZIP) and not name.lower().endswith(".eval"):
        return Archive(name, data)
    return OneFile(name, data)


def member(source: Source, name: str) -> str:
    """What messages call a file of a source."""
    return name if name == source.name else "/".join(PurePosixPath(name).parts[-5:])


def json_in(data: bytes, file: str) -> Any:
    """What a JSON file holds; InputError for anything else."""
    try:
        return decoded(data)
    except InputError as error:
        if error.allowed is None:
            raise InputError(
                "is not JSON: cut off, or damaged", file=file, remedy=EXPORT_AGAIN
            ) from None
        raise error.in_file(file) from None


def json_lines(data: bytes, file: str) -> Iterator[tuple[int, Any]]:
    """What each line of a JSON Lines file holds, with its number; blank lines are skipped."""
    start, number = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line, start, number = data[start:end], end + 1, number + 1
        if not line.strip():
            continue
        if number > 1 and line.startswith(b"\xef\xbb\xbf"):
            raise InputError("is not JSON", file=file, row=number, remedy=EXPORT_AGAIN)
        try:
            yield number, decoded(line)
        except InputError as error:
            raise InputError(
                error.problem,
                file=file,
                row=number,
                allowed=error.allowed,
                remedy=error.remedy,
            ) from None
