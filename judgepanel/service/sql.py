"""A workspace in a database, SQLite or a team's PostgreSQL: what is stored, and who may see it.

Ids are validated before they reach a statement, and values are passed only as parameters; no user
input is part of SQL. Several servers may share one database.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judgepanel.service.archive import Archive
from judgepanel.service.basics import LOCAL, NotFound
from judgepanel.service.database import connect, default_url
from judgepanel.service.importing import import_folder
from judgepanel.service.interests import Interests
from judgepanel.service.jobs import Jobs
from judgepanel.service.ledger import Ledger
from judgepanel.service.migrations import migrate
from judgepanel.service.sharing import Shares
from judgepanel.service.sqlite_file import adopt_file, check_file
from judgepanel.service.work import Work
from judgepanel.service.workspace import (
    Analysis,
    Decision,
    Job,
    Share,
    Stored,
    default_home,
    new_id,
)
from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.settings import Settings
from judgepanel.votes import Loaded, VoteMatrix
from judgepanel.words.commands import column_options


class SqlWorkspace:
    """The :class:`~judgepanel.service.workspace.Workspace` of one server and one owner.

    ``url`` is that of the database (by default $JUDGEPANEL_DATABASE_URL, else SQLite in ``home``),
    ``home`` a data folder whose files of an earlier version are imported, ``backend`` the joblib
    backend of the server's jobs; ``clock`` measures how long nobody has watched a job. Raises
    DatabaseProblem, here and in every method, if the database cannot be used.
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
            migrate(self._engine)
            adopt_file(self._engine)
            self._archive = Archive(self._engine)
            self._ledger = Ledger(self._engine)
            self._interests = Interests(self._engine)
            self._shares = Shares(self._engine)
            if home is not None:
                import_folder(self._engine, self._archive, home)
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
