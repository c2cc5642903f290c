"""A workspace in a database, SQLite or a team's PostgreSQL: what is stored, and who may see it.

Ids are validated before they reach a statement, and values are passed only as parameters; no user
input is part of SQL. Several servers may share one database.

Work on studies in a database: what is computed, for whom, and what came of it.

Equal work runs once, whoever asks for it and on whichever server. A party is a user, or all
readers of an owner's links; whether they may see the votes is for the caller to check.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from judgepanel import ENGINE
from judgepanel.kernels.threads import Cache
from judgepanel.service.archive import Archive, Shares, draw_of
from judgepanel.service.basics import LOCAL, NotFound
from judgepanel.service.database import adopt_file, check_file, connect, default_url, transaction
from judgepanel.service.jobs import Jobs
from judgepanel.service.ledger import Interest, Interests, Key, Ledger, party_of
from judgepanel.service.tables import prepare
from judgepanel.service.workspace import (
    Analysis,
    Decision,
    Job,
    Share,
    Status,
    Stored,
    checked_id,
    default_home,
    new_id,
)
from judgepanel.studies.codec import spec_sha
from judgepanel.studies.contract import Chunk, Settings, Spec, Study
from judgepanel.studies.runner import merged
from judgepanel.votes import Loaded, VoteMatrix
from judgepanel.words.sentences import column_options

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


class SqlWorkspace:
    """The :class:`~judgepanel.service.workspace.Workspace` of one server and one owner.

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
        self._engine = connect(url or default_url(home or default_home()))
        try:
            check_file(self._engine)
            prepare(self._engine)
            adopt_file(self._engine)
            self._archive = Archive(self._engine)
            self._ledger = Ledger(self._engine)
            self._interests = Interests(self._engine)
            self._shares = Shares(self._engine)
            self._ledger.prune()
            self._jobs = Jobs(backend=backend, clock=clock)
            self._work = Work(
                self._engine, self._archive, self._ledger, self._interests, self._jobs
            )
        except BaseException:
            self._engine.dispose()
            raise
        self._public: set[str] = set()
        self._owner: str | None = LOCAL
        self._link, self._signed_in = "", False

    def owned_by(self, owner: str) -> SqlWorkspace:
        """Return the same workspace for another owner, with separate analyses."""
        other = copy.copy(self)
        other._owner = owner
        return other

    def for_readers(self, token: str, *, signed_in: bool = False) -> SqlWorkspace:
        """Return the same workspace for readers of a link.

        Every call checks the link: it gives access to that analysis, its votes and results, and
        those of all samples, and allows work on them; everything else is NotFound.
        """
        other = copy.copy(self)
        other._owner, other._link, other._signed_in = None, token, signed_in
        return other

    def _who(self) -> str:
        """The user for work: an owner, or all readers of an owner's analyses."""
        if self._owner is not None:
            return f"owner {self._owner}"
        return f"readers of {self._shares.owner(self._link, signed_in=self._signed_in)}"

    def _require_access(self, votes_sha256: str) -> None:
        """Raise NotFound if a reader's link does not, or no longer, open these votes."""
        if self._owner is None:
            shared = self._shares.open(self._link, signed_in=self._signed_in)
            if votes_sha256 not in {shared.votes_sha256, *self._public}:
                raise NotFound("no such votes")

    @property
    def _mine(self) -> str:
        if self._owner is None:
            raise NotFound("a reader has no analyses")
        return self._owner

    def put_votes(self, votes: VoteMatrix) -> str:
        """Store votes by content; return their SHA-256."""
        if self._owner is None:
            raise NotFound("a reader keeps no votes")
        self._archive.put_votes(votes)
        return votes.sha256

    def publish(self, votes: VoteMatrix) -> None:
        """Let all users and readers work on these votes: a sample, stored once work begins."""
        self._public.add(votes.sha256)

    def votes(self, sha256: str) -> VoteMatrix:
        """Return the votes with this SHA-256, or raise NotFound."""
        self._require_access(sha256)
        return self._archive.votes(sha256)

    def create(self, loaded: Loaded, settings: Settings, name: str) -> Analysis:
        """Return a new analysis of loaded votes."""
        analysis = Analysis(
            id=new_id(),
            name=name,
            file=loaded.file,
            votes_sha256=loaded.votes.sha256,
            settings=settings,
            columns=column_options(loaded),
            notes=loaded.warnings,
            created=_now(),
            coverage=loaded.coverage,
            reading=loaded.reading,
        )
        self._archive.add(analysis, loaded.votes, self._mine)
        return analysis

    def open(self, analysis_id: str) -> Analysis:
        """Return the analysis with this id, or raise NotFound."""
        return self._archive.open(analysis_id, self._mine)

    def with_settings(self, analysis: Analysis, settings: Settings) -> Analysis:
        """Return the same votes under other settings, as a new analysis with its own link."""
        own = self.open(analysis.id)
        changed = replace(own, id=new_id(), settings=settings, created=_now())
        self._archive.add(changed, self.votes(own.votes_sha256), self._mine)
        return changed

    def list(self) -> tuple[Analysis, ...]:
        """Return all analyses, newest first."""
        return () if self._owner is None else self._archive.list(self._owner)

    def rename(self, analysis_id: str, name: str) -> Analysis:
        """Rename an analysis and return it, or raise NotFound."""
        return self._archive.rename(analysis_id, name, self._mine)

    def delete(self, analysis_id: str) -> None:
        """Delete an analysis and what no other analysis uses, or raise NotFound."""
        sha, gone = self._archive.delete(analysis_id, self._mine)
        self._work.forget(gone)
        if not self._archive.owns(self._mine, sha):
            self._work.cancel_all(sha, self._who())

    def decide(self, analysis_id: str, what: str, by: str, why: str) -> Decision:
        """Record a decision on an analysis, or raise NotFound."""
        return self._archive.decide(analysis_id, Decision(what, by, why, ""), self._mine)

    def decisions(self, analysis_id: str) -> tuple[Decision, ...]:
        """Return the decisions on an analysis in order, or raise NotFound."""
        return self._archive.decisions(analysis_id, self._mine)

    def share(
        self, analysis_id: str, seconds: float | None = None, *, signed_in_only: bool = False
    ) -> str:
        """Return a random token with which others can read an analysis, or raise NotFound."""
        return self._shares.make(analysis_id, self._mine, seconds, signed_in_only=signed_in_only)

    def shares(self, analysis_id: str) -> tuple[Share, ...]:
        """Return the live links of an analysis, newest first, or raise NotFound."""
        return self._shares.list(analysis_id, self._mine)

    def revoke(self, analysis_id: str, share_id: str) -> None:
        """Revoke a link of an analysis, or raise NotFound."""
        self._shares.revoke(analysis_id, share_id, self._mine)

    def shared(self, token: str, *, signed_in: bool = False) -> Analysis:
        """Return the analysis that a token opens, or raise NotFound or SignInFirst."""
        return self._shares.open(token, signed_in=signed_in)

    def shared_decisions(self, token: str, *, signed_in: bool = False) -> tuple[Decision, ...]:
        """Return the decisions on that analysis, or raise NotFound or SignInFirst."""
        return self._shares.decisions(token, signed_in=signed_in)

    def submit(self, study: Study[Any, Any, Any], votes: VoteMatrix, spec: Spec) -> None:
        """Request work, and start it unless it is stored or running already, here or elsewhere.

        Raises Full if this user, or all users together, have too much under way; NotFound if the
        votes are neither a sample's nor stored, or no longer are.
        """
        self._require_access(votes.sha256)
        self._work.submit(study, votes, spec, self._who(), sample=votes.sha256 in self._public)

    def result(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Stored | None:
        """Return the finished result of a spec, if any, from the newest engine."""
        self._require_access(votes_sha256)
        return self._work.result(study, votes_sha256, spec)

    def is_unreadable(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> bool:
        """Return whether a result of this spec is stored but unreadable."""
        self._require_access(votes_sha256)
        return self._work.is_unreadable(study, votes_sha256, spec)

    def partial(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Job | None:
        """Return the state of work that this user wants or cancelled, or that failed for them.

        None also for work whose server has died: the next submission continues it. Work that only
        others want is not reported.
        """
        self._require_access(votes_sha256)
        return self._work.partial(study, votes_sha256, spec, self._who())

    def wait(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, seconds: float
    ) -> None:
        """Wait until running work has a first result or has ended, at most ``seconds``."""
        self._work.wait(study, votes_sha256, spec, seconds)

    def cancel(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> None:
        """Withdraw from running work; it stops after its current chunk if nobody else wants it.

        Raises NotFound for users without access to the votes.
        """
        open_to_all = self._mine == LOCAL or votes_sha256 in self._public
        if not open_to_all and not self._archive.owns(self._mine, votes_sha256):
            raise NotFound("no such votes")
        self._work.cancel(study, votes_sha256, spec, self._who())

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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
