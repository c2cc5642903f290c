"""Delimited text -> RawTable: its structure is checked in one pass, then its cells are read.

CSV parsers are too tolerant for votes: they pad short rows, close open quotes and drop NUL bytes.
The first pass over the bytes refuses those, and records the line on which each record starts.
Columns whose cells hold one character or none, as votes do, are then read from the bytes: a cell of
one byte is its own code, while a parser needs a hash table for every cell of a column of texts.

Arrow files and streams (Feather too), Parquet files and data frames -> RawTable.

A column is assembled from the dictionary-encoded parts in which a file is read: each distinct text
is held once, however many rows share it. All files are read with pyarrow, which executes nothing.
CSV and Excel files assemble their columns in the same way.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Ints
from judgepanel.votes import errors, limits, table
from judgepanel.votes.cells import FEATURE_PREFIX, is_verdict
from judgepanel.votes.errors import EXPORT_AGAIN, InputError, quote_value
from judgepanel.votes.table import RawTable

Codes = NDArray[np.signedinteger]
_FEW, _SHORT = 8, 1 << 10
_COLUMNS_AT_ONCE = 64


class ColumnParts:
    """The parts of one column in order: codes and the texts that they index."""

    __slots__ = ("_codes", "_of", "_words")

    def __init__(self) -> None:
        self._codes: list[Codes] = []
        self._of: list[int] = []
        self._words: list[pa.Array] = []

    def add(self, codes: Codes, words: pa.Array) -> None:
        """Add a part: ``codes`` (n,) are positions in ``words``, which has no nulls."""
        if not self._words or not words.equals(self._words[-1]):
            self._words.append(words)
        self._codes.append(codes.astype(smallest(len(words)), copy=False))
        self._of.append(len(self._words) - 1)

    def finish(self) -> pd.Categorical:
        """Return the column, and forget its parts."""
        words = pa.concat_arrays(self._words).dictionary_encode()
        place = words.indices.to_numpy(zero_copy_only=False).astype(smallest(len(words.dictionary)))
        start = np.cumsum([0, *map(len, self._words)])
        of_words = [place[first:end] for first, end in pairwise(start)]
        parts = [_moved(part, of_words[k]) for k, part in zip(self._of, self._codes, strict=True)]
        self._codes.clear()
        self._words.clear()
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return pd.Categorical.from_codes(codes, dtype=_dtype(words.dictionary), validate=False)


def frame_from(names: Sequence[str], columns: Sequence[ColumnParts]) -> pd.DataFrame:
    """Return the columns, which forget their parts, as a frame."""
    named = zip(names, columns, strict=True)
    return pd.DataFrame({name: column.finish() for name, column in named}, copy=False)


def _moved(codes: Codes, to: Codes) -> Codes:
    """Return ``to[codes]``, without a look-up of each cell where the codes stay what they are."""
    same = np.array_equal(to, np.arange(len(to)))
    return codes.astype(to.dtype, copy=False) if same else to[codes]


def smallest(n_words: int) -> np.dtype[np.signedinteger]:
    """Return the smallest signed integer type that holds -1 and codes of ``n_words`` words."""
    return np.dtype(np.min_scalar_type(-max(n_words, 1)))


def check_cells(words: pa.Array, column: str) -> None:
    """Refuse texts of more than ``MAX_CELL`` characters."""
    longest = pc.max(pc.utf8_length(words)).as_py() or 0
    if longest > limits.MAX_CELL:
        text = words.filter(pc.equal(pc.utf8_length(words), longest))[0].as_py()
        table.check_length(text, limits.MAX_CELL, "the cell", column=column)


def _dtype(words: pa.Array) -> pd.CategoricalDtype:
    if len(words) <= _FEW and words.nbytes <= _SHORT:
        return _shared_dtype(tuple(words.to_pylist()))
    return pd.CategoricalDtype(pd.Index(words.to_pandas(), dtype="str"))


@lru_cache(maxsize=64)
def _shared_dtype(words: tuple[str, ...]) -> pd.CategoricalDtype:
    """Return the dtype of columns with these words; thousands of judges may have the same few."""
    return pd.CategoricalDtype(pd.Index(words, dtype="str"))


@contextmanager
def readable(title: str) -> Iterator[None]:
    """Turn pyarrow's errors into an InputError."""
    try:
        yield
    except InputError:
        raise
    except pa.ArrowMemoryError:  # Also where a damaged file claims to hold that much.
        problem = f"this {title} file is damaged, or needs more memory than there is"
        raise InputError(problem, remedy=EXPORT_AGAIN) from None
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = f"not a readable {title} file: {quote_value(error, 160)[1:-1]}"
        raise InputError(problem, remedy=EXPORT_AGAIN) from None


def check_kind(kind: pa.DataType, name: str) -> None:
    """Refuse columns of nested or binary values."""
    plain = _value_type(kind)
    if pa.types.is_nested(plain) or "binary" in str(plain):
        allowed = "columns of text, numbers, true and false"
        remedy = "write its parts as columns of their own, or take the column out"
        raise InputError("nested or binary values", allowed, remedy, column=name, value=plain)


def _value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, which a dictionary may hold."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def texts_of(values: pa.Array, name: str) -> tuple[np.ndarray, pa.Array]:
    """Return codes (n,) and the distinct texts they index; missing values become the empty text."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int8), pa.array([""])
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    words = _words(values.dictionary)
    check_cells(words, name)
    nul = pc.index(pc.match_substring(words, "\0"), True).as_py()
    if nul >= 0:
        remedy, value = "write the column again without it", words[nul].as_py()
        raise InputError("NUL character", "plain text", remedy, column=name, value=value)
    codes = values.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    words = pa.concat_arrays([words, pa.array([""])])
    used = np.bincount(codes, minlength=len(words)) > 0
    if not used.all():
        codes = (np.cumsum(used) - 1)[codes]
        words = words.filter(pa.array(used))
    return codes, words


def _words(values: pa.Array) -> pa.Array:
    """Return the distinct values as texts."""
    if pa.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False)
        # Their own digits: .7 in single precision is .699999988079071 in double precision.
        own = numbers.tolist() if pa.types.is_float64(values.type) else numbers
        texts = pa.array([str(number) for number in own], pa.string())
        return pc.if_else(values.is_null(), "", texts)
    texts = values.cast(pa.string())
    texts.validate(full=True)
    return texts.fill_null("")


# --- files --------------------------------------------------------------------------------------

_FILE = b"ARROW1"
ARROW = (_FILE, b"\xff\xff\xff\xff")
"""First bytes of an Arrow file (Feather version 2), and of an Arrow stream."""
_ROWS_AT_ONCE = 1 << 18


def read_arrow(data: bytes, name: str) -> RawTable:
    """Return the text, number, boolean and date columns of an Arrow file, as for Parquet.

    Raises InputError (without the file's name) for bytes that are not Arrow, content that unpacks
    to too much, and nested or binary columns.
    """
    return _read(_arrow, data, name, "arrow")


def read_parquet(data: bytes, name: str) -> RawTable:
    """Return columns of text, numbers, booleans and dates; numbers as Python writes them.

    Texts are read with the file's dictionaries: a text that a million rows share is held once.

    Raises InputError (without the file's name) for a file that is not Parquet, and for nested or
    binary columns.
    """
    return _read(_parquet, data, name, "parquet")


_Parts = Callable[[list[str]], Iterator[Sequence[pa.Array]]]
"""Yields given columns in row batches."""
_Open = Callable[[bytes], tuple[pa.Schema, int, _Parts]]


def _read(opened: _Open, data: bytes, name: str, kind: table.Format) -> RawTable:
    with readable(kind.title()):
        schema, n_rows, parts_of = opened(data)
        names = table.column_names(schema.names, None)
        if n_rows == 0:
            raise InputError("columns but no rows", "at least one row", "write rows into the file")
        table.check_size(n_rows, len(names))
        for column, of_column in zip(names, schema.types, strict=True):
            check_kind(of_column, column)
        columns: dict[str, pd.Categorical] = {}
        for start in range(0, len(names), _COLUMNS_AT_ONCE):
            here = names[start : start + _COLUMNS_AT_ONCE]
            parts = [ColumnParts() for _ in here]
            for arrays in parts_of(schema.names[start : start + _COLUMNS_AT_ONCE]):
                for column, part, values in zip(here, parts, arrays, strict=True):
                    part.add(*texts_of(values, column))
            columns |= {column: part.finish() for column, part in zip(here, parts, strict=True)}
    return RawTable(pd.DataFrame(columns, copy=False), name, kind, first_row=1)


def _arrow(data: bytes) -> tuple[pa.Schema, int, _Parts]:
    source = pa.BufferReader(data)
    if data.startswith(_FILE):
        file = pa.ipc.open_file(source)
        schema, given = file.schema, map(file.get_batch, range(file.num_record_batches))
    else:
        given = pa.ipc.open_stream(source)
        schema = given.schema
    batches, unpacked = list[pa.RecordBatch](), 0
    for batch in given:
        batch.validate(full=True)  # The metadata of a file may be wrong anywhere.
        batches.append(batch)
        unpacked += batch.get_total_buffer_size()
        if unpacked > limits.MAX_UNPACKED:
            raise table.too_large_unpacked()

    def parts_of(columns: list[str]) -> Iterator[Sequence[pa.Array]]:
        places = [schema.names.index(column) for column in columns]
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                some = batch.slice(start, _ROWS_AT_ONCE)
                yield [some.column(place) for place in places]

    return schema, sum(batch.num_rows for batch in batches), parts_of


def parquet_in(data: bytes, texts: Sequence[str] | None = None) -> pa.parquet.ParquetFile:
    """Return a Parquet file, its columns of ``texts`` with dictionaries.

    Raises TooLarge (without the file's name) for one that unpacks to too much.
    """
    file = pa.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
    groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > limits.MAX_UNPACKED:
        raise table.too_large_unpacked()
    return file


def _parquet(data: bytes) -> tuple[pa.Schema, int, _Parts]:
    schema = pa.parquet.read_schema(pa.BufferReader(data))
    file = parquet_in(data, [field.name for field in schema if _is_text(field.type)])

    def parts_of(columns: list[str]) -> Iterator[Sequence[pa.Array]]:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns, use_threads=False):
            yield [batch.column(column) for column in columns]

    return file.schema_arrow, file.metadata.num_rows, parts_of


def _is_text(kind: pa.DataType) -> bool:
    kind = _value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


# --- frames -------------------------------------------------------------------------------------

FRAME = "the frame"
"""Name for a frame in messages, which has no file name."""


def read_frame(frame: pd.DataFrame, *, features: Sequence[str] = (), name: str = FRAME) -> RawTable:
    """Return a frame as a table of texts; its index is ignored and rows are numbered from 1.

    ``features`` are columns that describe the items; they are renamed with a leading ``feat_`` as
    in a file.

    Raises
    ------
    InputError
        No rows, a duplicate or unnamed column, a feature that is not a column, nested or binary
        values.
    """
    with errors.in_file(name):
        names = table.column_names([str(column) for column in frame.columns], None)
        if not len(frame):
            raise InputError("columns but no rows", "at least one row", "add rows to the frame")
        table.check_size(len(frame), len(names))
        features = (features,) if isinstance(features, str) else features
        for feature in features:
            if feature not in names:
                remedy = "name features that are columns of the frame"
                raise table.no_column(names, str(feature), remedy)
        wanted = {feature for feature in features if not feature.startswith(FEATURE_PREFIX)}
        renamed = [f"{FEATURE_PREFIX}{own}" if own in wanted else own for own in names]
        columns = {}
        for position, column in enumerate(table.column_names(renamed, None)):
            array = _array(frame.iloc[:, position])
            check_kind(array.type, column)
            parts = ColumnParts()
            parts.add(*texts_of(array, column))
            columns[column] = parts.finish()
    return RawTable(pd.DataFrame(columns, copy=False), name, "frame", first_row=1)


def _array(values: pd.Series) -> pa.Array:
    """Return the cells as an Arrow array; a column of mixed types becomes text."""
    try:
        array = pa.Array.from_pandas(values)
        # Types of pandas' own, such as intervals or periods.
        if isinstance(_value_type(array.type), pa.BaseExtensionType):
            array = _texts(values)
    except (pa.ArrowException, TypeError):
        array = _texts(values)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _texts(values: pd.Series) -> pa.Array:
    texts = (str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in values.tolist())
    cells = zip(texts, values.isna(), strict=True)
    return pa.array([None if missing else text for text, missing in cells], pa.string())


Bytes = NDArray[np.uint8]
_QUOTE, _CR, _LF = 34, 13, 10
_BLOCK = 1 << 20


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


def check_text(data: bytes) -> None:
    """Refuse NUL bytes, with their line and offset."""
    offset = data.find(b"\0")
    if offset >= 0:
        line = data.count(b"\n", 0, offset) + 1
        problem = f"NUL byte at byte {offset}"
        raise InputError(problem, "plain UTF-8 text", errors.SAVE_AS_UTF8, row=line)


def delimiter_of(header: str) -> str:
    """Return the delimiter of a header line: the most frequent of , ; tab and | outside quotes.

    Raises InputError if there is none.
    """
    bare = "".join(header.split('"')[::2])
    best = max(",;\t|", key=bare.count)
    if bare.count(best) == 0:
        problem = "not a CSV table, the first line has one column only"
        allowed = "a header of columns separated by comma, semicolon, tab or |"
        remedy = "save the table as CSV with one of these, and without a title above the header"
        raise InputError(problem, allowed, remedy, row=1, value=header.strip())
    return best


def scan(data: bytes, delimiter: str) -> Structure:
    """Check every record of the text and return where they are.

    Raises InputError for an open quote, a quotation mark inside a cell, a record with too few or
    too many cells, and a header without records.
    """
    lines: list[NDArray[np.int32]] = []
    longest = n_columns = 0
    for sizes, cells, own_lines in _records(data, ord(delimiter)):
        n_columns = n_columns or int(cells[:1].sum())
        ragged = np.flatnonzero(cells != n_columns)
        if len(ragged):
            n_cells = int(cells[ragged[0]])
            counted = "1 cell" if n_cells == 1 else f"{n_cells} cells"
            raise InputError(
                f"{counted} where the header has {n_columns}",
                f"{n_columns} cells in every row",
                "put quotation marks around a cell that holds a separator; remove a title that "
                "stands above the header",
                row=int(own_lines[ragged[0]]),
            )
        lines.append(own_lines)
        longest = max(longest, int(sizes.max(initial=0)))
    rows = np.concatenate(lines)
    header_line, rows = int(rows[0]), rows[1:]
    if len(rows) == 0:
        remedy = "export the table again, with its rows"
        raise InputError("a header but no rows", "at least one row below the header", remedy)
    start, end = _header_span(data)
    header = _header(data[start:end].decode(), delimiter, header_line)
    body = _end_of(_LINE_ENDS, data, end)
    regular = int(rows[-1]) - int(rows[0]) == len(rows) - 1
    row_numbers = None if regular else rows
    return Structure(header, header_line, body, len(rows), row_numbers, int(rows[0]), longest)


def _records(data: bytes, delimiter: int) -> Iterator[tuple[Ints, Ints, NDArray[np.int32]]]:
    """Yield size in bytes, number of cells and first line of the records that end in each block.

    Blank lines are left out.
    """
    quoted = b'"' in data
    inside = False
    n_cuts = n_lines = 0
    # Byte offset of the end of the last record, delimiters and line ends up to there.
    last = np.array([[-1], [0], [0]])
    for offset, block in _blocks(data):
        codes = np.frombuffer(block, np.uint8)
        breaks = codes == _LF
        if b"\r" in block:
            lone = codes == _CR
            lone[:-1] &= codes[1:] != _LF
            breaks |= lone
        cuts = codes == delimiter
        ends = line_ends = np.flatnonzero(breaks)
        if quoted:
            within = _within_quotes(data, offset, codes, breaks | cuts, inside)
            inside = bool(within[-1])
            breaks &= ~within
            cuts &= ~within
            ends = np.flatnonzero(breaks)
        places = np.flatnonzero(cuts)
        cuts_before = n_cuts + np.searchsorted(places, ends)
        lines_before = n_lines + np.searchsorted(line_ends, ends, side="right")
        bounds = np.hstack([last, [ends + offset, cuts_before, lines_before]])
        sizes = np.diff(bounds[0]) - 1
        full = (sizes > 1) | ((sizes == 1) & (codes[ends - 1] != _CR))
        cells = np.diff(bounds[1]) + 1
        yield sizes[full], cells[full], (bounds[2, :-1] + 1).astype(np.int32)[full]
        last = bounds[:, -1:]
        n_cuts += len(places)
        n_lines += len(line_ends)
    if inside:
        raise _loose_quote("a quotation mark is opened and never closed", data, data.rfind(b'"'))


def _blocks(data: bytes, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield blocks that end with a line feed, so that no CR LF or closing quote is split."""
    while start < len(data):
        end = data.find(b"\n", min(start + _BLOCK, len(data)))
        end = len(data) if end < 0 else end + 1
        block = data[start:end]
        yield start, block if block.endswith(b"\n") else block + b"\n"
        start = end


def _within_quotes(data: bytes, offset: int, codes: Bytes, borders: Bools, inside: bool) -> Bools:
    """Return which bytes of a block lie inside quotes; refuse quotes in the middle of a cell."""
    marks = codes == _QUOTE
    within: Bools = np.bitwise_xor.accumulate(marks) ^ inside
    places = np.flatnonzero(marks)
    opens = within[places]
    fine = borders | marks
    beside = np.where(opens, fine[places - 1] | (places == 0), (fine | (codes == _CR))[places + 1])
    loose = places[~beside]
    if len(loose):
        mark = offset + int(loose[0])
        problem = "a quotation mark in the middle of a cell, or one that is opened and never closed"
        opening = mark if within[loose[0]] else data.rfind(b'"', 0, mark)
        raise _loose_quote(problem, data, opening)
    return within


def _loose_quote(problem: str, data: bytes, mark: int) -> InputError:
    """The refusal of a quotation mark; ``mark`` is the one that opens the cell."""
    allowed = 'cells quoted as "text", with any quotation mark inside them doubled'
    feeds, returns, both = (data.count(end, 0, mark) for end in (b"\n", b"\r", b"\r\n"))
    return InputError(problem, allowed, errors.CORRECT_LINE, row=feeds + returns - both + 1)


def _header(text: str, delimiter: str, line: int) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)))
    except csv.Error:  # The csv module's own limit on the size of a cell.
        problem, most = "the name of a column is too long", f"at most {limits.MAX_NAME:,}"
        raise InputError(problem, f"{most} characters", errors.RENAME_COLUMN, row=line) from None


# --- cells --------------------------------------------------------------------------------------

_LONG = np.uint8(255)
"""Stands for a longer cell: UTF-8 has no such byte."""

_SPECIAL = re.compile(r'[",;\t|]')
_LONGEST_TITLE = 1 << 12
# Possessive quantifiers never backtrack, so matching takes linear time.
_LINE = re.compile(rb"([^\r\n]*+)(?:\r\n|[\r\n])")
_UNTIL_LINE_END = re.compile(rb"[^\r\n]*+")
_LINE_ENDS = re.compile(rb"[\r\n]*+")
_HEADER = re.compile(rb'(?:[^"\r\n]++|"[^"]*+")*+')
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 22, 1 << 30


def read_csv(data: bytes, name: str) -> RawTable:
    """Read text separated by comma, semicolon, tab or |, whichever is most frequent in the header.

    Raises InputError (without the file's name) for text that is not a regular table.
    """
    check_text(data)
    data, notes = _without_titles(data.removeprefix(codecs.BOM_UTF8))
    start, end = _header_span(data)
    delimiter = delimiter_of(data[start:end].decode())
    structure = scan(data, delimiter)
    names = table.column_names(structure.header, structure.header_line)
    table.check_size(structure.n_records, len(names))
    # Every cell is dictionary-encoded text: one byte per vote instead of one object.
    columns = [ColumnParts() for _ in names]
    short = short_columns(data, delimiter, structure)
    long = [place for place in range(len(names)) if place not in short]
    while short:
        place, cells = short.popitem()
        columns[place].add(*words_of(cells))
    n_rows = 0 if long else structure.n_records
    with readable("CSV"):
        for batch in _batches(data, delimiter, structure, len(names), long) if long else ():
            n_rows += batch.num_rows
            for place, values in zip(long, batch.columns, strict=True):
                check_cells(values.dictionary, names[place])
                columns[place].add(values.indices.to_numpy(), values.dictionary)
    if n_rows != structure.n_records:
        problem = f"{structure.n_records} rows were found, but {n_rows} could be read"
        raise InputError(problem, remedy=errors.EXPORT_AGAIN)
    frame, first, header = frame_from(names, columns), structure.first_line, structure.header_line
    return RawTable(frame, name, "csv", first, structure.lines, header, notes=notes)


def _without_titles(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return text with blank lines instead of titles above the header, and notes on the titles.

    A title is a line of a single cell, and the first line of several cells is the header unless
    one of them is a verdict, which no header has.
    """
    notes: list[str] = []
    for number, match in enumerate(_LINE.finditer(data), start=1):
        if len(notes) > table.MOST_TITLES:
            break
        line = match[1].decode()
        cell = line.strip(" ,;\t|")
        is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"'
        is_single = '"' not in cell[1:-1] if is_quoted else not _SPECIAL.search(cell)
        if len(match[1]) <= _LONGEST_TITLE and is_single:
            notes += [table.title_note(number, cell.strip('"'))] if cell else []
            continue
        if not notes or line.count('"') % 2:
            break
        names = [name.strip(' "') for name in line.split(delimiter_of(line))]
        if any(map(is_verdict, names)) or len(set(names)) < len(names):
            break
        return b"\n" * (number - 1) + data[match.start() :], tuple(notes)
    return data, ()


def _header_span(data: bytes) -> tuple[int, int]:
    """Return the start of the header and its end: the first line, or until its quotes are closed.

    It ends with the first line as well if the quotes are never closed.
    """
    start = _end_of(_LINE_ENDS, data, 0)
    end = _end_of(_HEADER, data, start)
    if data[end : end + 1] == b'"':
        end = _end_of(_UNTIL_LINE_END, data, start)
    return start, end


def _end_of(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    match = pattern.match(data, start)
    return start if match is None else match.end()


def _batches(
    data: bytes, delimiter: str, structure: Structure, n_columns: int, wanted: list[int]
) -> Iterator[pa.RecordBatch]:
    places = [str(position) for position in range(n_columns)]
    quote = '"' if b'"' in data else False
    # A block holds whole records; wide tables get larger blocks, as each costs time per column.
    block = min(max(_SMALLEST_BLOCK, 2 * structure.longest, 1024 * n_columns), _LARGEST_BLOCK)
    reading = pa.csv.ReadOptions(column_names=places, block_size=block, use_threads=False)
    breaks = bool(quote) and structure.lines is not None
    parsing = pa.csv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=breaks)
    texts = dict.fromkeys(places, pa.dictionary(pa.int32(), pa.string()))
    included = [places[place] for place in wanted]
    converting = pa.csv.ConvertOptions(column_types=texts, include_columns=included)
    body = pa.BufferReader(pa.py_buffer(memoryview(data)[structure.body :]))
    return iter(pa.csv.open_csv(body, reading, parsing, converting))


def short_columns(data: bytes, delimiter: str, structure: Structure) -> dict[int, Bytes]:
    """Return columns by place: the byte of each cell, uint8 (n_records,), 0 for an empty one.

    Empty if a file has quotes, carriage returns or records that are not lines: then a cell cannot
    be told from its bytes alone.
    """
    if structure.lines is not None or b'"' in data or b"\r" in data:
        return {}
    n_columns = len(structure.header)
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
    n_left = structure.n_records
    for _, block in _blocks(data, structure.body):
        if len(block) > 2 * _BLOCK:  # Copies of a giant cell would take all memory.
            yield np.full((1, n_columns), _LONG)
            return
        codes = np.full(len(block) + 2, _LF, np.uint8)
        codes[2:] = np.frombuffer(block, np.uint8)
        cut = (codes == ord(delimiter)) | (codes == _LF)
        here, before = cut[1:-1], cut[:-2]
        last = codes[1:-1] * ~here | _LONG * ~(here | before)
        cells = last[np.flatnonzero(cut[2:])]
        n = min(len(cells) // n_columns, n_left)  # Blank lines may follow the last record.
        yield cells[: n * n_columns].reshape(n, n_columns)
        n_left -= n
