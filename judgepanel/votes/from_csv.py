"""Text with separated columns -> RawTable."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from judgepanel.votes.errors import InputError
from judgepanel.votes.structure import Structure, check_text, delimiter_of, scan
from judgepanel.votes.table import RawTable, check_size, column_names

_LINE_END = re.compile(rb"[\r\n]")
_BOM = b"\xef\xbb\xbf"
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 22, 1 << 30


def read_csv(data: bytes, name: str) -> RawTable:
    """Comma, semicolon or tab separated text; the delimiter is the header's most frequent one.

    Raises InputError (without the file's name) for text that is not a regular table.
    """
    check_text(data)
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
    delimiter = delimiter_of(_first_line(data))
    found = scan(data, delimiter)
    names = column_names(found.header, found.header_line)
    check_size(found.n_records, len(names))
    frame = _parse(data, delimiter, found, names)
    return RawTable(frame, name, "csv", found.first_line, found.lines, found.header_line)


def _first_line(data: bytes) -> str:
    """The header as far as its quotation marks are closed, or the first line if they never are."""
    start = len(data) - len(data.lstrip(b"\r\n"))
    first = end = _line_end(data, start)
    while data.count(b'"', start, end) % 2 and end < len(data):
        end = _line_end(data, end + 1)
    closed = data.count(b'"', start, end) % 2 == 0
    return data[start : end if closed else first].decode()


def _line_end(data: bytes, start: int) -> int:
    found = _LINE_END.search(data, start)
    return found.start() if found else len(data)


def _parse(data: bytes, delimiter: str, found: Structure, names: list[str]) -> pd.DataFrame:
    """Every cell as text, by dictionary: 100 million votes are a byte each, not an object each."""
    places = [str(position) for position in range(len(names))]
    body = memoryview(data)[found.body :]
    quoted = b'"' in data
    # A block holds whole records; wide tables get larger ones, as each has a cost per column.
    block = min(max(_SMALLEST_BLOCK, 2 * found.longest, 1024 * len(names)), _LARGEST_BLOCK)
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=pa.csv.ReadOptions(column_names=places, block_size=block),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted and found.lines is not None,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.dictionary(pa.int32(), pa.string())),
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a readable CSV table: {error}") from None
    if table.num_rows != found.n_records:
        raise InputError(f"{found.n_records} rows were found, but {table.num_rows} could be read")
    columns: dict[str, pd.Categorical] = {}
    chunks = table.columns
    del table
    for name in reversed(names):
        columns[name] = _column(chunks.pop())
    return pd.DataFrame({name: columns[name] for name in names})


def _column(chunks: pa.ChunkedArray) -> pd.Categorical:
    values = chunks.combine_chunks() if chunks.num_chunks != 1 else chunks.chunk(0)
    codes = np.asarray(values.indices)
    words = pd.Index(values.dictionary.to_pandas(), dtype="str")
    return pd.Categorical.from_codes(codes, categories=words, validate=False)
