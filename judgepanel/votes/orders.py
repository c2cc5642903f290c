"""Which of an item's two responses was shown first, and verdicts by place turned back by it.

A verdict by place names what the judge saw first or second. Where both orders were shown, the vote
is what both verdicts say, or what one says beside a tie; two verdicts for the same place contradict
each other and are no vote, but a sign of position bias.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.columns import Column
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.names import names_order, tokens_of
from judgepanel.votes.table import RawTable
from judgepanel.votes.words import distinct

SWAPPED = "swapped"
ORDER_NAMES = ("order", SWAPPED)
ALLOWED_ORDERS = "AB or BA, A first or B first, original or swapped, false or true"

_ORDERS = {
    **dict.fromkeys(("original", "original order", "as given", "not swapped", "unswapped"), 1),
    **dict.fromkeys(("false", "0", "first", "forward", "normal", "g1", "game1", "no"), 1),
    **dict.fromkeys(("swapped", "swap", "swapped order", "reversed", "reverse order"), 0),
    **dict.fromkeys(("true", "2", "second", "reverse", "flipped", "g2", "game2", "yes"), 0),
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
_MOST_ORDERS = 6
_MIRRORED = 0.15
_SURE = 4.0
"""Standard errors by which verdicts must be for and against the label to tell their meaning."""


def says_orders(column: Column) -> bool:
    """Whether a column has words for both orders and no others."""
    few = 1 < len(column.given) <= _MOST_ORDERS
    return few and set(_ways(column.name, column.given)) == {0, 1}


def order_column(table: RawTable) -> str | None:
    """Return the column of the order: one whose words are all known, before one of other words."""
    free = {name.lower(): name for name in reversed(table.columns)}
    present = [free[name] for name in ORDER_NAMES if name in free]
    named = [name for name in table.columns if name not in present and names_order(name)]
    present += [name for name in named if says_orders(Column(name, table.frame[name]))]
    known = (name for name in present if (forward_of(table, name) >= 0).all())
    return next(known, next(iter(present), None))


def first_shown(table: RawTable, column: str | None) -> tuple[NDArray[np.int8], list[str]]:
    """Return 1 if the item's first output was shown as A, 0 if as B, -1 if unknown."""
    if column is None:
        note = "There is no column for the order: A is read as the item's first output everywhere."
        return np.ones(table.n_rows, dtype=np.int8), [note]
    forward = forward_of(table, column)
    lost = np.flatnonzero(forward < 0)
    if not len(lost):
        return forward, []
    example = table.frame[column].iloc[int(lost[0])]
    if len(lost) == len(forward):
        problem = "the order in which the two were shown is not known"
        always = "take the column out where A is always the item's first output"
        remedy = f"write one of these words in every row, or {always}"
        raise InputError(problem, ALLOWED_ORDERS, remedy).in_cell(table, column, 0)
    many = "outputs are" if len(lost) > 1 else "output is"
    note = (
        f"{len(lost):,} {many} left out because the order is not known, the first in row "
        f"{table.row(int(lost[0]))} ({quote_value(example)}); known: {ALLOWED_ORDERS}."
    )
    return forward, [note]


def forward_of(table: RawTable, column: str) -> NDArray[np.int8]:
    """Return what a column of orders says of each row (n_rows,), see :func:`first_shown`."""
    codes, words = distinct(table.frame[column])
    return np.array(_ways(column, words) or [MISSING], dtype=np.int8)[codes]


def _ways(name: str, words: Sequence[str]) -> list[int]:
    """Return what each word of a column says: 1 as given, 0 the other order, -1 unknown.

    Numbers are 0 and 1, or 1 and 2; in a column called ``order`` a 1 alone may be either.
    """
    numbers = {word.strip() for word in words} & {"0", "1", "2"}
    of_flags = {"0": 1, "1": 0, "2": MISSING}
    is_flag = bool({"swap", "swapped", "flip", "flipped", "reversed"} & set(tokens_of(name)))
    of_numbers = of_flags if is_flag or "0" in numbers else {"1": 1 if "2" in numbers else MISSING}
    return [of_numbers.get(word.strip(), order_of(word)) for word in words]


def order_of(word: str) -> int:
    """Return 1 if the item's first output was shown as A, 0 if as B, -1 for an unknown word.

    'A first', 'output_1 first', 'AB' and '1,2' mean the same; 'order:' may precede any of them. A 1
    alone is unknown: it is the first of 1 and 2, and the second of 0 and 1.
    """
    if len(word) > _LONGEST_ORDER:
        return MISSING
    plain = " ".join(word.split()).lower().removeprefix("order").lstrip(" :=")
    if plain in _ORDERS:
        return _ORDERS[plain]
    match = _SHOWN_FIRST.fullmatch(plain)
    if match is None:
        return MISSING
    first, second = (side and side.translate(_LETTERED) for side in match.groups())
    return MISSING if first == second else int(first == "a")


def are_by_place(
    votes: NDArray[np.int8], labels: NDArray[np.int8], forward: NDArray[np.int8]
) -> bool | None:
    """Return whether verdicts are by place: for the label in one order, against it in the other.

    Arguments are (n_rows,): votes as written, the label of the item, the order. False where they
    are for the label in both orders, None where the labels do not tell.
    """
    signs = []
    for way in (1, 0):
        rows = (forward == way) & (votes >= 0) & (labels >= 0)
        n = int(rows.sum())
        right = int((votes[rows] == labels[rows]).sum())
        signs.append((2 * right - n) / np.sqrt(n) if n else 0.0)
    as_given, other = signs
    if as_given > _SURE and other < -_SURE / 2:
        return True
    return False if as_given > _SURE / 2 and other > _SURE / 2 else None


def given_order(
    votes: NDArray[np.int8], labels: NDArray[np.int8], column: Column
) -> tuple[str, str] | None:
    """Return the two words of a column that tells the order, the order as given first; or None.

    ``votes`` and ``labels`` (n_rows,) are as in :func:`are_by_place`. Beside one word verdicts are
    as often for the label as they are against it beside the other: a subset on which judges err,
    however hard it is, is not turned around.
    """
    for first, second in permutations(column.given) if len(column.given) == 2 else ():
        rows = [column.codes == column.words.index(word) for word in (first, second)]
        forward = np.select(rows, [1, 0], MISSING).astype(np.int8)
        known = (votes >= 0) & (labels >= 0)
        shares = [(votes == labels)[own & known].mean() for own in rows if (own & known).any()]
        if are_by_place(votes, labels, forward) and abs(sum(shares) - 1.0) < _MIRRORED:
            return first, second
    return None
