"""Columns of texts from Arrow arrays, for CSV, Excel, Parquet and Arrow files and for frames.

A column is assembled from the dictionary-encoded parts in which a file is read: each distinct text
is held once, however many rows share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from judgepanel.votes import limits
from judgepanel.votes.errors import SHOWN_LENGTH, InputError, quote_value
from judgepanel.votes.remedies import EXPORT_AGAIN
from judgepanel.votes.table import check_size, column_names

Codes = NDArray[np.signedinteger]
_FEW = 8
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

    def finish(self, dtypes: dict[tuple[str, ...], pd.CategoricalDtype]) -> pd.Categorical:
        """Return the column. ``dtypes`` caches dtypes across columns with the same few words."""
        words = pa.concat_arrays(self._words).dictionary_encode()
        place = words.indices.to_numpy(zero_copy_only=False).astype(smallest(len(words.dictionary)))
        start = np.cumsum([0, *map(len, self._words)])
        of_words = [place[first:end] for first, end in pairwise(start)]
        parts = [_moved(part, of_words[k]) for k, part in zip(self._of, self._codes, strict=True)]
        self._codes.clear()
        self._words.clear()
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return pd.Categorical.from_codes(
            codes, dtype=_dtype(words.dictionary, dtypes), validate=False
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
        text = words.filter(pc.equal(pc.utf8_length(words), longest))[0]
        raise InputError(
            f"the cell has {longest:,} characters",
            column=column,
            value=pc.utf8_slice_codeunits(text, 0, SHOWN_LENGTH + 1).as_py(),
            allowed=f"at most {limits.MAX_CELL:,}",
            remedy="shorten it in the file",
        )


def _dtype(
    words: pa.Array, dtypes: dict[tuple[str, ...], pd.CategoricalDtype]
) -> pd.CategoricalDtype:
    few = len(words) <= _FEW
    texts: Sequence[str] = words.to_pylist() if few else ()
    dtype = dtypes.get(tuple(texts)) if few else None
    if dtype is None:
        dtype = pd.CategoricalDtype(pd.Index(words.to_pandas(), dtype="str"))
        if few:
            dtypes[tuple(texts)] = dtype
    return dtype


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
    if pa.types.is_floating(kind) and not pa.types.is_float64(kind):
        # Their own digits: .7 in single precision is .699999988079071 in double precision.
        numbers = values.to_numpy(zero_copy_only=False)
        texts = [str(number) for number in numbers]
        return pa.array(np.where(values.is_null().to_numpy(False), "", texts), pa.string())
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return pa.array([_text(value) for value in values.to_pylist()], pa.string())
    texts = values.cast(pa.string())
    texts.validate(full=True)
    return texts.fill_null("")


def _text(value: bool | int | float | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
