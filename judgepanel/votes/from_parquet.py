"""Parquet -> RawTable, through pyarrow's own reader: nothing in the file is ever executed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes.errors import InputError
from judgepanel.votes.table import RawTable, check_size, column_names, text_column

MAX_UNPACKED = 2_000_000_000
_COLUMNS_AT_ONCE = 64


def read_parquet(data: bytes, name: str) -> RawTable:
    """Columns of text, numbers, booleans, dates; numbers as Python would write them.

    Raises InputError (without the file's name) for a file that is not Parquet, or has nested or
    binary columns.
    """
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(data))
        frame = _frame(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not a readable Parquet file: {error}") from None
    return RawTable(frame, name, "parquet", first_row=1)


def _frame(file: pa.parquet.ParquetFile) -> pd.DataFrame:
    raw = file.schema_arrow.names
    names = column_names(raw, None)
    if file.metadata.num_rows == 0:
        raise InputError(
            "columns but no rows", allowed="at least one row", remedy="write rows into the file"
        )
    check_size(file.metadata.num_rows, len(names))
    groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
        raise InputError("too large when unpacked", allowed=f"{MAX_UNPACKED:,} bytes")
    columns: dict[str, pd.Categorical] = {}
    for start in range(0, len(raw), _COLUMNS_AT_ONCE):
        part = raw[start : start + _COLUMNS_AT_ONCE]
        table = file.read(columns=part)
        for position, column in enumerate(part, start=start):
            columns[names[position]] = _column(table.column(column), names[position])
    return pd.DataFrame(columns)


def _column(chunks: pa.ChunkedArray, name: str) -> pd.Categorical:
    kind = chunks.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        chunks = chunks.cast(kind)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise InputError(
            "nested or binary values",
            column=name,
            value=kind,
            allowed="columns of text, numbers, true and false",
            remedy="write its parts as columns of their own, or take the column out",
        )
    if pa.types.is_null(kind):
        return text_column(np.zeros(len(chunks), np.int8), [""])
    values = chunks.combine_chunks().dictionary_encode()
    texts = [_text(value) for value in _plain(values.dictionary).to_pylist()]
    for text in texts:
        if "\0" in text:
            raise InputError(
                "NUL character",
                column=name,
                value=text,
                allowed="plain text",
                remedy="write the column again without it",
            )
    codes = values.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return text_column(codes, [*texts, ""])


def _plain(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return values
    if pa.types.is_floating(kind):
        return values.cast(pa.float64())
    values = values.cast(pa.string())
    values.validate(full=True)
    return values


def _text(value: bool | int | float | str | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
