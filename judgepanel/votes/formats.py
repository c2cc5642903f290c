"""Bytes -> RawTable: detect the kind and encoding of a file, and check that its name agrees."""

from __future__ import annotations

import codecs
import io
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from judgepanel.votes import limits
from judgepanel.votes.columnar import is_arrow, read_arrow, read_parquet
from judgepanel.votes.delimited import read_csv
from judgepanel.votes.errors import RECORDS, SAVE_AS_UTF8, SAVE_WORKBOOK, InputError, unopened
from judgepanel.votes.excel import ZIP, is_workbook, read_excel
from judgepanel.votes.records import is_document, read_document, read_lines
from judgepanel.votes.table import Format, RawTable, too_large_unpacked

__all__ = ["RawTable", "check_bytes", "read_table", "text_of"]

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK = 1 << 20
ALLOWED_FILES = "CSV, CSV.GZ, Excel, Parquet, Arrow, JSON and JSON Lines"
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_TAR, _TAR_AT = b"ustar", 257
_FOREIGN = (
    (ZIP, "a ZIP archive"),
    (b"FEA1", "a Feather file of version 1; write it again as version 2"),
    (b"\xd0\xcf\x11\xe0", "an old or protected Excel workbook; save it as .xlsx without password"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x7fELF", "a program"),
)
_COMPRESS_AGAIN = "compress it again, or choose the file that was compressed"
_MARKUP = (b"<!doctype", b"<html", b"<head", b"<body", b"<table", b"<?xml")
_SAMPLE = 1 << 13
_PIECE, _UNPACKED_PIECE = 1 << 12, 1 << 22


class _Kind(NamedTuple):
    """A format: its name in sentences, its reader, and the extensions of its files."""

    title: str
    read: Callable[[bytes, str], RawTable]
    extensions: tuple[str, ...]


_KINDS: Mapping[Format, _Kind] = MappingProxyType(
    {
        "csv": _Kind("CSV", read_csv, ("csv", "tsv", "txt")),
        "parquet": _Kind("Parquet", read_parquet, ("parquet", "pq")),
        "arrow": _Kind("Arrow", read_arrow, ("arrow", "arrows", "feather", "ipc")),
        "jsonl": _Kind("JSON Lines", read_lines, ("jsonl", "ndjson", "json")),
        "excel": _Kind("Excel", read_excel, ("xlsx", "xlsm")),
    }
)
_BY_EXTENSION = {end: name for name, kind in _KINDS.items() for end in kind.extensions}


def read_table(data: bytes, name: str, records: str | None = None) -> RawTable:
    """Return the table in a file or upload.

    The extension of the name says what the file should be, its first bytes what it is; a name
    without a known extension is not checked. A .gz may hold any of the text formats. ``records`` is
    the path of the list of records in a JSON document (see ``lines_of``).

    Raises
    ------
    InputError
        With file, row, column and value: too large, empty, not a known format, content that does
        not match the name, not UTF-8, or not a regular table.
    """
    try:
        check_bytes(len(data))
        return _read(data, name, _extension(name), records, zipped=False)
    except InputError as error:
        raise (error if error.file is not None else error.in_file(name)) from None


def check_bytes(size: int) -> None:
    """Refuse a file of more than ``limits.MAX_UPLOAD_MB`` (in units of 1024 x 1024 bytes)."""
    if size > limits.MAX_UPLOAD_MB * 1024 * 1024:
        raise InputError(
            f"the file has {size / 1024 / 1024:.0f} MB",
            allowed=f"at most {limits.MAX_UPLOAD_MB} MB",
            remedy="compress it as .csv.gz or Parquet",
        )


def _extension(name: str) -> str:
    return name.lower().rpartition(".")[2] if "." in name else ""


def _read(data: bytes, name: str, extension: str, records: str | None, *, zipped: bool) -> RawTable:
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError(
            "the file is empty",
            allowed=ALLOWED_FILES,
            remedy="export it again, and look at it before you choose it",
        )
    if data.startswith(_GZIP) or extension == "gz":
        if zipped:
            raise InputError(
                "a gzip file inside a gzip file",
                allowed=ALLOWED_FILES,
                remedy="unpack it once, and choose the file inside",
            )
        if not data.startswith(_GZIP):
            raise InputError(
                "the name ends in .gz but the content is not gzip",
                remedy="rename the file without .gz",
            )
        if extension != "gz" and extension in _BY_EXTENSION:
            raise InputError(
                f"the name ends in .{extension} but the content is gzip",
                remedy=f"rename the file so that it ends in .{extension}.gz",
            )
        inner = _extension(name[: -len(".gz")]) if extension == "gz" else ""
        return _read(unzip(data), name, inner, records, zipped=True)
    data, notes = from_utf16(data)
    promised = _BY_EXTENSION.get(extension)
    kind = _kind(data, promised)
    if promised is not None and promised != kind:
        start = data[:40].decode("utf-8", "replace")
        raise InputError(
            f"the name ends in .{extension} but the content is not {_KINDS[promised].title}",
            value=start if kind == "csv" else f"{_KINDS[kind].title} content",
            allowed="a name that agrees with the content",
            remedy="rename the file, or save it again in the format that its name says",
        )
    if kind not in ("parquet", "arrow", "excel"):
        data, western = from_western(data)
        notes += western
    if kind == "jsonl" and (records is not None or is_document(data, extension)):
        table = read_document(data, name, records)
    elif records is not None:
        raise InputError(
            "a list of records is named, but this is not JSON",
            value=records,
            allowed="a JSON document",
            remedy=f"name no list {RECORDS}",
        )
    else:
        table = _KINDS[kind].read(data, name)
    return replace(table, notes=(*table.notes, *notes))


def _kind(data: bytes, promised: Format | None) -> Format:
    """Return the format of the content by its first bytes; refuse unknown formats."""
    if data.startswith(_PARQUET):
        return "parquet"
    if is_arrow(data):
        return "arrow"
    if is_workbook(data):
        return "excel"
    if promised == "parquet":
        return "csv"
    if promised == "excel" and data.startswith(ZIP):
        raise InputError("not a workbook, although its name says so", remedy=SAVE_WORKBOOK)
    for magic, title in _FOREIGN:
        if data.startswith(magic):
            raise _not_a_table(title)
    if data[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        raise _not_a_table("a tar archive; unpack it, or put its files into a .zip")
    if _is_binary(data[:_SAMPLE]):
        raise _not_a_table("binary data")
    start = data[:_SAMPLE].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if start.startswith(_MARKUP):
        raise _not_a_table("a web page or XML")
    if start.startswith(b"[") and promised != "csv":
        return "jsonl"
    return "jsonl" if promised == "jsonl" or start.startswith(b"{") else "csv"


def _not_a_table(title: str) -> InputError:
    return InputError(
        f"not a table of votes but {title}",
        allowed=ALLOWED_FILES,
        remedy="save the table of votes in one of these formats",
    )


def _is_binary(sample: bytes) -> bool:
    """Whether over 10 % is NUL, or over 5 % control characters in text that is not UTF-8."""
    if sample.count(0) * 10 > len(sample):
        return True
    controls = sum(byte < 32 and byte not in (9, 10, 12, 13) for byte in sample)
    if controls * 20 <= len(sample):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return True
    return False


def unzip(data: bytes) -> bytes:
    """Return the content of a gzip file, never unpacking more than ``MAX_UNPACKED`` bytes.

    Raises InputError for a damaged file and for one that unpacks to more.
    """
    out = io.BytesIO()
    start = 0
    try:
        while data.startswith(_GZIP, start):
            start = _unzip_member(data, start, out)
    except zlib.error as error:
        raise InputError(f"the gzip content is damaged, {error}", remedy=_COMPRESS_AGAIN) from None
    if data[start:].strip(b"\0"):
        raise InputError("the gzip content is followed by other data", remedy=_COMPRESS_AGAIN)
    return out.getvalue()


def _unzip_member(data: bytes, start: int, out: io.BytesIO) -> int:
    """Write the content of one member of a gzip file; return the offset of the next member.

    The bytes are passed in small pieces because zlib copies the unused part of each.
    """
    member = zlib.decompressobj(wbits=31)
    rest = b""
    while not member.eof:
        piece = rest or data[start : start + _PIECE]
        start += 0 if rest else len(piece)
        chunk = member.decompress(piece, _UNPACKED_PIECE)
        if not piece and not chunk and not member.eof:
            raise InputError("the gzip content is cut off", remedy=_COMPRESS_AGAIN)
        out.write(chunk)
        if out.tell() > limits.MAX_UNPACKED:
            raise too_large_unpacked()
        rest = member.unconsumed_tail
    return start - len(member.unused_data)


def text_of(path: Path) -> str:
    """Return the text of a file; raise InputError if it cannot be read."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise unopened(error, path.name) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=path.name, remedy=SAVE_AS_UTF8) from None


def from_utf16(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return UTF-16 text with a byte order mark as UTF-8, and a note; other bytes unchanged.

    Raises InputError for damaged UTF-16 and for text that becomes too large.
    """
    if not data.startswith(_UTF16):
        return data, ()
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError as error:
        raise InputError(
            f"damaged UTF-16 text at byte {error.start}",
            allowed="UTF-8 or UTF-16 text",
            remedy=SAVE_AS_UTF8,
        ) from None
    return _bounded(text), ("Read as UTF-16 text.",)


def from_western(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return non-UTF-8 text decoded as Windows-1252 or Latin-1, and a note; UTF-8 unchanged."""
    if data.isascii() or _is_utf8(data):
        return data, ()
    title = "Windows-1252"
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        title, text = "Latin-1", data.decode("latin-1")
    note = f"Not UTF-8: read as {title} text. If letters look wrong, save the file as UTF-8."
    return _bounded(text), (note,)


def _is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8; decoded in blocks, as a str may take four times the memory."""
    blocks = (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))
    try:
        return all(codecs.iterdecode(blocks, "utf-8"))
    except UnicodeDecodeError:
        return False


def _bounded(text: str) -> bytes:
    data = text.encode()
    if len(data) > limits.MAX_UNPACKED:
        raise too_large_unpacked()
    return data
