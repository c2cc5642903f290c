"""Runs the chunks of a study: progress after every chunk, pause and cancel between, any workers.

The first chunk runs in this thread, so that a coarse result is there before workers have started;
the rest go through joblib, whose backends (threads, loky) are the way to more cores, or to a Dask
scheduler (see :mod:`judgepanel.studies.runner`). Chunks that an earlier run has kept are not
computed again. A worker process that is ended from outside, as a system short of memory does it, is
replaced, and the chunks that it had are computed again.

One thread for the numerical libraries: more would change the last bits of sums.

Another thread of ours may compute what comes next, with one thread for the libraries too.

Chunks on the workers of a Dask scheduler, for more cores than one machine has.

A scheduler is named by its address (``tcp://host:8786``, ``tls://host:8786``). Votes are sent to
each worker once; chunks follow one by one, and another worker computes those of a worker that is
gone. Dask's own messages are pickles: the scheduler has to be one that is trusted.
"""

from __future__ import annotations

import logging
import multiprocessing.resource_tracker
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib import import_module
from itertools import islice, takewhile
from types import FrameType, MappingProxyType
from typing import Any, Generic, TypeVar, cast

from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError
from threadpoolctl import ThreadpoolController

from judgepanel import ENGINE
from judgepanel.kernels.threads import SHARED, Entries
from judgepanel.studies.contract import (
    Cancelled,
    Chunk,
    Extend,
    Gate,
    PartialT,
    ResultT,
    SpecT,
    Study,
    WorkersEnded,
    grouped_votes,
)
from judgepanel.studies.results import combine, combine_into
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.errors import SCHEDULER_ADDRESS, require

T = TypeVar("T")


class _Limit:
    """Limits the numerical libraries to one thread.

    Most libraries have one limit for the whole process, so the last thread to leave restores it: if
    each thread restored it, the others would lose the limit during a computation. threadpoolctl
    lets only one thread set such a limit and ignores all others, so this thread takes control
    first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            _take_control()
            limit = libraries().limit(limits=1)  # OpenMP has a limit per thread.
            if self._inside == 0:
                self._before = limit
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    _take_control()
                    self._before.restore_original_limits()
                    _take_control()


one_thread = _Limit()
"""Context manager for computing figures: the same bits on any number of cores."""


def _take_control() -> None:
    """Let this thread set the next limit; older versions of threadpoolctl allow any thread."""
    for library in libraries().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


@cache
def libraries() -> ThreadpoolController:
    """Return the numerical libraries of this process, which are loaded and looked for once."""
    import_module("scipy.linalg.cython_blas")  # Else it loads later, unlimited.
    return ThreadpoolController()


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items in order; another thread computes the next one while one is used.

    At most two items are in memory, if whoever uses them lets go of each.
    """

    def following() -> list[T]:
        with one_thread():
            return list(islice(items, 1))

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(following)
        while item := waiting.result():
            waiting = pool.submit(following)
            yield item.pop()


CONNECT_SECONDS = 10.0
"""How long a scheduler and its first worker have to answer at the start."""
RETURN_SECONDS = 60.0
"""How long a scheduler that is lost, or its workers, have to return."""
_POLL_SECONDS = 1.0
_AHEAD = 2
"""Chunks under way for each thread of the workers: one at work, one on its way."""
_PACKAGES = ("judgepanel", "numpy", "scipy", "numba", "sklearn", "pandas")
"""Packages whose versions decide the bits of a result."""
_HOW = "give the address that `dask scheduler` prints, such as tcp://host:8786"

SCHEDULER = "JUDGEPANEL_DASK_SCHEDULER"
DASK = "dask"
"""The backend that needs the address of a scheduler."""

RunOne = Callable[..., tuple[Any, ...]]
Task = tuple[Chunk, Entries]
"""A chunk, and what is in memory of its splits."""


class ClusterLost(Exception):
    """The scheduler or all workers are gone, and with them what was under way; it can be redone."""


def is_address(backend: str) -> bool:
    """Whether a backend is the address of a scheduler, and not one of joblib's."""
    return "://" in backend


def backend_of(name: str, scheduler: str | None, known: Sequence[str]) -> str:
    """What computes, from the name of a backend and a scheduler's address.

    Raises
    ------
    InputError
        A name that is neither ``dask`` nor among the ``known`` ones, ``dask`` without the address
        of a scheduler, or an address beside another backend.
    """
    if name != DASK:
        if name not in known:
            allowed = ", ".join((*known, DASK))
            raise InputError("there is no such backend", value=name, allowed=allowed)
        if scheduler:
            why = "a scheduler is only for the backend dask"
            raise InputError(why, value=scheduler, remedy="leave it out, or take the backend dask")
        return name
    if not scheduler or not scheduler.startswith(("tcp://", "tls://")):
        raise InputError(
            "the backend dask needs the address of a scheduler",
            value=scheduler,
            allowed="tcp://host:port or tls://host:port",
            remedy=f"{_HOW} {SCHEDULER_ADDRESS}",
        )
    return scheduler


class Cluster:
    """A connection to a scheduler whose workers have our versions; made anew after it was lost.

    Raises
    ------
    InputError
        Dask is not installed, no scheduler answers, it has no workers, or one of them has other
        versions of what decides the bits of a result.
    """

    def __init__(self, address: str) -> None:
        self._dask = require("distributed", "the backend dask")
        # A lost connection is said in one sentence, and not by a traceback beside it.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self._address = address
        self._client = self._connected(CONNECT_SECONDS)

    def spread(
        self, work: Sequence[Any], chunks: Iterable[Any], run_one: RunOne, gate: Gate
    ) -> Generator[Any, None, None]:
        """Results of ``run_one(*work, chunk)`` as workers finish them, while the gate is open.

        Once the gate is closed no more chunks are handed out, and those under way are awaited;
        once the work is called off they are not.

        Raises
        ------
        ClusterLost
            The scheduler is gone; it is connected to again by the next call.
        WorkersEnded
            A chunk has ended several workers.
        InputError
            A scheduler that was lost, or its workers, did not return in time.
        """
        under_way: set[Any] = set()
        try:
            if self._client is None:
                self._client = self._connected(RETURN_SECONDS)
            client = self._client
            shared = client.scatter(list(work), broadcast=True, hash=False)
            places = _AHEAD * sum(client.nthreads().values())
            remaining = iter(chunks)
            while True:
                free = places - len(under_way) if gate.is_open() else 0
                for chunk in islice(remaining, free):
                    future = client.submit(_checked, ENGINE, run_one, *shared, chunk, pure=False)
                    under_way.add(future)
                if not under_way:
                    return
                for future in self._finished(client, under_way, gate):
                    under_way.discard(future)
                    yield self._result(future)
                if gate.cancelled():
                    return
        except (OSError, TimeoutError, CancelledError) as error:
            self.close()
            raise ClusterLost(str(error)) from None
        finally:
            if under_way and self._client is not None:
                self._client.cancel(list(under_way))

    def close(self) -> None:
        """Leave the scheduler."""
        client, self._client = self._client, None
        if client is not None:
            # A busy machine may take longer: all results are here, and the scheduler lets go.
            with suppress(TimeoutError):
                client.close(timeout=1)

    def _connected(self, seconds: float) -> Any:
        try:
            client = self._dask.Client(
                self._address, timeout=seconds, set_as_default=False, name="judgepanel"
            )
        except (OSError, TimeoutError, ValueError):
            raise InputError(
                "no Dask scheduler answers", value=self._address, remedy=f"start it, or {_HOW}"
            ) from None
        try:
            client.wait_for_workers(1, timeout=seconds)
            _check_versions(client.get_versions(packages=list(_PACKAGES)), self._address)
        except TimeoutError:
            client.close(timeout=1)
            why = "the Dask scheduler has no workers"
            remedy = f"start one with: dask worker {self._address}"
            raise InputError(why, value=self._address, remedy=remedy) from None
        except BaseException:
            client.close(timeout=1)
            raise
        return client

    def _finished(self, client: Any, under_way: set[Any], gate: Gate) -> list[Any]:
        """Chunks that have ended, at least one; none when the work is called off meanwhile.

        Chunks whose last worker is gone are cancelled by Dask, since the votes went with it.
        """
        while True:
            try:
                with client.as_current():
                    waited = self._dask.wait(
                        list(under_way), timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED"
                    )
                return list(waited.done)
            except TimeoutError:
                pass
            if gate.cancelled():
                return []
            if client.status != "running":
                raise ConnectionError("the connection to the scheduler is broken")

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except self._dask.KilledWorker:
            raise WorkersEnded(
                f"Workers of the Dask scheduler {self._address} are ended again and again: they "
                "may be short of memory. Give them more, and run this again."
            ) from None


def _checked(engine: int, run_one: RunOne, *given: Any) -> tuple[Any, ...]:
    """Run on a worker, which may have come after the others were checked."""
    if engine != ENGINE:
        why = f"a Dask worker has engine {ENGINE}"
        remedy = "install the same judgepanel there and here"
        raise InputError(why, allowed=f"engine {engine}, as here", remedy=remedy)
    return run_one(*given)


def _check_versions(versions: dict[str, Any], address: str) -> None:
    """Refuse workers that would compute other bits, or nothing."""
    own = _those_that_count(versions["client"])
    for worker, known in versions["workers"].items():
        theirs = _those_that_count(known)
        for package, version in own.items():
            if theirs[package] != version:
                has = f"has {package} {theirs[package]}" if theirs[package] else f"lacks {package}"
                why = f"the worker {worker} of the Dask scheduler {address} {has}"
                remedy = "install the same version there and here"
                raise InputError(why, allowed=f"{package} {version}, as here", remedy=remedy)


def _those_that_count(known: dict[str, Any]) -> dict[str, str | None]:
    packages = known["packages"]
    python = str(packages.get("python") or platform.python_version())
    versions = {name: packages.get(name) for name in _PACKAGES}
    return {"Python": ".".join(python.split(".")[:2])} | versions


AUTO = "auto"
"""The backend that is loky where it repays the start of its workers, else threading."""
BACKENDS = (AUTO, "loky", "threading")
"""Backends of this machine; the address of a Dask scheduler is one more."""
_REPAID_SECONDS = 15.0
_PROCESSES_GONE = (BrokenProcessPool, ShutdownExecutorError)
"""What joblib raises in all work whose workers are gone, whichever work they died of."""
_WORKERS_GONE = (*_PROCESSES_GONE, ClusterLost)
_MOST_DEATHS = 4
_WATCH = "judgepanel-parent"
_WATCH_SECONDS = 2.0


_OPEN = Gate()


@dataclass(frozen=True, slots=True, eq=False)
class Work(Generic[SpecT, PartialT, ResultT]):
    """A study, with the votes and the spec that its chunks are run on."""

    study: Study[SpecT, PartialT, ResultT]
    votes: VoteMatrix
    spec: SpecT

    @property
    def stages(self) -> Sequence[Sequence[Chunk]]:
        return self.study.stages(self.votes, self.spec)

    def is_settled(self, partial: Any) -> bool:
        with one_thread():
            settled = self.study.settled
            return settled is not None and settled(self.votes, self.spec, partial)

    def result(self, partial: PartialT, n_chunks: int) -> ResultT:
        """Return the result of a partial, if ``n_chunks`` are known to be needed."""
        with one_thread():
            result: Any = self.study.merge(self.votes, self.spec, partial)
            if len(self.stages) > 1:
                last = self.study.plan(self.spec)[n_chunks - 1]
                result = replace(result, planned_splits=last.first + last.count)
                result = self.study.complete(self.votes, self.spec, result)
        return cast(ResultT, result)

    def run(self, chunk: Chunk) -> tuple[Chunk, PartialT]:
        with one_thread(), SHARED.working(self.votes.sha256):
            return chunk, self.study.run_chunk(self.votes, self.spec, chunk)

    def run_apart(self, task: Task) -> tuple[Chunk, PartialT, Entries]:
        """Run a chunk where another memory may be; return what it adds as well."""
        chunk, known = task
        SHARED.add(known)
        with one_thread(), SHARED.working(self.votes.sha256) as keys:
            piece = self.study.run_chunk(self.votes, self.spec, chunk)
        return chunk, piece, SHARED.of_keys(keys)

    def pieces(
        self, chunks: Sequence[Chunk], jobs: int, backend: str, gate: Gate, pace: float | None
    ) -> Generator[tuple[Chunk, PartialT], None, None]:
        """Partials of the chunks; if closed early, those handed to our own workers are waited for.

        ``pace`` is the seconds that a chunk takes, None if the first is still to be computed.
        """
        with one_thread():
            if pace is None and chunks:
                began = time.monotonic()
                first = [self.run(chunks[0])]
                pace = time.monotonic() - began
                yield first.pop()
                chunks = chunks[1:]
            if is_address(backend):
                with closing(Cluster(backend)) as cluster:
                    yield from self._retried(
                        chunks, lambda t: cluster.spread([self], t, Work.run_apart, gate), gate
                    )
            elif jobs == 1 or len(chunks) < 2:
                for chunk in chunks:
                    _pass(gate)
                    yield self.run(chunk)
            else:
                chosen = _chosen(backend, (pace or 0.0) * len(chunks))
                yield from self._retried(
                    chunks, lambda tasks: self._distributed(tasks, jobs, chosen, gate), gate
                )

    def _retried(
        self,
        chunks: Sequence[Chunk],
        spread: Callable[[Iterator[Task]], Generator[tuple[Chunk, PartialT, Entries], None, None]],
        gate: Gate,
    ) -> Generator[tuple[Chunk, PartialT], None, None]:
        """Partials of the chunks; what is not computed yet is spread anew after a pause or a loss.

        What workers have in memory is added to the memory of this process.
        """
        waiting = {chunk.number: chunk for chunk in chunks}
        deaths = 0
        while waiting:
            _pass(gate)
            try:
                with closing(spread(self._handed(list(waiting.values())))) as results:
                    for chunk, piece, added in results:
                        SHARED.add(added)
                        del waiting[chunk.number]
                        deaths = 0
                        yield chunk, piece
                        del piece, added
            except _WORKERS_GONE:
                deaths += 1
                if deaths == _MOST_DEATHS:
                    raise WorkersEnded(
                        "The processes that compute this are ended again and again: this machine "
                        "may be short of memory. Free some, and run it again."
                    ) from None

    def _handed(self, chunks: Sequence[Chunk]) -> Iterator[Task]:
        """Chunks with what is known of their splits when they are handed out."""
        for chunk in chunks:
            numbers = range(chunk.first, chunk.first + chunk.count)
            yield chunk, SHARED.of_splits(self.votes.sha256, numbers)

    def _distributed(
        self, tasks: Iterator[Task], jobs: int, backend: str, gate: Gate
    ) -> Generator[tuple[Chunk, PartialT, Entries], None, None]:
        """Partials of the tasks as workers finish them; one of ``_PROCESSES_GONE`` if they die.

        joblib hands out chunks whether or not its results are taken, so the gate is asked for each:
        once it is closed, no more of them start, and the rest have to be spread again.
        """
        parallel = _workers(
            jobs, backend, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
        )
        stopped = threading.Event()
        results: Iterator[tuple[Chunk, PartialT, Entries]] = iter(())
        open_ = takewhile(lambda _: gate.is_open() and not stopped.is_set(), tasks)
        try:
            with _interrupt_after_start(backend):
                results = parallel(delayed(_in_worker)(os.getpid(), self, task) for task in open_)
            # Closing joblib's generator early warns, and `yield from` would close it.
            for piece in results:
                yield piece
                del piece
        finally:
            stopped.set()
            with suppress(*_PROCESSES_GONE):
                for _ in results:
                    pass


@dataclass(frozen=True, slots=True, eq=False)
class Progress(Generic[SpecT, PartialT, ResultT]):
    """State after a chunk: ``done`` of ``total`` chunks, seconds so far and seconds left.

    ``total`` are the chunks that are known to be needed: where the number of splits is left to the
    answer, it may grow until the study is settled.

    It holds until the next state is asked for, which may take over the memory of ``partial``.

    ``kept`` of those done came from an earlier run, and took none of these seconds.
    """

    work: Work[SpecT, PartialT, ResultT]
    partial: PartialT
    done: int
    total: int
    elapsed: float
    kept: int = 0

    @property
    def over(self) -> bool:
        """Whether no chunk follows."""
        return self.done == self.total

    @property
    def remaining(self) -> float:
        """Seconds left at the pace so far."""
        return self.elapsed / max(1, self.done - self.kept) * (self.total - self.done)

    def result(self) -> ResultT:
        """The result of what is done so far; marked partial until everything is."""
        return self.work.result(self.partial, self.total)


def default_jobs() -> int:
    """Cores this process may use: its affinity, a container's quota, ``LOKY_MAX_CPU_COUNT``."""
    return int(cpu_count())


def steps(
    study: Study[SpecT, PartialT, ResultT],
    votes: VoteMatrix,
    spec: SpecT,
    *,
    jobs: int | None = None,
    backend: str = "threading",
    finished: Mapping[int, PartialT] = MappingProxyType({}),
    keep: Callable[[Chunk, PartialT], None] | None = None,
    gate: Gate = _OPEN,
) -> Iterator[Progress[SpecT, PartialT, ResultT]]:
    """Yield the state after every chunk; raise :class:`Cancelled` once ``gate`` says so.

    ``finished`` holds partials of chunks by number, which are not computed again; ``keep`` is
    handed the partial of every chunk that is, before the state is yielded. ``backend`` is joblib's,
    or the address of a Dask scheduler, for which ``jobs`` is not asked. After the first chunk, one
    starts only while ``gate`` is open; those under way are finished and kept before it is waited
    for. A large study whose chunks nobody keeps takes neither ``jobs`` nor ``backend`` of this
    machine. The result is the same to the bit whatever is kept and however often it waits.
    """
    work = Work(study, grouped_votes(votes, spec.settings), spec)
    stages = work.stages
    started = time.monotonic()
    kept_before = any(chunk.number in finished for chunk in stages[0])
    apart = keep or kept_before or is_address(backend)
    extend = None if apart else study.extend(work.votes, spec)
    partial: Any = None
    pace: float | None = None
    n_done = known = total = 0
    for number, stage in enumerate(stages):
        total += len(stage)
        pieces = [finished[chunk.number] for chunk in stage if chunk.number in finished]
        rest = [chunk for chunk in stage if chunk.number not in finished]
        n_done, known = n_done + len(pieces), known + len(pieces)
        if pieces:
            partial = reduce(combine, pieces if partial is None else [partial, *pieces])
        if extend is not None:
            states = _extended(extend, rest, gate, partial)
        else:
            made = work.pieces(rest, jobs or default_jobs(), backend, gate, pace)
            states = _added(partial, n_done, made, keep)
        with closing(states):
            for partial in states:  # Not `enumerate`, which holds the partial before.
                n_done += 1
                elapsed = time.monotonic() - started
                pace = elapsed if pace is None else pace
                if n_done < total:  # After the last of a stage it is to be seen whether it goes on.
                    yield Progress(work, partial, n_done, total, elapsed, known)
                    if gate.cancelled():
                        raise Cancelled
        over = number + 1 == len(stages) or work.is_settled(partial)
        if rest or over:
            elapsed = time.monotonic() - started if n_done > known else 0.0
            planned = total if over else total + len(stages[number + 1])
            yield Progress(work, partial, n_done, planned, elapsed, known)
        if over:
            return
        if gate.cancelled():
            raise Cancelled


def _added(
    partial: Any,
    known: int,
    pieces: Generator[tuple[Chunk, PartialT], None, None],
    keep: Callable[[Chunk, PartialT], None] | None,
) -> Generator[PartialT, None, None]:
    """The partial of ``known`` chunks, with the piece of each further one added to it."""
    ours = known > 1  # Else it is the partial of a chunk, which whoever keeps chunks may hold.
    with closing(pieces):
        for chunk, piece in pieces:
            if keep is not None:
                keep(chunk, piece)
            if partial is None:
                partial = piece
            elif ours:
                partial = combine_into(partial, piece)
            else:
                partial, ours = combine(partial, piece), True
            del piece  # A partial may be large, and the next one is computed while we wait.
            yield partial


def _extended(
    extend: Extend[PartialT], chunks: Sequence[Chunk], gate: Gate, partial: PartialT | None
) -> Generator[PartialT, None, None]:
    """The partial of one chunk more each time, all in the memory of the first.

    Ctrl-C waits for the chunk under way: half of it added would be in no count of splits.
    """
    for chunk in chunks:
        _pass(gate)
        with one_thread(), _interrupt_later() as interrupt:
            partial = extend(chunk, partial)
        yield partial
        interrupt()


@contextmanager
def _interrupt_later() -> Iterator[Callable[[], None]]:
    """Hold back Ctrl-C meanwhile; the function that is yielded raises it if there was one."""
    held: list[tuple[int, FrameType | None]] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return

    def interrupt() -> None:
        if held:
            before(*held[0])

    signal.signal(signal.SIGINT, lambda *received: held.append(received))
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


def merged(
    study: Study[SpecT, PartialT, ResultT],
    votes: VoteMatrix,
    spec: SpecT,
    finished: Mapping[int, PartialT],
) -> ResultT | None:
    """The result of chunks that an earlier run has kept; None without any."""
    if not finished:
        return None
    work, n_chunks = Work(study, grouped_votes(votes, spec.settings), spec), 0
    for stage in work.stages:
        n_chunks += len(stage)
        if n_chunks > len(finished):
            break
    with one_thread():
        partial = reduce(combine, [finished[number] for number in sorted(finished)])
    return work.result(partial, n_chunks)


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
        _workers(jobs, backend)(delayed(_imported)(module, os.getpid()) for _ in range(jobs))


def _workers(jobs: int, backend: str, **options: Any) -> Parallel:
    """Workers of one kind, those that wait already if there are any; votes go through pipes.

    Shared memory may be full, and votes are small beside what a chunk takes. joblib would start
    other workers for another ``max_nbytes``.
    """
    return Parallel(n_jobs=jobs, backend=backend, max_nbytes=None, **options)


def _pass(gate: Gate) -> None:
    gate.wait()
    if gate.cancelled():
        raise Cancelled


@contextmanager
def _interrupt_after_start(backend: str) -> Iterator[None]:
    """Hold back Ctrl-C while processes start, and raise it once they have started.

    A worker whose start is interrupted, here or by the Ctrl-C that its terminal sends to it too,
    would print a traceback. Workers inherit the signal mask and do not receive Ctrl-C; this process
    ends them. The trackers of shared resources are started first, because their start unblocks the
    signal.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if backend != "loky" or not in_main or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    multiprocessing.resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    with _interrupt_later() as interrupt:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    interrupt()


def _chosen(backend: str, left: float) -> str:
    """joblib's backend for work that would take one core ``left`` seconds more."""
    if backend != AUTO:
        return backend
    return "loky" if left > _REPAID_SECONDS else "threading"


def _imported(module: str, parent: int) -> None:
    _end_with(parent)
    import_module(module)
    libraries()


def _in_worker(
    parent: int, work: Work[Any, PartialT, Any], task: Task
) -> tuple[Chunk, PartialT, Entries]:
    _end_with(parent)
    return work.run_apart(task)


def _end_with(parent: int) -> None:
    """A process that ``parent`` has started ends soon after it; loky's would wait for ever."""
    if os.getppid() == parent and _WATCH not in {entry.name for entry in threading.enumerate()}:
        threading.Thread(target=_watch, args=(parent,), name=_WATCH, daemon=True).start()


def _watch(parent: int) -> None:
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(_WATCH_SECONDS)
    os._exit(1)
