"""What was read of the outputs of each judge, and what it says when the order is turned around."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from judgepanel.votes.verdicts import LEVELS, REASONS


@dataclass(frozen=True, slots=True)
class Unread:
    """An output without a verdict: where it stands, why, and an excerpt (untrusted text)."""

    judge: str
    item: str
    row: int
    reason: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class JudgeCoverage:
    """What came of the outputs of one judge that count as its verdict on an item.

    ``outputs`` of them, ``levels`` with a verdict by the form it had (in the order of ``LEVELS``)
    and ``reasons`` without one (of ``REASONS``); ``shown_first`` verdicts for what was shown first.
    ``both`` items have a verdict in both orders: the ``same`` one on the item, or both for what was
    shown first (``both_first``), or else both for what was shown second.
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
        # What was stored before a reason had its name cannot hold outputs with that reason.
        newer = len(REASONS) - len(self.reasons)
        object.__setattr__(self, "reasons", (*self.reasons, *[0] * newer))

    @property
    def read(self) -> int:
        """Outputs with a verdict."""
        return sum(self.levels)

    @property
    def rate(self) -> float:
        """Share of outputs with a verdict, in [0, 1]; a tie is none."""
        return self.read / self.outputs


@dataclass(frozen=True, slots=True)
class Coverage:
    """What came of all outputs in a file, judge by judge, with examples of those not read.

    ``notes`` are sentences about outputs and judges that do not count.
    """

    judges: tuple[JudgeCoverage, ...]
    unread: tuple[Unread, ...]
    notes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """All outputs that count."""
        return sum(judge.outputs for judge in self.judges)

    @property
    def rate(self) -> float:
        """Share of all outputs with a verdict, in [0, 1]."""
        return sum(judge.read for judge in self.judges) / self.outputs

    def frame(self) -> pd.DataFrame:
        """One row per judge, the least read first."""
        rows = [
            {"judge": judge.judge, "outputs": judge.outputs, "read": judge.read, "rate": judge.rate}
            | dict(zip(LEVELS, judge.levels, strict=True))
            | dict(zip(REASONS, judge.reasons, strict=True))
            for judge in sorted(self.judges, key=lambda judge: judge.rate)
        ]
        return pd.DataFrame(rows)
