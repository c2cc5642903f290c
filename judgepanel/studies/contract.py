"""The study contract: plan, run_chunk, merge. It alone gives progress, cancel, resume, workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd

from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix

CHUNK_SPLITS = 5
"""Splits a chunk; fixed, so that neither workers nor the total number of splits move a bit."""


class WorkersEnded(RuntimeError):
    """Worker processes die again and again, so that work comes no further."""


class Cancelled(Exception):
    """The work was cancelled; its caller keeps what had been merged until then."""


class Gate:
    """What pauses or cancels work between its chunks; this base class does neither."""

    def is_open(self) -> bool:
        """Whether one more chunk may start now; called by any thread that hands out chunks."""
        return True

    def wait(self) -> None:
        """Return once the gate is open or the work is cancelled."""

    def cancelled(self) -> bool:
        """Whether the work is cancelled."""
        return False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Splits ``first`` .. ``first + count - 1``."""

    number: int
    first: int
    count: int


class Spec(Protocol):
    """Every option of a study, seed included; a frozen dataclass."""

    @property
    def settings(self) -> Settings:
        """Settings shared by the studies of an analysis."""


class Result(Protocol):
    """A frozen result with intervals, n, seed, null and warnings."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know beside the numbers."""

    def frame(self) -> pd.DataFrame:
        """Tidy table, one row per figure."""

    def summary(self) -> dict[str, Any]:
        """Decisions as JSON values."""


SpecT = TypeVar("SpecT", bound=Spec)
PartialT = TypeVar("PartialT")
ResultT = TypeVar("ResultT", bound=Result)


def _all_splits(spec: Spec) -> int:
    return spec.settings.splits


def _nothing(*_: Any) -> None:
    """Neither remembers nor recalls."""


@dataclass(frozen=True, slots=True)
class Study(Generic[SpecT, PartialT, ResultT]):
    """A question and how it is answered.

    ``run_chunk(votes, spec, chunk)`` is pure. ``combine`` adds partials, exactly and in any order.
    ``merge(votes, spec, partial)`` turns any combined subset into a result, marked partial until
    all splits are in it. Both get the votes of the analysis from the runner, which has grouped
    copies of items where the settings ask for that. ``partial`` is the type of partials, as which
    kept chunks are read back. ``rounds`` is how many splits (or resamples) a spec asks for,
    ``chunk`` how many make a chunk, and ``first`` how many the first chunk has where that is fewer:
    somebody waits for a first answer. ``absorb`` is ``combine`` into the memory of its first
    partial, for partials so large that another copy of them counts. Studies that share partials
    give ``recall(votes, spec, chunk)``, what this process remembers of a chunk or None, and
    ``learn``, which is handed what was computed: workers do not see each other's.
    """

    name: str
    title: str
    question: str
    spec: type[SpecT]
    result: type[ResultT]
    partial: type[PartialT]
    run_chunk: Callable[[VoteMatrix, SpecT, Chunk], PartialT]
    combine: Callable[[PartialT, PartialT], PartialT]
    merge: Callable[[VoteMatrix, SpecT, PartialT], ResultT]
    rounds: Callable[[SpecT], int] = _all_splits
    chunk: int = CHUNK_SPLITS
    first: int | None = None
    absorb: Callable[[PartialT, PartialT], PartialT] | None = None
    recall: Callable[[VoteMatrix, SpecT, Chunk], PartialT | None] = _nothing
    learn: Callable[[VoteMatrix, SpecT, Chunk, PartialT], None] = _nothing

    def plan(self, spec: SpecT) -> tuple[Chunk, ...]:
        """Chunks of ``chunk`` rounds, after a first one of ``first``."""
        return split_chunks(self.rounds(spec), self.chunk, self.first)


def split_chunks(
    n_splits: int, size: int = CHUNK_SPLITS, first: int | None = None
) -> tuple[Chunk, ...]:
    """All splits in chunks of one size, in order; the first chunk may have its own."""
    starts = [0, *range(first or size, n_splits, size)][:n_splits]
    ends = [*starts[1:], n_splits][: len(starts)]
    return tuple(
        Chunk(number, start, end - start)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    )
