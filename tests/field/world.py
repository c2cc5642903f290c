"""Invented items, judges and texts whose truth is known cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from judgepanel.arrays import Votes

MISSING = -1
_NOUNS = ("anchor", "bridge", "candle", "dial", "engine", "ferry", "gate", "hinge", "ivory", "jar")


@dataclass(frozen=True, slots=True)
class World:
    """Labels (n,) and votes (n, k) of judges that are right with their own share."""

    labels: Votes
    votes: Votes
    rng: np.random.Generator

    @classmethod
    def of(cls, seed: int, n: int, accuracy: list[float], ones: float = 0.5) -> World:
        """Draw a world; ``ones`` is the share of label 1."""
        rng = np.random.default_rng(seed)
        labels = (rng.random(n) < ones).astype(np.int8)
        right = rng.random((n, len(accuracy))) < np.array(accuracy)
        return cls(labels, np.where(right, labels[:, None], 1 - labels[:, None]), rng)

    def __iter__(self) -> Any:
        """Yield each item's number, label and votes as Python's own numbers."""
        for i, (label, votes) in enumerate(zip(self.labels, self.votes, strict=True)):
            yield i, int(label), [int(vote) for vote in votes]

    def some(self, share: float) -> bool:
        """Whether something happens that happens with this probability."""
        return bool(self.rng.random() < share)

    def pick(self, *choices: Any) -> Any:
        """One of the choices."""
        return choices[int(self.rng.integers(len(choices)))]

    def text(self, n: int = 5) -> str:
        """A sentence of invented words."""
        return " ".join(self.pick(*_NOUNS) for _ in range(n)).capitalize() + "."

    def grade(self, vote: int) -> float:
        """A probability on the side of a vote."""
        return round(0.5 + (0.02 + 0.45 * float(self.rng.random())) * (1 if vote else -1), 3)


@dataclass(frozen=True, slots=True)
class Case:
    """A file, what is right, and the options that its refusals ask for, one step after the other.

    ``votes`` (n, k) and ``labels`` (n,) are right, -1 where there is none, for ``items`` and
    ``judges`` in this order. Each step is an option that the refusal must name, and the arguments
    that follow it.
    """

    name: str
    data: bytes
    items: tuple[str, ...]
    judges: tuple[str, ...]
    votes: Votes
    labels: Votes
    label_file: bytes | None = None
    steps: tuple[tuple[str, dict[str, Any]], ...] = ()
    task: str | None = None
    notes: tuple[str, ...] = field(default=())
    """What the notes or the sentence must say."""
