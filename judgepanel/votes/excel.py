"""Excel workbook (.xlsx, .xlsm) -> RawTable, with python-calamine.

One sheet is read: the one called 'votes', otherwise the first visible sheet with content. Its first
row with content, below a title, is the header; rows are numbered as in the sheet, and empty rows
are skipped.
Formulas are read as the values saved with them.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import chain, islice
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from judgepanel.votes import limits, table
from judgepanel.votes.columnar import ColumnParts, frame_from, texts_of
from judgepanel.votes.errors import SAVE_WORKBOOK, InputError, listed, quote_value
from judgepanel.votes.installed import require
from judgepanel.votes.table import RawTable

ZIP = b"PK\x03\x04"
_BOOK = "xl/workbook.xml"
_CELL = re.compile(rb"\br\s*=\s*[\"']([A-Za-z]{0,99})([0-9]{1,99})[\"']")
"""The reference of a cell, or the number of a row, whether or not a workbook may have it."""
_PIECE, _LONGEST_CELL = 1 << 20, 256
_BLOCK = 10_000
_Row = tuple[int, list[Any]]


def is_workbook(data: bytes) -> bool:
    """Whether the bytes are a workbook, possibly a damaged one."""
    if not data.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _BOOK in archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def read_excel(data: bytes, name: str) -> RawTable:
    """Return the table on one sheet of a workbook.

    Raises InputError (without the file's name) for a workbook that is damaged, protected, empty or
    too large, and if python-calamine is not installed.
    """
    calamine = require("python_calamine", "reading workbooks")
    try:
        return _read(calamine, data, name)
    except (InputError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # Panics of the library do not derive from Exception.
        if type(error).__name__ == "PasswordError":
            remedy = "save it without the password, or save its sheet as CSV"
            raise InputError("the workbook is protected by a password", remedy=remedy) from None
        raise InputError("the workbook is damaged", remedy=SAVE_WORKBOOK) from None


def _read(calamine: Any, data: bytes, name: str) -> RawTable:
    _check_extent(data)
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    sheets = {
        sheet.name: book.get_sheet_by_name(sheet.name)
        for sheet in book.sheets_metadata
        if sheet.typ == calamine.SheetTypeEnum.WorkSheet
        and sheet.visible == calamine.SheetVisibleEnum.Visible
    }
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
    wide = (place for place, (_, row) in enumerate(start) if sum(map(_held, row)) > 1)
    header = next(wide, 0)
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
    columns = [ColumnParts() for _ in names]
    lines: list[int] = []
    while block := list(islice(filled, _BLOCK)):
        lines += [number for number, _ in block]
        for place, (name, column) in enumerate(zip(names, columns, strict=True)):
            words = pa.array([_text(row[place]) for _, row in block], pa.string())
            column.add(*texts_of(words, name))
        _check_beside(block, len(names))
    if not lines:
        remedy = "save the workbook with the votes in it, and with their sheet called votes"
        raise InputError("the sheet has a header and no rows", "one row per item", remedy)
    return frame_from(names, columns), header, np.array(lines, dtype=np.int32)


def _check_beside(block: list[_Row], n_columns: int) -> None:
    for number, row in block:
        beside = next((cell for cell in row[n_columns:] if _held(cell)), None)
        if beside is not None:
            problem = "a cell stands beside the table, in a column without a name"
            remedy = "name the column in the header, or clear the cell"
            text = _text(beside)
            raise InputError(problem, "a name for every column", remedy, row=number, value=text)


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
