"""A judge's verdict on a pair: its side, the form it was read from, or why there is none.

The order in which the two responses were shown turns the side into a vote on the item, see
:func:`vote_of`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from judgepanel.votes.matrix import MISSING

Side = Literal["A", "B"]
Level = Literal["bracket", "field", "bold", "stated", "closing", "opening", "letter", "score"]
Reason = Literal["empty", "only reasoning", "tie", "contradiction", "no verdict", "unusable"]

LEVELS: tuple[Level, ...] = get_args(Level)
REASONS: tuple[Reason, ...] = get_args(Reason)


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed output: a side and its form, or None and the reason."""

    side: Side | None
    level: Level | None = None
    reason: Reason | None = None


def read_scores(first: float, second: float) -> Reading:
    """Return the verdict in two scores: the higher one; equal or missing scores have no verdict."""
    if first == second:
        return Reading(None, "score", "tie")
    if not (math.isfinite(first) and math.isfinite(second)):
        return Reading(None, "score", "empty")
    return Reading("A" if first > second else "B", "score")


def vote_of(side: Side | None, first_shown_first: bool) -> int:
    """Return the vote on the item: 1 if its first output is better, 0 the second, -1 no verdict.

    ``first_shown_first`` tells whether the judge was shown the item's first output as A.
    """
    if side is None:
        return MISSING
    return int((side == "A") == first_shown_first)
