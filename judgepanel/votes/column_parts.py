"""A text column assembled from the dictionary-encoded parts in which a file is read.

Each distinct text is held once, however many rows share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from judgepanel.votes import limits
from judgepanel.votes.errors import SHOWN_LENGTH, InputError

Codes = NDArray[np.signedinteger]


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


_FEW = 8
