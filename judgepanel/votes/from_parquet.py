"""Parquet -> RawTable, through pyarrow's own reader: nothing in the file is ever executed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from judgepanel.votes import limits
from judgepanel.votes.column_parts import ColumnParts, check_cells
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.table import RawTable, check_size, column_names, too_large_unpacked

_COLUMNS_AT_ONCE = 64
_ROWS_AT_ONCE = 1 << 18


def read_parquet(data: bytes, name: str) -> RawTable:
    """Columns of text, numbers, booleans, dates; numbers as Python would write them.

    Texts are read as the file's dictionaries have them: one that a million rows share is held once.

    Raises InputError (without the file's name) for a file that is not Parquet, or has nested or
    binary columns.
    """
    try:
        schema = pa.parquet.read_schema(pa.BufferReader(data))
        texts = [field.name for field in schema if _is_text(field.type)]
        file = pa.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        frame = _frame(file)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not a readable Parquet file: {quote_value(error, 160)[1:-1]}") from None
    return RawTable(frame, name, "parquet", first_row=1)


def _frame(file: pa.parquet.ParquetFile) -> pd.DataFrame:
    raw = file.schema_arrow.names
    names = column_names(raw, None)
    if file.metadata.num_rows == 0:
        raise InputError(
            "columns but no rows", allowed="at least one row", remedy="write rows into the file"
        )
    check_size(file.metadata.num_rows, len(names))
    for name, kind in zip(names, file.schema_arrow.types, strict=True):
        check_kind(kind, name)
    groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > limits.MAX_UNPACKED:
        raise too_large_unpacked()
    columns: dict[str, pd.Categorical] = {}
    dtypes: dict[tuple[str, ...], pd.CategoricalDtype] = {}
    for start in range(0, len(raw), _COLUMNS_AT_ONCE):
        here = names[start : start + _COLUMNS_AT_ONCE]
        parts = [ColumnParts() for _ in here]
        for batch in _batches(file, raw[start : start + _COLUMNS_AT_ONCE]):
            for name, part, values in zip(here, parts, batch, strict=True):
                part.add(*texts_of(values, name))
        columns.update((name, part.finish(dtypes)) for name, part in zip(here, parts, strict=True))
    return pd.DataFrame(columns, copy=False)


def _batches(file: pa.parquet.ParquetFile, columns: list[str]) -> Iterator[list[pa.Array]]:
    batches = file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns, use_threads=False)
    for batch in batches:
        yield [batch.column(name) for name in columns]


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def check_kind(kind: pa.DataType, name: str) -> None:
    """Refuse a column of nested or binary values."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise InputError(
            "nested or binary values",
            column=name,
            value=kind,
            allowed="columns of text, numbers, true and false",
            remedy="write its parts as columns of their own, or take the column out",
        )


def texts_of(values: pa.Array, name: str) -> tuple[np.ndarray, pa.Array]:
    """Codes (n,) into the texts that occur; what is missing is the empty text."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int8), pa.array([""])
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    words = _words(values.dictionary)
    check_cells(words, name)
    nul = pc.index(pc.match_substring(words, "\0"), True).as_py()
    if nul >= 0:
        raise InputError(
            "NUL character",
            column=name,
            value=words[nul].as_py(),
            allowed="plain text",
            remedy="write the column again without it",
        )
    codes = values.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    words = pa.concat_arrays([words, pa.array([""])])
    used = np.bincount(codes, minlength=len(words)) > 0
    if not used.all():
        codes = (np.cumsum(used) - 1)[codes]
        words = words.filter(pa.array(used))
    return codes, words


def _words(values: pa.Array) -> pa.Array:
    """The distinct values as texts."""
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        plain = values.cast(pa.float64()) if pa.types.is_floating(kind) else values
        return pa.array([_text(value) for value in plain.to_pylist()], pa.string())
    texts = values.cast(pa.string())
    texts.validate(full=True)
    return texts.fill_null("")


def _text(value: bool | int | float | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
