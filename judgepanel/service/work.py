"""Work on studies in a database: what is computed, for whom, and what came of it.

Equal work runs once, whoever asks for it and on whichever server. A party is a user, or all
readers of an owner's links; whether they may see the votes is for the caller to check.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Engine

from judgepanel import ENGINE
from judgepanel.kernels.recent import Cache
from judgepanel.service.archive import Archive, draw_of
from judgepanel.service.database import transaction
from judgepanel.service.interests import Interest, Interests, party_of
from judgepanel.service.jobs import Jobs
from judgepanel.service.ledger import Key, Ledger
from judgepanel.service.workspace import Job, Status, Stored, checked_id
from judgepanel.studies.codec import spec_sha
from judgepanel.studies.contract import Chunk, Spec, Study
from judgepanel.studies.runner import merged
from judgepanel.votes import VoteMatrix

_KEPT_RESULTS = 64
_KEPT_PREVIEWS = 16
PREVIEW_SECONDS = 3.0
"""Minimum seconds between merges of chunks that another server has finished."""


class Work:
    """The work of one server on a database: requests, states and results.

    ``who`` in its methods is the user or the readers that the call is for.
    """

    def __init__(
        self, engine: Engine, archive: Archive, ledger: Ledger, interests: Interests, jobs: Jobs
    ) -> None:
        self._engine, self._archive = engine, archive
        self._ledger, self._interests, self._jobs = ledger, interests, jobs
        self._results: Cache[Stored] = Cache(_KEPT_RESULTS)
        self._previews: Cache[tuple[int, float, Any]] = Cache(_KEPT_PREVIEWS)
        self._submitting = threading.Lock()

    def submit(
        self,
        study: Study[Any, Any, Any],
        votes: VoteMatrix,
        spec: Spec,
        who: str,
        *,
        sample: bool,
    ) -> None:
        """Request work, and start it unless it is stored or running already, here or elsewhere.

        The votes of a ``sample`` are stored with it. Raises Full if this user, or all users
        together, have too much under way; NotFound if the votes are neither a sample's nor stored,
        or no longer are.
        """
        key = _key(study, votes.sha256, spec)
        with self._submitting:
            # Checked in this order: work that ends between the two checks has stored its result.
            job, party = self._jobs.state(str(key)), party_of(who)
            if job is not None and job.status == "running":
                mine = self._interests.find(key, party)
                if mine is not None and mine.state == "active":
                    self._jobs.state(str(key), who)
                    return
            if self._is_current(study, votes.sha256, spec):
                return
            self._jobs.make_room(who, str(key))
            total = len(study.plan(spec))
            draw = draw_of(spec.settings)

            def claim(connection: Connection) -> bool:
                claimed = self._ledger.claim(connection, key, draw, total)
                self._interests.join(connection, key, party)
                return claimed

            if sample:
                claimed = self._archive.put(votes, claim)
            else:
                claimed = self._archive.holding(votes.sha256, claim)
            if not claimed:
                return
            if self._is_current(study, votes.sha256, spec):
                self._ledger.withdraw(key)  # Another server has just finished it.
                return
            record = _Record(self, study, spec, key)
            self._jobs.submit(str(key), study, votes, spec, record, who)

    def result(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Stored | None:
        """Return the finished result of a spec, if any, from the newest engine."""
        key = _key(study, votes_sha256, spec)
        known = self._results.get(str(key))
        if known is not None and known.engine == key.engine:
            return known
        result = self._archive.result(study, key, spec)
        if result is not None and result.current:
            self._results.put(str(key), result)
        return result

    def is_unreadable(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> bool:
        """Return whether a result of this spec is stored but unreadable."""
        key = _key(study, votes_sha256, spec)
        held = self._archive.holds_result(key, spec)
        return held and self.result(study, votes_sha256, spec) is None

    def partial(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, who: str
    ) -> Job | None:
        """Return the state of work that this user wants or cancelled, or that failed for them.

        None also for work whose server has died: the next submission continues it. Work that only
        others want is not reported.
        """
        key = _key(study, votes_sha256, spec)
        before = self._jobs.state(str(key))
        mine = self._interests.find(key, party_of(who))
        if mine is None:
            return self._finished(study, votes_sha256, spec, key, who)
        if mine.has_ended:
            return self._ended(study, spec, key, mine)
        job = self._jobs.state(str(key), who)
        if job is not None and job.status == "running":
            return job
        if before is not None and before.status == "running":  # It ended after the database query.
            return self.partial(study, votes_sha256, spec, who)
        if job is not None and job.status == "failed" and mine.holder == self._ledger.server:
            return job  # The database could not be updated.
        alive = mine.work == "running" and mine.live
        return self._elsewhere(study, spec, key, mine) if alive else None

    def wait(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, seconds: float
    ) -> None:
        """Wait until running work has a first result or has ended, at most ``seconds``."""
        self._jobs.wait(str(_key(study, votes_sha256, spec)), seconds)

    def cancel(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, who: str) -> None:
        """Withdraw from running work; it stops after its current chunk if nobody else wants it."""
        self._withdraw(_key(study, votes_sha256, spec), who)

    def cancel_all(self, votes_sha256: str, who: str) -> None:
        """Withdraw from all running work on these votes."""
        for key in self._interests.wanted(votes_sha256, party_of(who)):
            self._withdraw(key, who)

    def forget(self, keys: Iterable[Key]) -> None:
        """Forget work whose votes are deleted."""
        for key in keys:
            for forget in (self._jobs.forget, self._results.forget, self._previews.forget):
                forget(str(key))

    def _withdraw(self, key: Key, who: str) -> None:
        if self._interests.withdraw(key, party_of(who)):
            self._jobs.cancel(str(key))
        else:
            self._jobs.leave(str(key), who)

    def _is_current(self, study: Study[Any, Any, Any], sha256: str, spec: Spec) -> bool:
        stored = self.result(study, sha256, spec)
        return stored is not None and stored.current

    def _elsewhere(self, study: Study[Any, Any, Any], spec: Spec, key: Key, mine: Interest) -> Job:
        """Return the state of work on another server."""
        return _as_job("running", mine, self._so_far(study, spec, key, mine.done))

    def _finished(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, key: Key, who: str
    ) -> Job | None:
        """Return the state of work that this user's interest ended with, once its result is stored.

        An interest also ends when others cancel work that its user has not viewed for long.
        """
        # Checked before the state: a job that ends in between removes its interests.
        is_mine = self._jobs.wants(str(key), who)
        job = self._jobs.state(str(key))
        is_over = job is not None and (
            job.status == "done" or (job.status == "running" and is_mine)
        )
        return job if is_over and self.result(study, votes_sha256, spec) is not None else None

    def _ended(self, study: Study[Any, Any, Any], spec: Spec, key: Key, mine: Interest) -> Job:
        """Return the state of work that this user cancelled, or that failed, as of then."""
        job = self._jobs.state(str(key))
        if job is not None and (job.status, job.done) == (mine.state, mine.done):
            return job
        name = f"{key} of {mine.done}"
        seen = self._previews.get(name)
        if seen is None:
            # Limited to the count at that time: more would reveal that others want this work.
            pieces = self._ledger.pieces(key, study.plan(spec), study.partial)
            pieces = dict(sorted(pieces.items())[: mine.done])
            result = merged(study, self._archive.votes(key.votes_sha256), spec, pieces)
            seen = (mine.done, time.monotonic(), result)
            self._previews.put(name, seen)
        return _as_job("failed" if mine.state == "failed" else "cancelled", mine, seen[2])

    def _so_far(self, study: Study[Any, Any, Any], spec: Spec, key: Key, n_done: int) -> Any:
        """Return the result of the stored chunks, cached for a short time."""
        seen, when, result = self._previews.get(str(key)) or (0, 0.0, None)
        if seen == n_done or (seen and time.monotonic() - when < PREVIEW_SECONDS):
            return result
        pieces = self._ledger.pieces(key, study.plan(spec), study.partial)
        result = merged(study, self._archive.votes(key.votes_sha256), spec, pieces)
        self._previews.put(str(key), (n_done, time.monotonic(), result))
        return result

    def _finish(self, spec: Spec, key: Key, result: Any) -> None:
        with transaction(self._engine) as connection:
            self._archive.put_result(connection, key, spec, result)
            self._ledger.finish(connection, key)
        self._results.put(str(key), Stored(result, key.engine, True))


class _Record:
    """Storage of one job's progress."""

    def __init__(self, work: Work, study: Study[Any, Any, Any], spec: Spec, key: Key) -> None:
        self._work, self._key, self._spec = work, key, spec
        self._ledger = work._ledger
        self._plan, self._partial = study.plan(spec), study.partial
        self._done = 0
        self._began = 0.0

    def finished_pieces(self) -> Mapping[int, Any]:
        """Return chunks that were finished before, here or elsewhere."""
        pieces = self._ledger.pieces(self._key, self._plan, self._partial)
        entry = self._ledger.find(self._key)
        self._done = len(pieces)
        self._began = time.monotonic() - (0.0 if entry is None else entry.elapsed)
        return pieces

    def keep(self, chunk: Chunk, piece: Any, waited: float) -> bool:
        """Store a chunk and renew the lease."""
        self._done += 1
        elapsed = time.monotonic() - self._began - waited
        return self._ledger.keep(self._key, chunk, piece, self._done, elapsed)

    def finish(self, result: Any) -> None:
        """Store the result and remove its chunks."""
        self._work._finish(self._spec, self._key, result)

    def end(self, status: Status, message: str) -> None:
        """Store that there is no result, and why."""
        self._ledger.end(self._key, status, message)

    def release(self) -> None:
        """Release the work for the next server that requests it."""
        self._ledger.release(self._key)

    def leave(self, by: str) -> None:
        """Remove this user's interest in the work."""
        self._work._interests.leave(self._key, party_of(by))


def _as_job(status: Status, mine: Interest, result: Any) -> Job:
    pace = mine.elapsed / max(1, mine.done)
    return Job(
        status=status,
        done=mine.done,
        total=mine.total,
        elapsed=mine.elapsed,
        remaining=pace * (mine.total - mine.done),
        result=result,
        message=mine.message,
    )


def _key(study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Key:
    return Key(checked_id(votes_sha256), study.name, spec_sha(spec), ENGINE)
