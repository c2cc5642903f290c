"""What can happen to votes: flips spread at random or over some judges, judges that stay away.

One draw serves every condition. A higher level therefore hurts all that a lower one hurts
and more, and conditions and panels differ only in what they are (common random numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Votes = NDArray[np.int8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLEAN = "clean"
ABSENT = "absent"
SCENARIOS = (
    "random_evaluation",
    "random_both",
    "concentrated_evaluation",
    "concentrated_both",
    ABSENT,
)
_STREAM = 21


@dataclass(frozen=True, slots=True)
class Condition:
    """A scenario of ``SCENARIOS`` (or ``CLEAN``) at a level: the share of votes that are flipped,
    or of judges that are absent.
    """

    scenario: str
    level: float

    @property
    def both(self) -> bool:
        """Whether the votes that panels are fitted to are hurt as well."""
        return self.scenario.endswith("_both")


def conditions(flips: Sequence[float], absent: Sequence[float]) -> tuple[Condition, ...]:
    """The clean panel first, then every scenario at every level."""
    return (
        Condition(CLEAN, 0.0),
        *(
            Condition(scenario, level)
            for scenario in SCENARIOS
            for level in (absent if scenario == ABSENT else flips)
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Damage:
    """One draw: ``uniform`` (n_items, n_judges) decides which votes flip, ``struck`` and
    ``leaving`` (n_judges,) are the orders in which judges are struck and stay away.
    """

    uniform: Floats
    struck: Ints
    leaving: Ints
    concentrated: float

    def __call__(self, votes: Votes, condition: Condition) -> Votes:
        """Signed votes (n_items, n_judges) under a condition; missing votes stay missing."""
        n_judges = votes.shape[1]
        if condition.scenario == CLEAN:
            return votes
        if condition.scenario == ABSENT:
            gone = min(max(1, round(condition.level * n_judges)), n_judges - 1)
            left = votes.copy()
            left[:, self.leaving[:gone]] = 0
            return left
        chance = np.full(n_judges, condition.level)
        if condition.scenario.startswith("concentrated"):
            n_struck = max(1, round(self.concentrated * n_judges))
            chance = np.zeros(n_judges)
            chance[self.struck[:n_struck]] = min(1.0, condition.level * n_judges / n_struck)
        return np.where(self.uniform < chance, -votes, votes)


def draw_damage(
    n_items: int, n_judges: int, *, seed: int, number: int, concentrated: float, draw: int = 0
) -> Damage:
    """Draw ``draw`` of split ``number``: ``SeedSequence(seed, spawn_key=(number, 21, draw))``."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, _STREAM, draw)))
    struck, leaving = rng.permutation(n_judges), rng.permutation(n_judges)
    return Damage(rng.random((n_items, n_judges)), struck, leaving, concentrated)
