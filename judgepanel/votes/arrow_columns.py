"""Arrow columns as texts, for Parquet files, Arrow files and frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from judgepanel.votes.column_parts import ColumnParts, check_cells
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.remedies import EXPORT_AGAIN
from judgepanel.votes.table import check_size, column_names

_COLUMNS_AT_ONCE = 64


def frame_of(
    schema: pa.Schema, n_rows: int, parts_of: Callable[[list[str]], Iterator[Sequence[pa.Array]]]
) -> pd.DataFrame:
    """Return categorical columns of a table; ``parts_of`` yields given columns in row batches.

    Raises InputError for a table without rows, too many cells, and nested or binary columns.
    """
    names = column_names(schema.names, None)
    if n_rows == 0:
        raise InputError(
            "columns but no rows", allowed="at least one row", remedy="write rows into the file"
        )
    check_size(n_rows, len(names))
    for name, kind in zip(names, schema.types, strict=True):
        check_kind(kind, name)
    columns: dict[str, pd.Categorical] = {}
    dtypes: dict[tuple[str, ...], pd.CategoricalDtype] = {}
    for start in range(0, len(names), _COLUMNS_AT_ONCE):
        here = names[start : start + _COLUMNS_AT_ONCE]
        parts = [ColumnParts() for _ in here]
        for arrays in parts_of(schema.names[start : start + _COLUMNS_AT_ONCE]):
            for name, part, values in zip(here, parts, arrays, strict=True):
                part.add(*texts_of(values, name))
        columns.update((name, part.finish(dtypes)) for name, part in zip(here, parts, strict=True))
    return pd.DataFrame(columns, copy=False)


def unreadable(title: str, error: Exception) -> InputError:
    """Return pyarrow's error as an InputError; an InputError is returned unchanged."""
    if isinstance(error, InputError):
        return error
    return InputError(
        f"not a readable {title} file: {quote_value(error, 160)[1:-1]}", remedy=EXPORT_AGAIN
    )


def check_kind(kind: pa.DataType, name: str) -> None:
    """Refuse columns of nested or binary values."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    of_bytes = (
        *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
        pa.types.is_fixed_size_binary,
    )
    if pa.types.is_nested(kind) or any(is_kind(kind) for is_kind in of_bytes):
        raise InputError(
            "nested or binary values",
            column=name,
            value=kind,
            allowed="columns of text, numbers, true and false",
            remedy="write its parts as columns of their own, or take the column out",
        )


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
    """Return the distinct values as texts."""
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
