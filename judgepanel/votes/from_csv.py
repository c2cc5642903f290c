"""Delimited text -> RawTable.

Columns whose cells hold one character or none, as votes do, are read from the bytes: a cell of one
byte is its own code, while a parser needs a hash table for every cell of a column of texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from judgepanel.votes.arrow_columns import Codes, ColumnParts, check_cells, unreadable
from judgepanel.votes.errors import InputError
from judgepanel.votes.remedies import EXPORT_AGAIN
from judgepanel.votes.structure import Structure, check_text, delimiter_of, scan
from judgepanel.votes.table import (
    MOST_TITLES,
    RawTable,
    check_size,
    column_names,
    title_note,
)
from judgepanel.votes.words import is_verdict

Bytes = NDArray[np.uint8]

_BLOCK = 1 << 20
_LF = 10
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
