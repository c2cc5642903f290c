"""Background jobs: one state per result, with polling, cancelling, and no duplicate work.

Work that somebody watches has priority: a job that must wait pauses between its chunks. If a user
requests too much, the oldest work that nobody watches is deferred: its finished chunks are kept,
and it continues when requested again. Work that several users want is one job, and is deferred or
cancelled only when the last of them withdraws. If the database is unavailable, work waits for it
and continues from what is stored.

Whose turn it is where a server does few things at a time.

Work that somebody looks at goes first, then in the order it was asked for. Work that nobody has
looked at for a few seconds is paused while any other is looked at. Where nothing is looked at, as
with scripts, all of it goes on in its order. Uploads are read in the order they come, one of each
user's at a time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from judgepanel.service import basics, workspace
from judgepanel.service.ledger import Interests, Key, Ledger, party_of
from judgepanel.studies.contract import AnyStudy, Cancelled, Chunk, Gate, Spec, WorkersEnded
from judgepanel.studies.runner import DASK, Progress, is_address, merged, steps, warm
from judgepanel.votes import InputError, VoteMatrix

WATCHED_SECONDS = 3.0
"""Work counts as looked at for so long after a party has asked how far it is."""
_LOOK_AGAIN_SECONDS = 1.0
"""Paused work asks so often whether those who looked at the other work have left."""


class Turns:
    """The work of one server in line, of which the first ``places`` run at once.

    A party is a user, or all readers of a user's links. ``clock`` tells seconds. Whoever shares
    the line between threads holds a lock around every call.
    """

    def __init__(self, places: int, clock: Callable[[], float]) -> None:
        self._places = places
        self._clock = clock
        self._looks: dict[str, dict[str, float]] = {}

    def add(self, key: str, by: str) -> None:
        """Put work at the end of the line; who asks for it looks at it."""
        self._looks[key] = {by: self._clock()}

    def remove(self, key: str) -> None:
        """Take work that has ended out of the line."""
        self._looks.pop(key, None)

    def look(self, key: str, by: str) -> bool:
        """A party looks at work in line; returns whether it is the first to."""
        is_first = not self.is_watched(key)
        self._looks[key][by] = self._clock()
        return is_first

    def leave(self, key: str, by: str) -> bool:
        """A party wants work no more; returns whether nobody does."""
        parties = self._looks.get(key, {})
        parties.pop(by, None)
        return not parties

    def wants(self, key: str, by: str) -> bool:
        """Whether a party has asked for work that is in line."""
        return by in self._looks.get(key, {})

    def is_watched(self, key: str, by: str | None = None) -> bool:
        """Whether this party looks at work in line, or any."""
        since = self._clock() - WATCHED_SECONDS
        return any(when >= since for who, when in self._looks[key].items() if by in (None, who))

    def ahead(self, key: str) -> int:
        """How many pieces of work go before this one; 0 when it is its turn."""
        watched = {other for other in self._looks if self.is_watched(other)}
        line = sorted(self._looks, key=lambda other: other not in watched)
        place = line.index(key)
        is_paused = bool(watched) and key not in watched
        return place if is_paused or place >= self._places else 0


class Turn(Gate):
    """The gate of one piece of work, open while it is its turn; ``waited`` counts the seconds."""

    def __init__(
        self, turns: Turns, lock: threading.Condition, key: str, flag: threading.Event
    ) -> None:
        self._turns, self._lock, self._key, self._flag = turns, lock, key, flag
        self.waited = 0.0

    def is_open(self) -> bool:
        with self._lock:
            return self._turns.ahead(self._key) == 0

    def wait(self) -> None:
        began = time.monotonic()
        with self._lock:
            while not self.is_open() and not self.cancelled():
                self._lock.wait(_LOOK_AGAIN_SECONDS)
        self.waited += time.monotonic() - began

    def cancelled(self) -> bool:
        return self._flag.is_set()


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A place in the queue; it is itself only."""

    owner: str


class Places:
    """A queue of users for ``most`` places; who comes first goes first, one place per user."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._going: list[Ticket] = []
        self._waiting: list[Ticket] = []

    def queue(self, owner: str) -> Ticket:
        """Stand in line."""
        ticket = Ticket(owner)
        with self._changed:
            self._waiting.append(ticket)
        return ticket

    def enter(self, ticket: Ticket, seconds: float) -> bool:
        """Whether the ticket has a place now, at the latest after so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_next(ticket), seconds):
                return False
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                self._going.append(ticket)
            return True

    def leave(self, ticket: Ticket) -> None:
        """Give the place to the next, or the wait up."""
        with self._changed:
            for tickets in (self._going, self._waiting):
                if ticket in tickets:
                    tickets.remove(ticket)
            self._changed.notify_all()

    def _is_next(self, ticket: Ticket) -> bool:
        going = list(self._going)
        for waiting in self._waiting:
            if len(going) < self._most and waiting.owner not in {other.owner for other in going}:
                going.append(waiting)
        return ticket in going


REFRESH_SECONDS = 0.5
MERGING_SHARE = 0.1
"""Share of the time that chunks are merged in, to show the result so far."""
KEPT = 64
AWAY_SECONDS = 2.0
"""Seconds before work retries an unavailable database."""
PER_USER = 8
"""Maximum jobs under way per user on a server; all readers of a user's links count as one user."""
QUEUE = 64
"""Maximum jobs under way on a server, over all users."""
_YOURS = (
    f"{PER_USER} pieces of work that you asked for are under way and looked at: wait for one of "
    "them, cancel one, or close its page."
)
_EVERYBODYS = (
    f"This server has {QUEUE} pieces of work under way, and all of them are looked at: try again "
    "when some are done."
)
BACKENDS = ("loky", "threading")
"""Backends that run on this machine."""
_LOG = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Record:
    """Storage of one job's progress; ``finish`` stores its result and removes its chunks.

    All methods but ``finished_pieces`` may raise :class:`Lost`.
    """

    ledger: Ledger
    interests: Interests
    key: Key
    finish: Callable[[Any], None]
    n_done: int = 0
    began: float = 0.0

    def finished_pieces(self, study: AnyStudy, spec: Spec) -> Mapping[int, Any]:
        """Return chunks that were finished before, here or elsewhere, by number."""
        pieces = self.ledger.pieces(self.key, study.plan(spec), study.partial)
        self.n_done = len(pieces)
        self.began = time.monotonic() - self.ledger.elapsed(self.key)
        return pieces

    def keep(self, chunk: Chunk, piece: Any, waited: float) -> bool:
        """Store a chunk after ``waited`` seconds of pause; return whether to continue."""
        self.n_done += 1
        elapsed = time.monotonic() - self.began - waited
        return self.ledger.keep(self.key, chunk, piece, self.n_done, elapsed)

    def leave(self, by: str) -> None:
        """Remove this user's interest in the work."""
        self.interests.leave(self.key, party_of(by))


@dataclass(slots=True, eq=False)
class _Work:
    """A job under way; ``flag`` tells it to stop.

    It is left for the next request if it is put off (``later``), and not joined while its end is
    being stored (``ending``).
    """

    key: str
    study: AnyStudy
    votes: VoteMatrix
    spec: Spec
    record: Record
    flag: threading.Event = field(default_factory=threading.Event)
    later: bool = False
    ending: bool = False


class Jobs:
    """Jobs of one process by key. ``workers`` run at once; each uses all cores.

    ``backend`` is joblib's: "threading" shares this process, "loky" keeps it responsive. The
    address of a Dask scheduler uses its workers. Other values raise ServerProblem. ``clock``
    measures how long nobody has watched work.
    """

    def __init__(
        self,
        workers: int = 2,
        backend: str = "threading",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if backend not in BACKENDS and not is_address(backend):
            raise basics.ServerProblem(
                f"JUDGEPANEL_BACKEND is {backend!r}; it can be {', '.join((*BACKENDS, DASK))}."
            )
        self._backend = backend
        self._threads: list[threading.Thread] = []
        self._turns = Turns(workers, clock)
        self._lock = threading.Condition()
        self._states: dict[str, workspace.Job] = {}
        self._works: dict[str, _Work] = {}

    def start_workers(self) -> None:
        """Start the worker processes, and import in each what they need."""
        if self._backend == "loky":
            self._start(warm, self._backend, "judgepanel.decision.recommend")

    def make_room(self, by: str, key: str = "") -> None:
        """Defer unwatched work until this user can request more; raise Full if all is watched.

        ``key`` is the work to be requested: if it is under way, it needs no room on the server.
        """
        left: list[Record] = []
        try:
            with self._lock:
                while len(going := self._going(by)) >= PER_USER:
                    idle = self._first_idle(going, _YOURS, by)
                    left.append(idle.record)
                    if self._turns.leave(idle.key, by):
                        self._postpone(idle)
                if key not in {work.key for work in self._going()}:
                    while len(going := self._going()) >= QUEUE:
                        self._postpone(self._first_idle(going, _EVERYBODYS))
        finally:
            for record in left:
                record.leave(by)

    def _first_idle(self, going: list[_Work], sentence: str, by: str | None = None) -> _Work:
        """Return the oldest work that this user, or nobody, watches; Full if there is none."""
        for work in going:
            if not self._turns.is_watched(work.key, by):
                return work
        raise basics.Full(sentence)

    def _postpone(self, work: _Work) -> None:
        work.later = True
        work.flag.set()
        self._lock.notify_all()

    def _going(self, by: str | None = None) -> list[_Work]:
        """Return work under way that is not cancelled, of one user or all, the oldest first."""
        return [
            work
            for key, work in self._works.items()
            if not work.flag.is_set() and (by is None or self._turns.wants(key, by))
        ]

    def submit(
        self, key: str, study: AnyStudy, votes: VoteMatrix, spec: Spec, record: Record, by: str = ""
    ) -> None:
        """Start work under a key, or join the running work under that key.

        Work whose end is being stored is not joined: it starts again once it has ended.
        """
        with self._lock:
            self._lock.wait_for(lambda: key not in self._works or not self._works[key].ending)
            state = self._states.get(key)
            if state is not None and state.status == "running":
                self._look(key, by)
                if not self._works[key].later:
                    # The last user that wanted it may have just left.
                    self._works[key].flag.clear()
                return
            ended = [name for name, job in self._states.items() if job.status != "running"]
            for name in ended[: max(0, len(self._states) - KEPT)]:
                del self._states[name]
            self._states.pop(key, None)
            self._states[key] = workspace.Job("running", 0, len(study.plan(spec)), 0.0, 0.0, None)
            self._turns.add(key, by)
            work = self._works[key] = _Work(key, study, votes, spec, record)
            self._start(self._work, work)

    def state(self, key: str, by: str | None = None) -> workspace.Job | None:
        """Return the state of a key, if any; a user who asks counts as watching."""
        with self._lock:
            state = self._states.get(key)
            if state is None or state.status != "running":
                return state
            if by is not None:
                self._look(key, by)
            return replace(state, ahead=self._turns.ahead(key))

    def _look(self, key: str, by: str) -> None:
        if self._turns.look(key, by):
            self._lock.notify_all()

    def wait(self, key: str, seconds: float) -> None:
        """Wait until there is a result or the work has ended, at most ``seconds``."""
        with self._lock:
            self._lock.wait_for(lambda: self._has_news(key), seconds)

    def _has_news(self, key: str) -> bool:
        state = self._states.get(key)
        return state is None or state.status != "running" or state.result is not None

    def cancel(self, key: str) -> None:
        """Cancel work; it stops after its current chunk."""
        with self._lock:
            if key in self._works:
                self._works[key].flag.set()
                self._lock.notify_all()

    def wants(self, key: str, by: str) -> bool:
        """Return whether this user wants the work under way here under a key."""
        with self._lock:
            return self._turns.wants(key, by)

    def leave(self, key: str, by: str) -> None:
        """Withdraw a user's interest; the work continues for the others."""
        with self._lock:
            self._turns.leave(key, by)

    def forget(self, key: str) -> None:
        """Cancel and remove work; ended work is removed at once."""
        with self._lock:
            if key in self._works:
                self._postpone(self._works[key])  # It will be removed when it ends.
            else:
                self._states.pop(key, None)

    def close(self) -> None:
        """Cancel all work and wait for the current chunks."""
        with self._lock:
            for work in self._works.values():
                work.flag.set()
            self._lock.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _start(self, work: Callable[..., None], *args: Any) -> None:
        """Start a daemon thread, which keeps no server alive; finished chunks are stored."""
        thread = threading.Thread(target=work, args=args, name="judgepanel-job", daemon=True)
        self._threads = [running for running in self._threads if running.is_alive()]
        thread.start()
        self._threads.append(thread)

    def _work(self, work: _Work) -> None:
        try:
            while True:
                try:
                    self._attempt(work)
                    return
                except basics.DatabaseAway:
                    if work.flag.wait(AWAY_SECONDS):
                        raise
        except basics.Lost:
            self._forget(work)
        except (InputError, basics.DatabaseProblem, WorkersEnded) as error:
            self._fail(work, str(error))
        except Exception:
            _LOG.exception("job failed")
            self._fail(work, "Something went wrong here; the server's log has the details.")

    def _attempt(self, work: _Work) -> None:
        """Continue from what is stored, when it is this job's turn, to the end of the work."""
        study, votes, spec, record = work.study, work.votes, work.spec, work.record
        turn = Turn(self._turns, self._lock, work.key, work.flag)

        def keep(chunk: Chunk, piece: Any) -> None:
            if not record.keep(chunk, piece, turn.waited):
                work.flag.set()

        pieces = record.finished_pieces(study, spec)
        if pieces:  # What an earlier run finished is reported before this job's turn.
            result = merged(study, votes, spec, pieces)
            with self._lock:
                state = self._states[work.key]
                self._states[work.key] = replace(state, done=len(pieces), result=result)
                self._lock.notify_all()
        turn.wait()
        if turn.cancelled():
            self._stop(work)
            return
        states = steps(
            study, votes, spec, backend=self._backend, finished=pieces, keep=keep, gate=turn
        )
        self._follow(work, states, turn)

    def _follow(self, work: _Work, states: Iterator[Progress[Any, Any, Any]], turn: Turn) -> None:
        """Update the state after every chunk, the result less often, because merging takes time."""
        last_shown, pause, waited_before = 0.0, REFRESH_SECONDS, turn.waited
        try:
            for progress in states:
                last = progress.done == progress.total
                now, result = time.monotonic(), None
                if last or now - last_shown >= pause:
                    result, last_shown = progress.result(), time.monotonic()
                    pause = max(REFRESH_SECONDS, (last_shown - now) / MERGING_SHARE)
                if last:
                    work.record.finish(result)
                elapsed = progress.elapsed - (turn.waited - waited_before)
                self._update(work.key, replace(progress, elapsed=elapsed), result, last)
                if last:
                    return  # Too late to cancel: the result is complete.
        except Cancelled:
            self._stop(work, progress.result)

    def _update(self, key: str, progress: Progress[Any, Any, Any], result: Any, last: bool) -> None:
        with self._lock:
            before = self._states[key]
            self._states[key] = workspace.Job(
                status="done" if last else "running",
                done=progress.done,
                total=progress.total,
                elapsed=progress.elapsed,
                remaining=progress.remaining,
                result=before.result if result is None else result,
            )
            if last:
                self._over(key)
            elif before.result is None:
                self._lock.notify_all()

    def _end(self, key: str, status: workspace.Status, message: str, result: Any = None) -> None:
        with self._lock:
            state = self._states[key]
            result = state.result if result is None else result
            self._states[key] = replace(state, status=status, message=message, result=result)
            self._over(key)

    def _fail(self, work: _Work, message: str) -> None:
        with self._ending_of(work):
            try:
                work.record.ledger.end(work.record.key, "failed", message)
            except (basics.DatabaseProblem, basics.Lost):
                _LOG.warning("a failed job could not be kept as such")
            self._end(work.key, "failed", message)

    def _stop(self, work: _Work, result_so_far: Callable[[], Any] = lambda: None) -> None:
        """End work that was called off; work that was put off is left for the next request."""
        record = work.record
        if work.later:
            with self._ending_of(work):
                record.ledger.release(record.key)
                self._forget(work)
            return
        result = result_so_far()
        with self._ending_of(work):
            record.ledger.end(record.key, "cancelled", "")
            self._end(work.key, "cancelled", "", result)

    @contextmanager
    def _ending_of(self, work: _Work) -> Iterator[None]:
        """Let nobody join work between the storing of its end and the end itself."""
        with self._lock:
            work.ending = True
        try:
            yield
        finally:
            with self._lock:
                work.ending = False
                self._lock.notify_all()

    def _forget(self, work: _Work) -> None:
        with self._lock:
            self._states.pop(work.key, None)
            self._over(work.key)

    def _over(self, key: str) -> None:
        self._works.pop(key, None)
        self._turns.remove(key)
        self._lock.notify_all()
