"""Fields of all results of repeated splits that describe the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judgepanel.studies.frames import scalars


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """The data behind a result; :func:`judgepanel.studies.common.fields_of_run` fills the fields.

    ``n_splits`` of ``planned_splits`` splits are included. ``measures_coding`` means that figures
    show how the labels were coded and not how good the judges are.
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
        """Return the decisions that follow from the figures, by name; JSON values."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Return decisions, and every field that is a single number or text."""
        return {**self.decisions(), **scalars(self), "partial": self.partial}


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult(RunResult):
    """A result whose splits all score the items of their evaluation side.

    ``n_evaluation`` is their mean number; :func:`judgepanel.studies.common.run_fields` fills the
    fields.
    """

    n_evaluation: float
