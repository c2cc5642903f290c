"""What every result of repeated splits says of the run it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judgepanel.studies.frames import scalars


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """On what a result rests; :func:`judgepanel.studies.common.fields_of_run` fills it in.

    ``n_splits`` splits are in it, of ``planned_splits``. ``measures_coding`` says that figures tell
    how the labels were coded and not how good the judges are.
    """

    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
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


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult(RunResult):
    """A result whose splits all score the items of one evaluation side.

    ``n_evaluation`` is their mean number; :func:`judgepanel.studies.common.run_fields` fills it in.
    """

    n_evaluation: float
