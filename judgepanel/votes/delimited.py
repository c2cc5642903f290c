"""Delimited text -> RawTable: its structure is checked in one pass, then its cells are read.

CSV parsers are too tolerant for votes: they pad short rows, close open quotes and drop NUL bytes.
The first pass over the bytes refuses those, and records the line on which each record starts.
Columns whose cells hold one character or none, as votes do, are then read from the bytes: a cell of
one byte is its own code, while a parser needs a hash table for every cell of a column of texts.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from judgepanel.votes import limits
from judgepanel.votes.columnar import Codes, ColumnParts, check_cells, unreadable
from judgepanel.votes.errors import (
    CORRECT_LINE,
    EXPORT_AGAIN,
    RENAME_COLUMN,
    SAVE_AS_UTF8,
    InputError,
)
from judgepanel.votes.table import (
    MOST_TITLES,
    RawTable,
    check_size,
    column_names,
    title_note,
)
from judgepanel.votes.words import is_verdict

_QUOTE, _CR, _LF = 34, 13, 10
_BLOCK = 1 << 20
_QUOTING = 'cells quoted as "text", with any quotation mark inside them doubled'


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The shape of a CSV.

    Attributes
    ----------
    header : the names in the first record, as written.
    header_line : line of the file (from 1) on which the header starts.
    body : byte offset of the first record after the header.
    n_records : number of records after the header, blank lines not counted.
    lines : int32 (n_records,), the line on which each record starts; None if record i is on line
        ``first_line + i``.
    first_line : line of the first record.
    longest : length of the longest record in bytes.
    """

    header: tuple[str, ...]
    header_line: int
    body: int
    n_records: int
    lines: NDArray[np.int32] | None
    first_line: int
    longest: int


@dataclass(frozen=True, slots=True, eq=False)
class _Records:
    """The records that end in one block: byte offsets, number of cells, first line."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    cells: NDArray[np.int64]
    lines: NDArray[np.int32]


@dataclass(slots=True)
class _Scan:
    """State carried from one block to the next: the open record and the open quote."""

    inside: bool = False
    quote_line: int = 1
    record_start: int = 0
    record_line: int = 1
    record_cuts: int = 0
    line: int = 1


def check_text(data: bytes) -> None:
    """Refuse NUL bytes and bytes that are not UTF-8, with their line and offset."""
    offset = data.find(b"\0")
    if offset >= 0:
        raise InputError(
            f"NUL byte at byte {offset}",
            row=line_at(data, offset),
            allowed="plain UTF-8 text",
            remedy=SAVE_AS_UTF8,
        )
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=start + _BLOCK >= len(data))
        except UnicodeDecodeError as error:
            offset = start - pending + error.start
            raise InputError(
                f"not UTF-8 text at byte {offset}",
                row=line_at(data, offset),
                value=f"byte 0x{data[offset]:02X}",
                allowed="UTF-8 encoding",
                remedy=SAVE_AS_UTF8,
            ) from None


def line_at(data: bytes, offset: int) -> int:
    """Return the line (from 1) of a byte offset."""
    return data.count(b"\n", 0, offset) + 1


def delimiter_of(header: str) -> str:
    """Return the delimiter of a header line: the most frequent of , ; tab and | outside quotes.

    Raises InputError if there is none.
    """
    bare = "".join(header.split('"')[::2])
    best = max(",;\t|", key=bare.count)
    if bare.count(best) == 0:
        raise InputError(
            "not a CSV table, the first line has one column only",
            row=1,
            value=header.strip(),
            allowed="a header of columns separated by comma, semicolon, tab or |",
            remedy="save the table as CSV with one of these, and without a title above the header",
        )
    return best


def scan(data: bytes, delimiter: str) -> Structure:
    """Check every record of the text and return where they are.

    Raises InputError for an open quote, a quotation mark inside a cell, a record with too few or
    too many cells, and a header without records.
    """
    state = _Scan()
    quoted = b'"' in data
    header: tuple[str, ...] = ()
    header_line, body, longest = 1, 0, 0
    lines: list[NDArray[np.int32]] = []
    for offset, block in _blocks(data):
        records = _records_of(block, offset, ord(delimiter), quoted, state)
        first = 0
        if not header and len(records.starts):
            start, end = int(records.starts[0]), int(records.ends[0])
            header_line, first = int(records.lines[0]), 1
            header = _header(data[start:end], delimiter, header_line)
        if not body and len(records.starts) > first:
            body = int(records.starts[first])
        _refuse_ragged(records.cells[first:], records.lines[first:], len(header))
        lines.append(records.lines[first:])
        longest = max(longest, int((records.ends - records.starts).max(initial=0)))
    if state.inside:
        raise _open_quote(state.quote_line)
    rows = np.concatenate(lines) if lines else np.zeros(0, np.int32)
    if len(rows) == 0:
        raise InputError(
            "a header but no rows",
            allowed="at least one row below the header",
            remedy="export the table again, with its rows",
        )
    regular = int(rows[-1]) - int(rows[0]) == len(rows) - 1
    row_numbers = None if regular else rows
    return Structure(header, header_line, body, len(rows), row_numbers, int(rows[0]), longest)


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield blocks that end with a line feed, so that no CR LF or closing quote is split."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + _BLOCK, len(data)))
        end = len(data) if end < 0 else end + 1
        block = data[start:end]
        yield start, block if block.endswith(b"\n") else block + b"\n"
        start = end


def _records_of(block: bytes, offset: int, delimiter: int, quoted: bool, state: _Scan) -> _Records:
    codes = np.frombuffer(block, np.uint8)
    breaks = codes == _LF
    if b"\r" in block:
        lone = codes == _CR
        lone[:-1] &= codes[1:] != _LF
        breaks |= lone
    cuts = codes == delimiter
    line_ends = record_ends = np.flatnonzero(breaks)
    if quoted:
        inside = _inside_quotes(codes, breaks | cuts, line_ends, state)
        breaks &= ~inside
        cuts &= ~inside
        record_ends = np.flatnonzero(breaks)
    records = _locate(codes, record_ends, np.flatnonzero(cuts), line_ends, state)
    state.line += len(line_ends)
    return _Records(records.starts + offset, records.ends + offset, records.cells, records.lines)


def _inside_quotes(
    codes: NDArray[np.uint8],
    borders: NDArray[np.bool_],
    line_ends: NDArray[np.int64],
    state: _Scan,
) -> NDArray[np.bool_]:
    """Return which bytes lie inside quotes; refuse quotes in the middle of a cell."""
    marks = codes == _QUOTE
    inside: NDArray[np.bool_] = np.bitwise_xor.accumulate(marks) ^ state.inside
    places = np.flatnonzero(marks)
    opens = places[inside[places]]
    closes = places[~inside[places]]
    fine = borders | marks
    loose = opens[(opens > 0) & ~fine[opens - 1]]
    if len(closes):
        loose = np.append(loose, closes[~(fine | (codes == _CR))[closes + 1]])
    if len(loose):
        at = int(loose.min())
        before = opens[opens <= at]
        line = state.quote_line
        if len(before):
            line = state.line + int(np.searchsorted(line_ends, before[-1]))
        raise InputError(
            "a quotation mark in the middle of a cell, or one that is opened and never closed",
            row=line,
            allowed=_QUOTING,
            remedy=CORRECT_LINE,
        )
    if len(opens):
        state.quote_line = state.line + int(np.searchsorted(line_ends, opens[-1]))
    state.inside = bool(inside[-1])
    return inside


def _locate(
    codes: NDArray[np.uint8],
    ends: NDArray[np.int64],
    cuts: NDArray[np.int64],
    line_ends: NDArray[np.int64],
    state: _Scan,
) -> _Records:
    """Return the records that end in this block without blank lines; offsets within the block."""
    if len(ends) == 0:
        state.record_cuts += len(cuts)
        state.record_start -= len(codes)
        nothing = np.zeros(0, np.int64)
        return _Records(nothing, nothing, nothing, nothing.astype(np.int32))
    starts = np.concatenate([[state.record_start], ends[:-1] + 1])
    passed = np.searchsorted(cuts, ends)
    cells = np.diff(passed, prepend=-state.record_cuts) + 1
    after = state.line + np.searchsorted(line_ends, ends, side="right")
    lines = np.concatenate([[state.record_line], after[:-1]]).astype(np.int32)
    state.record_cuts = len(cuts) - int(passed[-1])
    state.record_start = int(ends[-1]) + 1 - len(codes)
    state.record_line = int(after[-1])
    sizes = ends - starts
    nonblank = ~((sizes == 0) | ((sizes == 1) & (codes[ends - 1] == _CR)))
    return _Records(starts[nonblank], ends[nonblank], cells[nonblank], lines[nonblank])


def _header(raw: bytes, delimiter: str, line: int) -> tuple[str, ...]:
    text = raw.decode().rstrip("\r")
    try:
        return tuple(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)))
    except csv.Error:  # The csv module's own limit on the size of a cell.
        raise InputError(
            "the name of a column is too long",
            row=line,
            allowed=f"at most {limits.MAX_NAME:,} characters",
            remedy=RENAME_COLUMN,
        ) from None


def _refuse_ragged(cells: NDArray[np.int64], lines: NDArray[np.int32], expected: int) -> None:
    wrong = np.flatnonzero(cells != expected)
    if len(wrong):
        n_cells = int(cells[wrong[0]])
        raise InputError(
            f"{n_cells} {'cell' if n_cells == 1 else 'cells'} where the header has {expected}",
            row=int(lines[wrong[0]]),
            allowed=f"{expected} cells in every row",
            remedy="put quotation marks around a cell that holds a separator; remove a title that "
            "stands above the header",
        )


def _open_quote(line: int) -> InputError:
    return InputError(
        "a quotation mark is opened and never closed",
        row=line,
        allowed=_QUOTING,
        remedy=CORRECT_LINE,
    )


# --- cells --------------------------------------------------------------------------------------

Bytes = NDArray[np.uint8]

_LONG = np.uint8(255)
"""Stands for a longer cell: UTF-8 has no such byte."""

_LINE_END = re.compile(rb"[\r\n]")
_LINE_BREAK = re.compile(rb"\r\n|[\r\n]")
_SPECIAL = re.compile(r'[",;\t|]')
_BESIDE = " ,;\t|"
_LONGEST_TITLE = 1 << 12
# Possessive quantifiers never backtrack, so matching takes linear time.
_HEADER = re.compile(rb'(?:[^"\r\n]++|"[^"]*+")*+')
_BOM = b"\xef\xbb\xbf"
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 22, 1 << 30


def read_csv(data: bytes, name: str) -> RawTable:
    """Read text separated by comma, semicolon, tab or |, whichever is most frequent in the header.

    Raises InputError (without the file's name) for text that is not a regular table.
    """
    check_text(data)
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
    data, notes = _without_titles(data)
    delimiter = delimiter_of(_first_line(data))
    structure = scan(data, delimiter)
    names = column_names(structure.header, structure.header_line)
    check_size(structure.n_records, len(names))
    frame = _parse(data, delimiter, structure, names)
    return RawTable(
        frame,
        name,
        "csv",
        structure.first_line,
        structure.lines,
        structure.header_line,
        notes=notes,
    )


def _without_titles(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return text with blank lines instead of titles above the header, and notes on the titles.

    A title is a line of a single cell, and the first line of several cells is the header unless
    one of them is a verdict, which no header has.
    """
    notes: list[str] = []
    for number, (start, end) in enumerate(_lines(data), start=1):
        if len(notes) > MOST_TITLES:
            break
        line = data[start:end].decode()
        cell = line.strip(_BESIDE)
        if end - start <= _LONGEST_TITLE and _is_single(cell):
            notes += [title_note(number, cell.strip('"'))] if cell else []
            continue
        if not notes or line.count('"') % 2:
            break
        names = [name.strip(' "') for name in line.split(delimiter_of(line))]
        if any(map(is_verdict, names)) or len(set(names)) < len(names):
            break
        return b"\n" * (number - 1) + data[start:], tuple(notes)
    return data, ()


def _lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each line of text starts and ends."""
    start = 0
    for ending in _LINE_BREAK.finditer(data):
        yield start, ending.start()
        start = ending.end()


def _is_single(cell: str) -> bool:
    """Whether the text is one cell: quoted, or without a separator."""
    inner = cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else None
    return '"' not in inner if inner is not None else not _SPECIAL.search(cell)


def _first_line(data: bytes) -> str:
    """Return the header up to where its quotes are closed, or the first line if they never are."""
    start = len(data) - len(data.lstrip(b"\r\n"))
    header = _HEADER.match(data, start)
    end = start if header is None else header.end()
    if data[end : end + 1] == b'"':
        first = _LINE_END.search(data, start)
        end = len(data) if first is None else first.start()
    return data[start:end].decode()


def _parse(data: bytes, delimiter: str, structure: Structure, names: list[str]) -> pd.DataFrame:
    """Return every cell as dictionary-encoded text: one byte per vote instead of one object."""
    columns = [ColumnParts() for _ in names]
    short = short_columns(data, delimiter, structure, len(names))
    long = [place for place in range(len(names)) if place not in short]
    while short:
        place, cells = short.popitem()
        columns[place].add(*words_of(cells))
    n_rows = 0 if long else structure.n_records
    try:
        for batch in _batches(data, delimiter, structure, len(names), long) if long else ():
            n_rows += batch.num_rows
            for place, values in zip(long, batch.columns, strict=True):
                check_cells(values.dictionary, names[place])
                columns[place].add(values.indices.to_numpy(), values.dictionary)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise unreadable("CSV", error) from None
    if n_rows != structure.n_records:
        raise InputError(
            f"{structure.n_records} rows were found, but {n_rows} could be read",
            remedy=EXPORT_AGAIN,
        )
    dtypes: dict[tuple[str, ...], pd.CategoricalDtype] = {}
    return pd.DataFrame(
        {name: columns[place].finish(dtypes) for place, name in enumerate(names)}, copy=False
    )


def _batches(
    data: bytes, delimiter: str, structure: Structure, n_columns: int, wanted: list[int]
) -> Iterator[pa.RecordBatch]:
    places = [str(position) for position in range(n_columns)]
    body = memoryview(data)[structure.body :]
    quoted = b'"' in data
    # A block holds whole records; wide tables get larger blocks, as each costs time per column.
    block = min(max(_SMALLEST_BLOCK, 2 * structure.longest, 1024 * n_columns), _LARGEST_BLOCK)
    return iter(
        pa.csv.open_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=pa.csv.ReadOptions(
                column_names=places, block_size=block, use_threads=False
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted and structure.lines is not None,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.dictionary(pa.int32(), pa.string())),
                include_columns=[places[place] for place in wanted],
                strings_can_be_null=False,
            ),
        )
    )


def short_columns(
    data: bytes, delimiter: str, structure: Structure, n_columns: int
) -> dict[int, Bytes]:
    """Return columns by place: the byte of each cell, uint8 (n_records,), 0 for an empty one.

    Empty if a file has quotes, carriage returns or records that are not lines: then a cell cannot
    be told from its bytes alone.
    """
    if structure.lines is not None or b'"' in data or b"\r" in data:
        return {}
    columns = np.empty((n_columns, structure.n_records), np.uint8)
    short, start = np.arange(n_columns), 0
    for cells in _cells(data, delimiter, structure, n_columns):
        short = short[cells[:, short].max(axis=0, initial=0) != _LONG]
        if not len(short):
            return {}
        columns[short, start : start + len(cells)] = cells.T[short]
        start += len(cells)
    return {int(place): columns[place] for place in short}


def words_of(cells: Bytes) -> tuple[Codes, pa.Array]:
    """Return codes (n,) and the distinct texts in order of appearance."""
    # Comparing all cells once for each of a few words is much faster than a look-up of each cell.
    words: list[str] = []
    codes = np.zeros(len(cells), np.int8)
    unseen = np.ones(len(cells), dtype=bool)
    while unseen.any():
        byte = cells[unseen.argmax()]
        here = cells == byte
        codes += here.view(np.int8) * np.int8(len(words))
        words.append(chr(byte) if byte else "")
        unseen &= ~here
    return codes, pa.array(words, pa.string())


def _cells(data: bytes, delimiter: str, structure: Structure, n_columns: int) -> Iterator[Bytes]:
    """Yield cells (n, n_columns) of some records: a byte, 0 if empty, ``_LONG`` if longer.

    All cells count as longer if a record is longer than a block.

    A cell ends at a cut; if another cut is one byte before it the cell is empty, and if the other
    is two bytes before it the cell has one byte. Arithmetic on bytes is much faster than masks.
    """
    start, n_left = structure.body, structure.n_records
    while n_left:
        end = data.find(b"\n", min(start + _BLOCK, len(data)))
        end = len(data) if end < 0 else end + 1
        if end - start > 2 * _BLOCK:  # Copies of a giant cell would take all memory.
            yield np.full((1, n_columns), _LONG)
            return
        codes = np.full(end - start + 3, _LF, np.uint8)
        codes[2:-1] = np.frombuffer(data, np.uint8, end - start, start)
        cut = (codes == ord(delimiter)) | (codes == _LF)
        here, before = cut[1:-1], cut[:-2]
        last = codes[1:-1] * ~here | _LONG * ~(here | before)
        cells = last[np.flatnonzero(cut[2:])]
        n = min(len(cells) // n_columns, n_left)  # Blank lines may follow the last record.
        yield cells[: n * n_columns].reshape(n, n_columns)
        start, n_left = end, n_left - n
