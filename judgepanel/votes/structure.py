"""Validation of a CSV's structure in one streaming pass over the bytes before parsing.

CSV parsers are too tolerant for votes: they pad short rows, close open quotes and drop NUL bytes.
This pass refuses those, and records the line on which each record starts.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError
from judgepanel.votes.remedies import CORRECT_LINE, RENAME_COLUMN, SAVE_AS_UTF8

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
