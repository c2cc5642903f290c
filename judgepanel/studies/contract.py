"""The study contract: plan, run_chunk, merge, which give progress, cancel, resume and workers."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import pandas as pd

from judgepanel.studies.looks import LOOKS, is_open, looks
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix

CHUNK_SPLITS = 5
"""Splits per chunk; fixed, so results depend neither on workers nor on the number of splits."""


class WorkersEnded(RuntimeError):
    """Worker processes die repeatedly, so the work cannot continue."""


class Cancelled(Exception):
    """The work was cancelled; the caller keeps what was merged before."""


class Gate:
    """Pauses or cancels work between its chunks; this base class does neither."""

    def is_open(self) -> bool:
        """Return whether another chunk may start now; called from any thread that starts chunks."""
        return True

    def wait(self) -> None:
        """Block until the gate is open or the work is cancelled."""

    def cancelled(self) -> bool:
        """Return whether the work is cancelled."""
        return False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Splits ``first`` .. ``first + count - 1``."""

    number: int
    first: int
    count: int


class Spec(typing.Protocol):
    """All options of a study, including the seed; a frozen dataclass."""

    @property
    def settings(self) -> Settings:
        """Settings shared by the studies of an analysis."""


class Result(typing.Protocol):
    """A frozen result with intervals, n, seed, null and warnings."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that must accompany the numbers."""

    def frame(self) -> pd.DataFrame:
        """Return a tidy table, one row per figure."""

    def summary(self) -> dict[str, Any]:
        """Return decisions as JSON values."""


SpecT = TypeVar("SpecT", bound=Spec)
PartialT = TypeVar("PartialT")
ResultT = TypeVar("ResultT", bound=Result)


def _all_splits(spec: Spec) -> int:
    return spec.settings.most_splits


def _as_it_is(_votes: VoteMatrix, _spec: Any, result: ResultT) -> ResultT:
    """Return the result: the default ``complete``."""
    return result


def _never(*_: Any) -> bool:
    """The default ``large``."""
    return False


@dataclass(frozen=True, slots=True)
class Study(Generic[SpecT, PartialT, ResultT]):
    """A question and how it is answered.

    ``run_chunk(votes, spec, chunk)`` is pure and returns a partial, which declares how it is
    combined with others (:mod:`judgepanel.studies.partials`). ``merge(votes, spec, partial)`` turns
    any combined subset into a result, marked as partial until it contains all splits. Both get the
    votes of the analysis from the runner, which has grouped copies of items if the settings say so.
    ``partial`` is the type of partials, as which stored chunks are read back. ``rounds`` returns
    how many splits (or resamples) a spec needs, ``chunk`` is the number per chunk, and ``first``
    that of the first chunk if smaller, so that a first result appears early. What
    ``run_chunk`` keeps of a split (:data:`judgepanel.kernels.recent.SHARED`) serves all studies of
    the votes, whichever worker computed it.

    ``settled(votes, spec, partial)`` returns whether the splits of a partial are enough, if the
    settings leave their number to the answer (:mod:`judgepanel.studies.looks`). A study without it
    runs all of them. ``complete(votes, spec, result)`` adds what only a whole result has, once it
    is known that no splits follow; ``merge`` cannot know it if their number is left to the answer.

    Where a study is ``large(votes, spec)``, partials of several workers would not fit in memory.
    Then ``extend(votes, spec, chunk, partial)`` adds one chunk after another to the memory of a
    partial, None for the first, on threads of its own.
    """

    name: str
    title: str
    question: str
    spec: type[SpecT]
    result: type[ResultT]
    partial: type[PartialT]
    run_chunk: Callable[[VoteMatrix, SpecT, Chunk], PartialT]
    merge: Callable[[VoteMatrix, SpecT, PartialT], ResultT]
    rounds: Callable[[SpecT], int] = _all_splits
    chunk: int = CHUNK_SPLITS
    first: int | None = None
    large: Callable[[VoteMatrix, SpecT], bool] = _never
    extend: Callable[[VoteMatrix, SpecT, Chunk, PartialT | None], PartialT] | None = None
    settled: Callable[[VoteMatrix, SpecT, PartialT], bool] | None = None
    complete: Callable[[VoteMatrix, SpecT, ResultT], ResultT] = _as_it_is

    def plan(self, spec: SpecT) -> tuple[Chunk, ...]:
        """Return all chunks that may be needed: ``chunk`` rounds each, after a first of ``first``.

        Chunks end where :meth:`stages` may end.
        """
        most = self.rounds(spec)
        ends = LOOKS if self.is_open(spec) else ()
        return split_chunks(most, self.chunk, self.first, ends)

    def stages(self, votes: VoteMatrix, spec: SpecT) -> tuple[tuple[Chunk, ...], ...]:
        """Return the chunks of the plan in stages; after each the study may be settled."""
        chunks = self.plan(spec)
        if not self.is_open(spec):
            return (chunks,)
        ends = looks(votes, spec.settings, self.rounds(spec))
        return tuple(
            tuple(chunk for chunk in chunks if start <= chunk.first < end)
            for start, end in pairwise((0, *ends))
        )

    def is_open(self, spec: SpecT) -> bool:
        """Return whether the number of splits is left to the answer."""
        return self.settled is not None and is_open(spec.settings)


def split_chunks(
    n_splits: int, size: int = CHUNK_SPLITS, first: int | None = None, cuts: Sequence[int] = ()
) -> tuple[Chunk, ...]:
    """Return all splits in order, in chunks of one size; the first may have another size.

    If there are ``cuts``, a chunk ends at each of them, and those between two cuts are of about
    equal size.
    """
    starts = [0, *range(first or size, n_splits, size)][:n_splits]
    if cuts:
        inside = [0, *(cut for cut in cuts if cut < n_splits), n_splits]
        sizes = [min(first or size, size), *[size] * (len(inside) - 2)]
        starts = [
            s for (a, b), n in zip(pairwise(inside), sizes, strict=True) for s in _even(a, b, n)
        ]
    ends = [*starts[1:], n_splits][: len(starts)]
    return tuple(
        Chunk(number, start, end - start)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    )


def _even(start: int, end: int, size: int) -> list[int]:
    """Return the starts of chunks of at most ``size`` and about equal size."""
    n = -((start - end) // size)
    return [start + (end - start) * i // n for i in range(n)]
