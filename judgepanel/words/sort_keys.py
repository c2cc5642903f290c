"""By which numbers a column of formatted numbers sorts.

Tables for people hold ``0.331 [0.215, 0.448]``, ``12 %`` or ``< .001``. As text, 9 % comes after
12 %; here such cells become numbers that still print as they did.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pandas as pd

_NUMBER = r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_FORMATTED = re.compile(
    rf"(?:p )?(?:[<>=] ?|\[)?({_NUMBER})"
    rf"( ?%)?(?: ?x)?(?: ?(?:-|to|of|,|/) ?{_NUMBER}(?: ?%)?)?\]?"
    r"(?: \[[^\[\]]{1,60}\])?(?: \([^()]{1,60}\))?(?: [^\W\d][^\d\[\]()]{0,40})?"
)
_NO_DIFFERENCE = ("the same", "reference")
_LONGEST = 120


class Sortable(float):
    """A number that sorts, and the text that is shown for it."""

    __slots__ = ("text",)

    def __new__(cls, key: float, text: str) -> Sortable:
        self = super().__new__(cls, key)
        self.text = text
        return self

    text: str

    def __str__(self) -> str:
        return self.text


def sort_key(text: str) -> float | None:
    """The number that a cell begins with; None where it is no formatted number.

    Per cent become shares, as a screen reader is given the number alone. An interval alone counts
    by its lower end, 'the same' and 'reference' as no difference.
    """
    plain = text.strip()
    if plain in _NO_DIFFERENCE:
        return 0.0
    match = _FORMATTED.fullmatch(plain) if len(plain) <= _LONGEST else None
    if match is None:
        return None
    number = float(match[1].replace(",", ""))
    return number / 100 if match[2] else number


def sortable(cells: Sequence[object]) -> list[Sortable] | None:
    """A column of formatted numbers as numbers; None for a column of anything else.

    It is one of numbers where more cells are numbers than words. Words and blanks, which stand
    where there is no number, come before all numbers.
    """
    if not all(isinstance(cell, str) or cell is None for cell in cells):
        return None
    texts = ["" if cell is None else str(cell) for cell in cells]
    keys = {text: sort_key(text) for text in set(texts)}
    numbers = [text for text in texts if keys[text] is not None]
    words = sum(bool(text.strip()) and keys[text] is None for text in texts)
    if words >= len(numbers) or all(text in _NO_DIFFERENCE for text in numbers):
        return None
    return [Sortable(-math.inf if (key := keys[text]) is None else key, text) for text in texts]


def with_sort_keys(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The frame with its formatted numbers as :class:`Sortable`, and the columns that have them."""
    columns = {
        name: cells
        for name in frame.columns
        if not pd.api.types.is_numeric_dtype(frame[name])
        and (cells := sortable(frame[name].tolist())) is not None
    }
    numbers = {
        name: pd.Series(cells, index=frame.index, dtype=object) for name, cells in columns.items()
    }
    return frame.assign(**numbers), tuple(columns)
