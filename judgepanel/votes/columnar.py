"""Arrow files and streams (Feather too), Parquet files and data frames -> RawTable.

A column is assembled from the dictionary-encoded parts in which a file is read: each distinct text
is held once, however many rows share it. All files are read with pyarrow, which executes nothing.
CSV and Excel files assemble their columns in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from judgepanel.votes import limits, table
from judgepanel.votes.errors import EXPORT_AGAIN, InputError, quote_value
from judgepanel.votes.names import FEATURE_PREFIX
from judgepanel.votes.table import Format, RawTable

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
    return pd.DataFrame(
        {name: column.finish() for name, column in zip(names, columns, strict=True)}, copy=False
    )


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
    except (InputError, MemoryError):
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


def _read(
    opened: Callable[[bytes], tuple[pa.Schema, int, _Parts]], data: bytes, name: str, kind: Format
) -> RawTable:
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
    try:
        names = table.column_names([str(column) for column in frame.columns], None)
        if not len(frame):
            raise InputError("columns but no rows", "at least one row", "add rows to the frame")
        table.check_size(len(frame), len(names))
        renamed = _with_features(names, features)
        columns = {
            column: _column(frame.iloc[:, position], column)
            for position, column in enumerate(renamed)
        }
    except InputError as error:
        raise error.in_file(name) from None
    return RawTable(pd.DataFrame(columns, copy=False), name, "frame", first_row=1)


def _with_features(names: list[str], features: Sequence[str]) -> list[str]:
    if isinstance(features, str):
        features = (features,)
    for feature in features:
        if feature not in names:
            remedy = "name features that are columns of the frame"
            raise table.no_column(names, str(feature), remedy)
    wanted = {feature for feature in features if not feature.startswith(FEATURE_PREFIX)}
    return table.column_names([f"{FEATURE_PREFIX}{n}" if n in wanted else n for n in names], None)


def _column(values: pd.Series, column: str) -> pd.Categorical:
    array = _array(values)
    check_kind(array.type, column)
    parts = ColumnParts()
    parts.add(*texts_of(array, column))
    return parts.finish()


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
    cells = zip(values.tolist(), values.isna(), strict=True)
    return pa.array([None if missing else _cell_text(cell) for cell, missing in cells], pa.string())


def _cell_text(cell: object) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
