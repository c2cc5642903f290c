"""Runs the chunks of a study: progress after every chunk, cancel between chunks, any workers.

The first chunk runs in this thread, so that a coarse result is there before workers have started;
the rest go through joblib, whose backends (threads, loky, Dask) are the way to more cores.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from judgepanel.studies.contract import Chunk, PartialT, ResultT, SpecT, Study
from judgepanel.votes import VoteMatrix


class Cancelled(Exception):
    """The work was called off; what had been merged until then is not lost to its caller."""


@dataclass(frozen=True, slots=True, eq=False)
class Progress(Generic[SpecT, PartialT, ResultT]):
    """State after a chunk: ``done`` of ``total`` chunks, seconds so far and seconds left."""

    study: Study[SpecT, PartialT, ResultT]
    votes: VoteMatrix
    spec: SpecT
    partial: PartialT
    done: int
    total: int
    elapsed: float

    @property
    def remaining(self) -> float:
        """Seconds left at the pace so far."""
        return self.elapsed / self.done * (self.total - self.done)

    def result(self) -> ResultT:
        """The result of what is done so far; marked partial until everything is."""
        return self.study.merge(self.votes, self.spec, self.partial)


def default_jobs() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def steps(
    study: Study[SpecT, PartialT, ResultT],
    votes: VoteMatrix,
    spec: SpecT,
    *,
    jobs: int | None = None,
    backend: str = "threading",
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Progress[SpecT, PartialT, ResultT]]:
    """Yield the state after every chunk; raise :class:`Cancelled` once ``cancelled()`` is true."""
    chunks = study.plan(spec)
    started = time.monotonic()
    partial: Any = None
    with closing(_pieces(study, votes, spec, chunks, jobs or default_jobs(), backend)) as pieces:
        for done, piece in enumerate(pieces, start=1):
            partial = piece if partial is None else study.combine(partial, piece)
            elapsed = time.monotonic() - started
            yield Progress(study, votes, spec, partial, done, len(chunks), elapsed)
            if cancelled():
                raise Cancelled


def run(
    study: Study[SpecT, PartialT, ResultT],
    votes: VoteMatrix,
    spec: SpecT,
    *,
    jobs: int | None = None,
    backend: str = "threading",
    on_progress: Callable[[Progress[SpecT, PartialT, ResultT]], None] = lambda _: None,
) -> ResultT:
    """Run a study to its end."""
    for progress in steps(study, votes, spec, jobs=jobs, backend=backend):
        on_progress(progress)
    return progress.result()


def warm(backend: str, module: str) -> None:
    """Start the workers of a backend and import a module in each: no study waits for them."""
    jobs = default_jobs()
    if jobs > 1:
        Parallel(n_jobs=jobs, backend=backend)(delayed(_imported)(module) for _ in range(jobs))


def _pieces(
    study: Study[SpecT, PartialT, ResultT],
    votes: VoteMatrix,
    spec: SpecT,
    chunks: tuple[Chunk, ...],
    jobs: int,
    backend: str,
) -> Generator[PartialT, None, None]:
    """Partials of the chunks; when closed early, those already handed to workers are waited for."""
    with threadpool_limits(1):
        yield study.run_chunk(votes, spec, chunks[0])
        rest = chunks[1:]
        if jobs == 1 or len(rest) < 2:
            for chunk in rest:
                yield study.run_chunk(votes, spec, chunk)
            return
        parallel = Parallel(
            n_jobs=jobs,
            backend=backend,
            return_as="generator_unordered",
            pre_dispatch="n_jobs",
            batch_size=1,
        )
        stopped = threading.Event()
        results = parallel(
            delayed(_one)(study, votes, spec, chunk) for chunk in rest if not stopped.is_set()
        )
        try:
            # Closing joblib's generator early warns, and `yield from` would close it.
            for piece in results:  # noqa: UP028
                yield piece
        finally:
            stopped.set()
            for _ in results:
                pass


def _imported(module: str) -> None:
    import_module(module)


def _one(
    study: Study[SpecT, PartialT, ResultT], votes: VoteMatrix, spec: SpecT, chunk: Chunk
) -> PartialT:
    with threadpool_limits(1):
        return study.run_chunk(votes, spec, chunk)
