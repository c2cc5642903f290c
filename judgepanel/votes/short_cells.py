"""Columns of a CSV whose cells hold one character or none, as votes do, read from the bytes.

A parser needs a hash table for every cell of a column of texts. A cell of one byte is its own code.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from judgepanel.votes.column_parts import Codes
from judgepanel.votes.structure import Structure

_BLOCK = 1 << 20
_LF = 10
_LONG = np.uint8(255)
"""Stands for a longer cell: UTF-8 has no such byte."""

Bytes = NDArray[np.uint8]


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
