"""Coverage of judge outputs: how many had a readable verdict, and what changed with the order."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from judgepanel.votes.verdicts import LEVELS, REASONS


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
        rows = [
            {"judge": judge.judge, "outputs": judge.outputs, "read": judge.read, "rate": judge.rate}
            | dict(zip(LEVELS, judge.levels, strict=True))
            | dict(zip(REASONS, judge.reasons, strict=True))
            for judge in sorted(self.judges, key=lambda judge: judge.rate)
        ]
        return pd.DataFrame(rows)
