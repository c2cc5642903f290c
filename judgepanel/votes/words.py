"""Verdict words: what people write for "the first is better", "the second", and "no verdict"."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.cells import is_number
from judgepanel.votes.matrix import MISSING

UNKNOWN = -2
ALLOWED_VERDICTS = (
    "0, 1, true, false, A, B, A>B, B>A, model_a, model_b, tie, or blank, NA, -1 for no verdict"
)
ALLOWED_LABELS = "0, 1, true, false, A, B, A>B, B>A, model_a, model_b, or blank for no label"

MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>"})
_TIES = frozenset({"tie", "tie (bothbad)", "tie(bothbad)", "both", "draw"})
_CODES: dict[str, int] = {
    "true": 1,
    "false": 0,
    "a": 1,
    "b": 0,
    "a>b": 1,
    "a > b": 1,
    "b>a": 0,
    "b > a": 0,
    "model_a": 1,
    "model_b": 0,
    **dict.fromkeys(MISSING_WORDS | _TIES, MISSING),
}


def verdict_of(word: str) -> int:
    """1 (the first, A, or true), 0, -1 (no verdict: missing or a tie) or ``UNKNOWN`` (-2).

    Case and blanks around the word do not matter.
    """
    plain = word.strip().lower()
    code = _CODES.get(plain)
    if code is not None:
        return code
    if is_number(plain):
        number = float(plain)
        if number in (0.0, 1.0, -1.0):
            return int(number)
    return UNKNOWN


def is_verdict(word: str) -> bool:
    """Whether the word is a verdict, a tie or a missing one."""
    return verdict_of(word) != UNKNOWN


def verdicts_of(cells: pd.Series) -> NDArray[np.int8]:
    """int8 (n,) in {0, 1, -1 missing, -2 unknown word}; each distinct word is read once."""
    codes, words = distinct(cells)
    table = np.array([verdict_of(word) for word in words] or [MISSING], dtype=np.int8)
    return np.asarray(table[codes], dtype=np.int8)


def ties_in(cells: pd.Series) -> NDArray[np.bool_]:
    """Which cells say tie, both or draw."""
    codes, words = distinct(cells)
    table = np.array([word.strip().lower() in _TIES for word in words] or [False], dtype=bool)
    return np.asarray(table[codes], dtype=bool)


def distinct(cells: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Codes (n,) into the list of the words that occur in the cells."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return np.asarray(cells.cat.codes), [str(word) for word in cells.cat.categories]
    codes, words = pd.factorize(cells)
    return np.asarray(codes), [str(word) for word in words]
