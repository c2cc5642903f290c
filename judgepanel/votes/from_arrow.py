"""Arrow files and streams (including Feather), folders of them, and Parquet files -> RawTable.

All are read with pyarrow: nothing in a file is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from judgepanel.votes import limits
from judgepanel.votes.arrow_columns import frame_of, unreadable
from judgepanel.votes.errors import InputError, listed
from judgepanel.votes.remedies import EXPORT_AGAIN
from judgepanel.votes.table import RawTable, too_large_unpacked

_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"
_STATE, _SPLITS = "state.json", "dataset_dict.json"
_ROWS_AT_ONCE = 1 << 18


def is_arrow(data: bytes) -> bool:
    """Whether the bytes start like an Arrow file (Feather version 2) or an Arrow stream."""
    return data.startswith((_FILE, _STREAM))


def read_arrow(data: bytes, name: str) -> RawTable:
    """Return the text, number, boolean and date columns of an Arrow file, as for Parquet.

    Raises InputError (without the file's name) for bytes that are not Arrow, content that unpacks
    to too much, and nested or binary columns.
    """
    return read_dataset([data], name)


def is_dataset(folder: Path) -> bool:
    """Whether a folder was written by ``save_to_disk`` of Hugging Face's datasets."""
    return (folder / _STATE).is_file() or (folder / _SPLITS).is_file()


def dataset_files(folder: Path) -> list[Path]:
    """Return the Arrow files of a dataset on disk, in order.

    Raises
    ------
    InputError
        A folder with several splits, or one whose list of files is damaged or points outside it.
    """
    if not (folder / _STATE).is_file():
        splits = _json(folder / _SPLITS).get("splits")
        known = [str(split) for split in splits] if isinstance(splits, list) else []
        raise InputError(
            "the dataset has several splits",
            file=folder.name,
            allowed=f"one split: {listed(known, 5)}" if known else "the folder of one split",
            remedy="name the folder of one of them",
        )
    state = _json(folder / _STATE)
    entries = state.get("_data_files")
    names = [
        entry.get("filename") if isinstance(entry, dict) else None
        for entry in (entries if isinstance(entries, list) else [])
    ]
    paths = [folder / name for name in names if isinstance(name, str) and _is_plain(name)]
    if not paths or len(paths) < len(names) or not all(path.is_file() for path in paths):
        raise InputError(
            "the list of data files is damaged, or one of them is not there",
            file=f"{folder.name}/{_STATE}",
            remedy="write the dataset again with save_to_disk",
        )
    return paths


def read_dataset(parts: Sequence[bytes], name: str) -> RawTable:
    """Return the concatenated rows of several Arrow files with the same columns."""
    try:
        readers = [_opened(data) for data in parts]
        schema = readers[0].schema
        if not all(reader.schema.equals(schema) for reader in readers):
            raise InputError(
                "its files have different columns",
                allowed="the same columns in all",
                remedy=EXPORT_AGAIN,
            )

        batches = list(_batches(readers))

        def parts_of(columns: list[str]) -> Iterator[Sequence[pa.Array]]:
            places = [schema.names.index(column) for column in columns]
            for batch in batches:
                for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                    some = batch.slice(start, _ROWS_AT_ONCE)
                    yield [some.column(place) for place in places]

        frame = frame_of(schema, sum(batch.num_rows for batch in batches), parts_of)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable("Arrow", error) from None
    return RawTable(frame, name, "arrow", first_row=1)


def _is_plain(name: str) -> bool:
    return Path(name).name == name and name not in (".", "..")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes()) if path.stat().st_size <= 1 << 20 else None
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(
            "it cannot be read as JSON",
            file=f"{path.parent.name}/{path.name}",
            remedy="write the dataset again with save_to_disk",
        )
    return content


def _opened(data: bytes) -> Any:
    source = pa.BufferReader(data)
    return pa.ipc.open_file(source) if data.startswith(_FILE) else pa.ipc.open_stream(source)


def _batches(readers: Sequence[Any]) -> Iterator[pa.RecordBatch]:
    """Yield all batches after checking each: the metadata of a file may be wrong anywhere."""
    unpacked = 0
    for reader in readers:
        count = getattr(reader, "num_record_batches", None)
        for batch in reader if count is None else map(reader.get_batch, range(count)):
            batch.validate(full=True)
            unpacked += batch.get_total_buffer_size()
            if unpacked > limits.MAX_UNPACKED:
                raise too_large_unpacked()
            yield batch


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
