"""Verdicts read from outputs of judges, and their coverage: how many outputs had a readable one.

A verdict on a pair is its side as shown; the order in which the two responses were shown turns the
side into a vote on the item (:func:`vote_of`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from judgepanel.votes.matrix import MISSING
from judgepanel.votes.names import ordered

Side = Literal["A", "B"]
Level = Literal["bracket", "field", "bold", "stated", "closing", "opening", "letter", "score"]

LEVELS: tuple[Level, ...] = get_args(Level)
REASONS = ordered(
    "empty|only reasoning|tie|contradiction|no verdict|unusable|several scores|cut off|refused|"
    "another script"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed output: a side and its form, or None and the reason, one of ``REASONS``."""

    side: Side | None
    level: Level | None = None
    reason: str | None = None


def read_scores(first: float, second: float) -> Parsed:
    """Return the verdict in two scores: the higher one; equal or missing scores have no verdict."""
    if first == second:
        return Parsed(None, "score", "tie")
    if not (math.isfinite(first) and math.isfinite(second)):
        return Parsed(None, "score", "empty")
    return Parsed("A" if first > second else "B", "score")


def vote_of(side: Side | None, first_shown_first: bool) -> int:
    """Return the vote on the item: 1 if its first output is better, 0 the second, -1 no verdict.

    ``first_shown_first`` tells whether the judge was shown the item's first output as A.
    """
    return MISSING if side is None else int((side == "A") == first_shown_first)


@dataclass(frozen=True, slots=True)
class Unread:
    """An output without a verdict: its location, the reason, and an excerpt (untrusted text)."""

    judge: str
    item: str
    row: int
    reason: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class JudgeCoverage:
    """Counts over the outputs of one judge that count as its verdict on an item.

    ``outputs`` is the total, ``levels`` counts verdicts by form (in the order of ``LEVELS``) and
    ``reasons`` counts outputs without one (in the order of ``REASONS``); ``shown_first`` counts
    verdicts for the response shown first. ``both`` items have a verdict in both orders: ``same`` of
    them for the same response, ``both_first`` twice for the response shown first, the rest twice
    for the one shown second.
    """

    judge: str
    outputs: int
    levels: tuple[int, ...]
    reasons: tuple[int, ...]
    shown_first: int
    both: int
    same: int
    both_first: int

    def __post_init__(self) -> None:
        # Counts stored before a reason was introduced have no outputs with that reason.
        newer = len(REASONS) - len(self.reasons)
        object.__setattr__(self, "reasons", (*self.reasons, *[0] * newer))

    @property
    def read(self) -> int:
        """Number of outputs with a verdict."""
        return sum(self.levels)

    @property
    def rate(self) -> float:
        """Share of outputs with a verdict, in [0, 1]; a tie is not a verdict."""
        return self.read / self.outputs


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of all outputs in a file by judge, with examples of outputs that were not read.

    ``notes`` are sentences about outputs and judges that do not count.
    """

    judges: tuple[JudgeCoverage, ...]
    unread: tuple[Unread, ...]
    notes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """Number of outputs that count."""
        return sum(judge.outputs for judge in self.judges)

    @property
    def rate(self) -> float:
        """Share of all outputs with a verdict, in [0, 1]."""
        return sum(judge.read for judge in self.judges) / self.outputs

    def frame(self) -> pd.DataFrame:
        """Return one row per judge, the lowest coverage first."""
        return pd.DataFrame(
            {"judge": judge.judge, "outputs": judge.outputs, "read": judge.read, "rate": judge.rate}
            | dict(zip(LEVELS, judge.levels, strict=True))
            | dict(zip(REASONS, judge.reasons, strict=True))
            for judge in sorted(self.judges, key=lambda judge: judge.rate)
        )
