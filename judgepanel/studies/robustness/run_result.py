"""What results of this room say about the run they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judgepanel.studies.frames import scalars
from judgepanel.studies.settings import Prepared, Settings


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """On what a result rests whose splits do not all score the same items.

    ``n_splits`` are in it, of ``planned_splits``. ``measures_coding`` says that figures tell how
    the labels were coded and not how good the judges are.
    """

    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
    n_judges: int
    n_splits: int
    planned_splits: int
    seed: int
    warnings: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    def decisions(self) -> dict[str, Any]:
        """What the figures decide, by name; JSON values."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Decisions, and every field that is one number or text."""
        return {**self.decisions(), **scalars(self), "partial": self.partial}


def about(prepared: Prepared, settings: Settings, n_splits: int) -> dict[str, Any]:
    """Fields of a :class:`RunResult` but its warnings; ``n_splits`` splits are in it."""
    return {
        "orientation": prepared.oriented.policy,
        "protocol": settings.protocol,
        "one_class": prepared.oriented.one_class,
        "measures_coding": prepared.oriented.measures_coding,
        "n_items": prepared.ballots.n_items,
        "n_judges": prepared.ballots.n_judges,
        "n_splits": n_splits,
        "planned_splits": settings.splits,
        "seed": settings.seed,
    }
