"""By which numbers a column of formatted numbers sorts.

Tables for people hold ``0.331 [0.215, 0.448]``, ``12 %`` or ``< .001``. As text, 9 % comes after
12 %; here such cells become numbers that still print as they did.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_NUMBER = r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_FORMATTED = re.compile(
    rf"(?:p )?(?:[<>=] ?|\[)?({_NUMBER})"
    rf"( ?%)?(?: ?x)?(?: ?(?:-|to|of|,|/) ?{_NUMBER}(?: ?%)?)?\]?"
    r"(?: \[[^\[\]]{1,60}\])?(?: \([^()]{1,60}\))?(?: [^\W\d][^\d\[\]()]{0,40})?"
)
_NO_DIFFERENCE = ("the same", "reference")
_LONGEST = 120


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


def sort_keys(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """The numbers of a column of formatted numbers; None for a column of anything else.

    It is one of numbers where more cells are numbers than words. Words and blanks, which stand
    where there is no number, have NaN.
    """
    keys = {cell: sort_key(cell) for cell in set(texts)}
    formatted = [cell for cell in texts if keys[cell] is not None]
    words = sum(bool(cell.strip()) and keys[cell] is None for cell in texts)
    if words >= len(formatted) or all(cell in _NO_DIFFERENCE for cell in formatted):
        return None
    return np.array([math.nan if (key := keys[cell]) is None else key for cell in texts])
