"""Bytes -> RawTable: detect the kind and encoding of a file, and check that its name agrees.

Excel workbook (.xlsx, .xlsm) -> RawTable, with python-calamine.

One sheet is read: the one called 'votes', otherwise the first visible sheet with content. Its first
row with content, below a title, is the header; rows are numbered as in the sheet, and empty rows
are skipped.
Formulas are read as the values saved with them.
"""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from judgepanel.votes import delimited, errors, limits, table
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.records import is_document, read_document, read_lines
from judgepanel.votes.table import Format, RawTable, too_large_unpacked

ZIP = b"PK\x03\x04"
_CELL = re.compile(rb"\br\s*=\s*[\"']([A-Za-z]{0,99})([0-9]{1,99})[\"']")
"""The reference of a cell, or the number of a row, whether or not a workbook may have it."""
_PIECE, _LONGEST_CELL = 1 << 20, 256
_SHEET_BLOCK = 10_000
_Row = tuple[int, list[Any]]


def is_workbook(data: bytes) -> bool:
    """Whether the bytes are a workbook, possibly a damaged one."""
    if not data.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def read_excel(data: bytes, name: str) -> RawTable:
    """Return the table on one sheet of a workbook.

    Raises InputError (without the file's name) for a workbook that is damaged, protected, empty or
    too large, and if python-calamine is not installed.
    """
    calamine = errors.require("python_calamine", "reading workbooks")
    try:
        return _read_sheet(calamine, data, name)
    except (InputError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # Panics of the library do not derive from Exception.
        if type(error).__name__ == "PasswordError":
            remedy = "save it without the password, or save its sheet as CSV"
            raise InputError("the workbook is protected by a password", remedy=remedy) from None
        raise InputError("the workbook is damaged", remedy=errors.SAVE_WORKBOOK) from None


def _read_sheet(calamine: Any, data: bytes, name: str) -> RawTable:
    _check_extent(data)
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    wanted = (calamine.SheetTypeEnum.WorkSheet, calamine.SheetVisibleEnum.Visible)
    names = [sheet.name for sheet in book.sheets_metadata if (sheet.typ, sheet.visible) == wanted]
    sheets = {name: book.get_sheet_by_name(name) for name in names}
    full = [title for title, sheet in sheets.items() if sheet.start is not None]
    if not full:
        remedy = "show the sheet with the votes, and save the workbook again"
        raise InputError("no visible sheet of the workbook has content", remedy=remedy)
    title = next((title for title in full if title.strip().lower() == "votes"), full[0])
    table.check_size(sheets[title].height, sheets[title].width)
    notes, rows = _without_titles(sheets[title].iter_rows())
    frame, header, lines = _table(rows)
    others = [other for other in full if other != title]
    if others:
        notes += [f"Read the sheet {quote_value(title)} and no other ({listed(others, 3)})."]
    return RawTable(frame, name, "excel", header + 1, lines, header, notes=tuple(notes))


def _check_extent(data: bytes) -> None:
    """Refuse a workbook that unpacks to too much or has a cell too far from A1.

    Calamine allocates all cells up to the farthest one.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > limits.MAX_UNPACKED:
            raise table.too_large_unpacked()
        for member in members:
            # Any part may be a sheet, whatever it is called: relationships between parts say which.
            with archive.open(member) as part:
                table.check_size(*_extent(part))


def _extent(sheet: IO[bytes]) -> tuple[int, int]:
    """Return the largest row and column number among cells with a reference."""
    row, column, rest = 0, 0, b""
    while piece := sheet.read(_PIECE):
        text = rest + piece
        for letters, number in set(_CELL.findall(text)):
            row, column = max(row, int(number)), max(column, _column(letters))
        rest = text[-_LONGEST_CELL:]
    return row, column


def _column(letters: bytes) -> int:
    """Return the number of a column; A is 1."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _without_titles(rows: Iterator[list[Any]]) -> tuple[list[str], Iterator[_Row]]:
    """Return notes on titles above the header, and the other rows with content, numbered from 1.

    Titles are rows of a single cell above one of several: a table of votes has several columns.
    """
    filled = ((number, row) for number, row in enumerate(rows, start=1) if any(map(_held, row)))
    start = list(islice(filled, table.MOST_TITLES + 1))
    header = next((place for place, (_, row) in enumerate(start) if sum(map(_held, row)) > 1), 0)
    titles = ((number, _text(next(filter(_held, row)))) for number, row in start[:header])
    notes = [table.title_note(number, title) for number, title in titles]
    return notes, chain(start[header:], filled)


def _table(filled: Iterator[_Row]) -> tuple[pd.DataFrame, int, np.ndarray]:
    """Return the records as text columns, the row of the header, and the row of each record."""
    header, first = next(filled)
    names = [_text(cell) for cell in first]
    while names and not names[-1]:
        names.pop()
    names = table.column_names(names, header)
    columns = [delimited.ColumnParts() for _ in names]
    lines: list[int] = []
    while block := list(islice(filled, _SHEET_BLOCK)):
        lines += [number for number, _ in block]
        for place, (name, column) in enumerate(zip(names, columns, strict=True)):
            words = pa.array([_text(row[place]) for _, row in block], pa.string())
            column.add(*delimited.texts_of(words, name))
        for number, row in block:
            beside = next((cell for cell in row[len(names) :] if _held(cell)), None)
            if beside is not None:
                problem = "a cell stands beside the table, in a column without a name"
                remedy, text = "name the column in the header, or clear the cell", _text(beside)
                raise InputError(problem, "a name for every column", remedy, row=number, value=text)
    if not lines:
        remedy = "save the workbook with the votes in it, and with their sheet called votes"
        raise InputError("the sheet has a header and no rows", "one row per item", remedy)
    return delimited.frame_from(names, columns), header, np.array(lines, dtype=np.int32)


def _held(cell: Any) -> bool:
    return cell != "" and cell is not None


def _text(cell: Any) -> str:
    """Return a cell as a spreadsheet shows it; whole numbers without stored decimals."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return "" if cell is None else str(cell)


__all__ = ["RawTable", "check_bytes", "read_table", "text_of"]

_BLOCK, _SAMPLE = 1 << 20, 1 << 13
ALLOWED_FILES = "CSV, CSV.GZ, Excel, Parquet, Arrow, JSON and JSON Lines"
_GZIP = b"\x1f\x8b"
_TAR, _TAR_AT = b"ustar", 257
_NO_CONTROLS = bytes(byte for byte in range(256) if byte >= 32 or byte in b"\t\n\f\r")
_FOREIGN = (
    (_GZIP, "gzip; end its name in .csv.gz, or unpack it once if it is packed twice"),
    (ZIP, "a ZIP archive, or a damaged workbook"),
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
_MARKUP = (b"<!doctype", b"<html", b"<head", b"<body", b"<table", b"<?xml")


class _Kind(NamedTuple):
    """A format: its name in sentences, its reader, the extensions and first bytes of its files."""

    title: str
    read: Callable[[bytes, str], RawTable]
    extensions: tuple[str, ...]
    magic: tuple[bytes, ...] = ()


_KINDS: Mapping[Format, _Kind] = MappingProxyType(
    {
        "csv": _Kind("CSV", delimited.read_csv, ("csv", "tsv", "txt")),
        "parquet": _Kind("Parquet", delimited.read_parquet, ("parquet", "pq"), (b"PAR1",)),
        "arrow": _Kind(
            "Arrow", delimited.read_arrow, ("arrow", "arrows", "feather", "ipc"), delimited.ARROW
        ),
        "jsonl": _Kind("JSON Lines", read_lines, ("jsonl", "ndjson", "json")),
        "excel": _Kind("Excel", read_excel, ("xlsx", "xlsm")),
    }
)
_TITLES = {"gz": "gzip"} | {end: kind.title for kind in _KINDS.values() for end in kind.extensions}
"""What the content of a file should be, by its extension."""


def read_table(data: bytes, name: str, records: str | None = None) -> RawTable:
    """Return the table in a file or upload.

    The extension of the name says what the file should be, its first bytes what it is; a name
    without a known extension is not checked. A .gz may hold any of the text formats. ``records`` is
    the path of the list of records in a JSON document (see ``read_document``).

    Raises
    ------
    InputError
        With file, row, column and value: too large, empty, not a known format, content that does
        not match the name, not UTF-8, or not a regular table.
    """
    with errors.in_file(name):
        check_bytes(len(data))
        extension = _extension(name)
        if data.startswith(_GZIP) and _TITLES.get(extension, "gzip") == "gzip":
            extension = _extension(name[: -len(".gz")]) if extension == "gz" else ""
            data = unzip(data)
        if not data.removeprefix(codecs.BOM_UTF8).strip():
            remedy = "export it again, and look at it before you choose it"
            raise InputError("the file is empty", ALLOWED_FILES, remedy)
        data, notes = from_utf16(data)
        kind = _kind(data, extension)
        title = _KINDS[kind].title
        if _TITLES.get(extension, title) != title:
            problem = f"the name ends in .{extension} but the content is not {_TITLES[extension]}"
            allowed = "a name that agrees with the content"
            remedy = "rename the file, or save it again in the format that its name says"
            start = data[:40].decode("utf-8", "replace") if kind == "csv" else f"{title} content"
            raise InputError(problem, allowed, remedy, value=start)
        if kind in ("csv", "jsonl"):
            data, western = from_western(data)
            notes += western
        # With a list named, a file of any name may be one document.
        if kind == "jsonl" and is_document(data, "json" if records is not None else extension):
            table = read_document(data, name, records)
        elif records is not None:
            problem = "a list of records is named, but this is not one JSON document"
            remedy = f"name no list {errors.RECORDS}"
            raise InputError(problem, "a JSON document", remedy, value=records)
        else:
            table = _KINDS[kind].read(data, name)
        return replace(table, notes=(*table.notes, *notes))


def check_bytes(size: int) -> None:
    """Refuse a file of more than ``limits.MAX_UPLOAD_MB`` (in units of 1024 x 1024 bytes)."""
    if size > limits.MAX_UPLOAD_MB * 1024 * 1024:
        problem = f"the file has {size / 1024 / 1024:.0f} MB"
        most = f"at most {limits.MAX_UPLOAD_MB} MB"
        raise InputError(problem, most, "compress it as .csv.gz or Parquet")


def _extension(name: str) -> str:
    return name.lower().rpartition(".")[2] if "." in name else ""


def _kind(data: bytes, extension: str) -> Format:
    """Return the format of the content by its first bytes; refuse unknown formats."""
    for name, kind in _KINDS.items():
        if data.startswith(kind.magic):
            return name
    if is_workbook(data):
        return "excel"
    sample = data[:_SAMPLE]
    start = sample.removeprefix(codecs.BOM_UTF8).lstrip().lower()
    foreign = next((title for magic, title in _FOREIGN if data.startswith(magic)), None)
    if foreign is None and data.startswith(_TAR, _TAR_AT):
        foreign = "a tar archive; unpack it, or put its files into a .zip"
    if foreign is None:
        # Over 10 % is NUL, or over 5 % control characters in text that is not UTF-8.
        many_controls = len(sample.translate(None, _NO_CONTROLS)) * 20 > len(sample)
        if sample.count(0) * 10 > len(sample) or (many_controls and not _is_utf8(sample)):
            foreign = "binary data"
    if foreign is None and start.startswith(_MARKUP):
        foreign = "a web page or XML"
    if foreign is not None:
        remedy = "save the table of votes in one of these formats"
        raise InputError(f"not a table of votes but {foreign}", ALLOWED_FILES, remedy)
    promised = _TITLES.get(extension)
    if promised == "JSON Lines" or start.startswith(b"{"):
        return "jsonl"
    return "jsonl" if start.startswith(b"[") and promised != "CSV" else "csv"


def unzip(data: bytes) -> bytes:
    """Return the content of a gzip file, never unpacking more than ``MAX_UNPACKED`` bytes.

    Raises InputError for a damaged file and for one that unpacks to more.
    """
    content = io.BytesIO()
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "gzip") as stream:
            while content.tell() <= limits.MAX_UNPACKED and (piece := stream.read(_BLOCK)):
                content.write(piece)
    except OSError:
        problem = "the gzip content is damaged or cut off, or other data follows it"
        raise InputError(problem, remedy=errors.EXPORT_AGAIN) from None
    if content.tell() > limits.MAX_UNPACKED:
        raise too_large_unpacked()
    return content.getvalue()


def text_of(path: Path) -> str:
    """Return the text of a file; raise InputError if it cannot be read."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise errors.unopened(error, path.name) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=path.name, remedy=errors.SAVE_AS_UTF8) from None


def from_utf16(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return UTF-16 text with a byte order mark as UTF-8, and a note; other bytes unchanged.

    Raises InputError for damaged UTF-16 and for text that becomes too large.
    """
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data, ()
    try:
        return _bounded(data.decode("utf-16")), ("Read as UTF-16 text.",)
    except UnicodeDecodeError as error:
        problem = f"damaged UTF-16 text at byte {error.start}"
        raise InputError(problem, "UTF-8 or UTF-16 text", errors.SAVE_AS_UTF8) from None


def from_western(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return non-UTF-8 text decoded as Windows-1252 or Latin-1, and a note; UTF-8 unchanged."""
    if data.isascii() or _is_utf8(data):
        return data, ()
    try:
        title, text = "Windows-1252", data.decode("cp1252")
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
