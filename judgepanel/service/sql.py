"""A workspace in a database, SQLite or a team's PostgreSQL: what is stored, and who may see it.

Ids are validated before they reach a statement, and values are passed only as parameters; no user
input is part of SQL. Several servers may share one database.

Work on studies: what is computed, for whom, and what came of it. Equal work runs once, whoever asks
for it and on whichever server. A party is a user, or all readers of an owner's links.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from judgepanel import ENGINE
from judgepanel.kernels.threads import Cache
from judgepanel.service.archive import Archive, draw_of
from judgepanel.service.basics import LOCAL, NotFound
from judgepanel.service.database import adopt_file, check_file, connect, default_url, transaction
from judgepanel.service.jobs import Jobs, Record
from judgepanel.service.ledger import Interest, Interests, Key, Ledger, party_of
from judgepanel.service.tables import prepare
from judgepanel.service.workspace import Job, Status, Stored, checked_id, default_home
from judgepanel.studies.codec import spec_sha
from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.runner import merged
from judgepanel.votes import VoteMatrix

_KEPT_RESULTS = 64
_KEPT_PREVIEWS = 16
PREVIEW_SECONDS = 3.0
"""Minimum seconds between merges of chunks that another server has finished."""


class SqlWorkspace(Archive):
    """All operations of pages, for one server and one owner.

    ``url`` is that of the database (by default $JUDGEPANEL_DATABASE_URL, else SQLite in ``home``),
    ``backend`` the joblib backend of the server's jobs; ``clock`` measures how long nobody has
    watched a job. Raises DatabaseProblem, here and in every method, if the database cannot be used.
    """

    def __init__(
        self,
        url: str | None = None,
        home: Path | None = None,
        backend: str = "threading",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connect(url or default_url(home or default_home())))
        try:
            check_file(self._engine)
            prepare(self._engine)
            adopt_file(self._engine)
            self._ledger = Ledger(self._engine)
            self._interests = Interests(self._engine)
            self._ledger.prune()
            self._jobs = Jobs(backend=backend, clock=clock)
        except BaseException:
            self._engine.dispose()
            raise
        self._known_results: Cache[Stored] = Cache(_KEPT_RESULTS)
        self._previews: Cache[tuple[int, float, Any]] = Cache(_KEPT_PREVIEWS)
        self._submitting = threading.Lock()

    def _who(self) -> str:
        """The user for work: an owner, or all readers of an owner's analyses."""
        if self._owner is not None:
            return f"owner {self._owner}"
        return f"readers of {self._sharer()}"

    def delete(self, analysis_id: str) -> None:
        """Delete an analysis and what no other analysis uses, or raise NotFound."""
        sha, gone = self._delete(analysis_id)
        for key in map(str, gone):
            for forget in (self._jobs.forget, self._known_results.forget, self._previews.forget):
                forget(key)
        if not self._owns(self._mine, sha):
            who = self._who()
            for wanted in self._interests.wanted(sha, party_of(who)):
                self._withdraw(wanted, who)

    def submit(self, study: Study[Any, Any, Any], votes: VoteMatrix, spec: Spec) -> None:
        """Request work, and start it unless it is stored or running already, here or elsewhere.

        The votes of a sample are stored with it. Raises Full if this user, or all users together,
        have too much under way; NotFound if the votes are neither a sample's nor stored, or no
        longer are.
        """
        self._require_access(votes.sha256)
        who, key = self._who(), _key(study, votes.sha256, spec)
        with self._submitting:
            # Checked in this order: work that ends between the two checks has stored its result.
            job, party = self._jobs.state(str(key)), party_of(who)
            if job is not None and job.status == "running":
                mine = self._interests.find(key, party)
                if mine is not None and mine.state == "active":
                    self._jobs.state(str(key), who)
                    return
            if self._is_current(study, key, spec):
                return
            self._jobs.make_room(who, str(key))
            total = len(study.plan(spec))
            draw = draw_of(spec.settings)

            def claim(connection: Connection) -> bool:
                claimed = self._ledger.claim(connection, key, draw, total)
                self._interests.join(connection, key, party)
                return claimed

            if votes.sha256 in self._public:
                claimed = self._put(votes, claim)
            else:
                claimed = self._holding(votes.sha256, claim)
            if not claimed:
                return
            if self._is_current(study, key, spec):
                self._ledger.withdraw(key)  # Another server has just finished it.
                return

            def store(result: Any) -> None:
                with transaction(self._engine) as connection:
                    self._put_result(connection, key, spec, result)
                    self._ledger.finish(connection, key)
                self._known_results.put(str(key), Stored(result, key.engine, True))

            record = Record(self._ledger, self._interests, key, store)
            self._jobs.submit(str(key), study, votes, spec, record, who)

    def result(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Stored | None:
        """Return the finished result of a spec, if any, from the newest engine."""
        self._require_access(votes_sha256)
        return self._result(study, _key(study, votes_sha256, spec), spec)

    def _result(self, study: Study[Any, Any, Any], key: Key, spec: Spec) -> Stored | None:
        known = self._known_results.get(str(key))
        if known is not None and known.engine == key.engine:
            return known
        result = self._stored_result(study, key, spec)
        if result is not None and result.current:
            self._known_results.put(str(key), result)
        return result

    def _is_current(self, study: Study[Any, Any, Any], key: Key, spec: Spec) -> bool:
        stored = self._result(study, key, spec)
        return stored is not None and stored.current

    def is_unreadable(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> bool:
        """Return whether a result of this spec is stored but unreadable."""
        self._require_access(votes_sha256)
        key = _key(study, votes_sha256, spec)
        held = any(True for _ in self._results(key, spec))
        return held and self._result(study, key, spec) is None

    def partial(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Job | None:
        """Return the state of work that this user wants or cancelled, or that failed for them.

        None also for work whose server has died: the next submission continues it. Work that only
        others want is not reported.
        """
        self._require_access(votes_sha256)
        return self._partial(study, _key(study, votes_sha256, spec), spec, self._who())

    def _partial(self, study: Study[Any, Any, Any], key: Key, spec: Spec, who: str) -> Job | None:
        before = self._jobs.state(str(key))
        mine = self._interests.find(key, party_of(who))
        if mine is None:
            return self._finished(study, key, spec, who)
        if mine.has_ended:
            return self._ended(study, key, spec, mine)
        job = self._jobs.state(str(key), who)
        if job is not None and job.status == "running":
            return job
        if before is not None and before.status == "running":  # It ended after the database query.
            return self._partial(study, key, spec, who)
        if job is not None and job.status == "failed" and mine.holder == self._ledger.server:
            return job  # The database could not be updated.
        return self._elsewhere(study, key, spec, mine)

    def _elsewhere(
        self, study: Study[Any, Any, Any], key: Key, spec: Spec, mine: Interest
    ) -> Job | None:
        """Return the state of work on another server, None if that server has died."""
        if mine.work != "running" or not mine.live:
            return None
        return _as_job("running", mine, self._so_far(study, key, spec, mine.done))

    def _finished(self, study: Study[Any, Any, Any], key: Key, spec: Spec, who: str) -> Job | None:
        """Return the state of work that this user's interest ended with, once its result is stored.

        An interest also ends when others cancel work that its user has not viewed for long.
        """
        # Checked before the state: a job that ends in between removes its interests.
        is_mine = self._jobs.wants(str(key), who)
        job = self._jobs.state(str(key))
        is_over = job is not None and (
            job.status == "done" or (job.status == "running" and is_mine)
        )
        return job if is_over and self._result(study, key, spec) is not None else None

    def _ended(self, study: Study[Any, Any, Any], key: Key, spec: Spec, mine: Interest) -> Job:
        """Return the state of work that this user cancelled, or that failed, as of then."""
        job = self._jobs.state(str(key))
        if job is not None and (job.status, job.done) == (mine.state, mine.done):
            return job
        name = f"{key} of {mine.done}"
        seen = self._previews.get(name)
        if seen is None:
            # Limited to the count at that time: more would reveal that others want this work.
            seen = (mine.done, time.monotonic(), self._merged(study, key, spec, mine.done))
            self._previews.put(name, seen)
        return _as_job("failed" if mine.state == "failed" else "cancelled", mine, seen[2])

    def _so_far(self, study: Study[Any, Any, Any], key: Key, spec: Spec, n_done: int) -> Any:
        """Return the result of the stored chunks, cached for a short time."""
        seen, when, result = self._previews.get(str(key)) or (0, 0.0, None)
        if seen == n_done or (seen and time.monotonic() - when < PREVIEW_SECONDS):
            return result
        result = self._merged(study, key, spec)
        self._previews.put(str(key), (n_done, time.monotonic(), result))
        return result

    def _merged(
        self, study: Study[Any, Any, Any], key: Key, spec: Spec, most: int | None = None
    ) -> Any:
        """Return the result of the stored chunks, of the first ``most`` if that is given."""
        pieces = self._ledger.pieces(key, study.plan(spec), study.partial)
        first = dict(sorted(pieces.items())[:most])
        return merged(study, self._stored_votes(key.votes_sha256), spec, first)

    def wait(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, seconds: float
    ) -> None:
        """Wait until running work has a first result or has ended, at most ``seconds``."""
        self._jobs.wait(str(_key(study, votes_sha256, spec)), seconds)

    def cancel(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> None:
        """Withdraw from running work; it stops after its current chunk if nobody else wants it.

        Raises NotFound for users without access to the votes.
        """
        open_to_all = self._mine == LOCAL or votes_sha256 in self._public
        if not open_to_all and not self._owns(self._mine, votes_sha256):
            raise NotFound("no such votes")
        self._withdraw(_key(study, votes_sha256, spec), self._who())

    def _withdraw(self, key: Key, who: str) -> None:
        if self._interests.withdraw(key, party_of(who)):
            self._jobs.cancel(str(key))
        else:
            self._jobs.leave(str(key), who)

    def start_workers(self) -> None:
        """Start the processes that work on this server, so that no work waits for them."""
        self._jobs.start_workers()

    def release(self) -> None:
        """Release all work without waiting for unfinished chunks, which are lost."""
        self._ledger.let_go()

    def close(self) -> None:
        """Stop all work; another server can continue it."""
        self._ledger.stop()
        self._jobs.close()
        self._engine.dispose()


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
