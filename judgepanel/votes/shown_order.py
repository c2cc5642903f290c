"""Which of an item's two outputs was shown first, in words of judges' files."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.table import RawTable
from judgepanel.votes.words import distinct

SWAPPED = "swapped"
ORDER_NAMES = ("order", SWAPPED)
ALLOWED_ORDERS = "AB or BA, A first or B first, original or swapped, false or true"

_ORDERS = {
    **dict.fromkeys(("original", "original order", "as given", "not swapped", "unswapped"), True),
    **dict.fromkeys(("false", "0", "first", "forward"), True),
    **dict.fromkeys(("swapped", "swap", "swapped order", "reversed", "reverse order"), False),
    **dict.fromkeys(("true", "2", "second", "reverse"), False),
}
_SHOWN = (
    r"(?:(?:output|response|answer|assistant|solution|model|candidate|option|completion)[ _-]?)?"
    r"[(\[]?([ab12])[)\]]?"
)
_SHOWN_FIRST = re.compile(
    rf"{_SHOWN}[ _-]?(?:(?:is |was )?(?:shown |presented )?first"
    rf"|(?:,? (?:and )?then |, ?|/|-| ?-> ?| before |){_SHOWN})"
)
_LONGEST_ORDER = 80
_LETTERED = str.maketrans("12", "ab")


def order_column(table: RawTable) -> str | None:
    """Return the column of the order: one whose words are all known, before one of other words."""
    free = {name.lower(): name for name in reversed(table.columns)}
    present = [free[name] for name in ORDER_NAMES if name in free]
    known = (name for name in present if (_ways(table, name)[1] >= 0).all())
    return next(known, next(iter(present), None))


def first_shown(table: RawTable, column: str | None) -> tuple[NDArray[np.int8], list[str]]:
    """Return 1 if the item's first output was shown as A, 0 if as B, -1 if unknown."""
    if column is None:
        note = "There is no column for the order: A is read as the item's first output everywhere."
        return np.ones(table.n_rows, dtype=np.int8), [note]
    words, forward = _ways(table, column)
    lost = np.flatnonzero(forward < 0)
    if not len(lost):
        return forward, []
    example = words[lost[0]]
    if len(lost) == len(forward):
        raise InputError(
            "the order in which the two were shown is not known",
            row=table.row(0),
            column=column,
            value=example,
            allowed=ALLOWED_ORDERS,
            remedy="write one of these words in every row, or take the column out where A is "
            "always the item's first output",
        )
    many = "outputs are" if len(lost) > 1 else "output is"
    note = (
        f"{len(lost):,} {many} left out because the order is not known, the first in row "
        f"{table.row(int(lost[0]))} ({quote_value(example)}); known: {ALLOWED_ORDERS}."
    )
    return forward, [note]


def _ways(table: RawTable, column: str) -> tuple[NDArray[np.object_], NDArray[np.int8]]:
    """Return the words (n_rows,) of a column of orders, and what they say, see :func:`first_shown`.

    Numbers are 0 and 1, or 1 and 2; in a column called ``order`` a 1 alone may be either.
    """
    codes, words = distinct(table.frame[column])
    numbers = {word.strip() for word in words} & {"0", "1", "2"}
    if column.strip().lower() == SWAPPED or "0" in numbers:
        of_numbers = {"0": 1, "1": 0, "2": MISSING}
    else:
        of_numbers = {"1": 1 if "2" in numbers else MISSING}
    known = [of_numbers.get(word.strip(), order_of(word)) for word in words]
    forward = np.array(known or [MISSING], dtype=np.int8)[codes]
    return np.array(words or [""], dtype=object)[codes], forward


def order_of(word: str) -> int:
    """Return 1 if the item's first output was shown as A, 0 if as B, -1 for an unknown word.

    'A first', 'output_1 first', 'AB' and '1,2' mean the same; 'order:' may precede any of them. A 1
    alone is unknown: it is the first of 1 and 2, and the second of 0 and 1.
    """
    if len(word) > _LONGEST_ORDER:
        return MISSING
    plain = " ".join(word.split()).lower().removeprefix("order").lstrip(" :=")
    if plain in _ORDERS:
        return int(_ORDERS[plain])
    match = _SHOWN_FIRST.fullmatch(plain)
    if match is None:
        return MISSING
    first, second = (side and side.translate(_LETTERED) for side in match.groups())
    return MISSING if first == second else int(first == "a")
