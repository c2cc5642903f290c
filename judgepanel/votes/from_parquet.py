"""Parquet -> RawTable, with pyarrow's reader: nothing in the file is ever executed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes import limits
from judgepanel.votes.arrow_columns import frame_of, unreadable
from judgepanel.votes.table import RawTable, too_large_unpacked

_ROWS_AT_ONCE = 1 << 18


def read_parquet(data: bytes, name: str) -> RawTable:
    """Return columns of text, numbers, booleans and dates; numbers as Python writes them.

    Texts are read with the file's dictionaries: a text that a million rows share is held once.

    Raises InputError (without the file's name) for a file that is not Parquet, and for nested or
    binary columns.
    """
    try:
        schema = pa.parquet.read_schema(pa.BufferReader(data))
        texts = [field.name for field in schema if _is_text(field.type)]
        file = pa.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > limits.MAX_UNPACKED:
            raise too_large_unpacked()

        def parts_of(columns: list[str]) -> Iterator[Sequence[pa.Array]]:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns, use_threads=False):
                yield [batch.column(column) for column in columns]

        frame = frame_of(file.schema_arrow, file.metadata.num_rows, parts_of)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable("Parquet", error) from None
    return RawTable(frame, name, "parquet", first_row=1)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
