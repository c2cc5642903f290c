"""A workspace in a database, SQLite or a team's PostgreSQL: what is stored, and who may see it.

Ids are validated before they reach a statement, and values are passed only as parameters; no user
input is part of SQL. Several servers may share one database.

Work on studies: what is computed, for whom, and what came of it. Equal work runs once, whoever asks
for it and on whichever server. A party is a user, or all readers of an owner's links.

Votes, analyses, results and decisions in the database.

Storing an analysis or a result first locks its votes, and so does deleting: of two concurrent
operations, the second sees the effect of the first.

Share links: a random token opens one analysis until it expires or is revoked.

Only the SHA-256 of a token is stored, so reading the database does not give access to shared
analyses.
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import re
import secrets
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from judgepanel import ENGINE
from judgepanel.decision.lean import PanelInUse
from judgepanel.kernels.threads import Cache
from judgepanel.service.basics import LOCAL, TOKEN, Lost, NotFound, SignInFirst
from judgepanel.service.database import (
    ANALYSES,
    DECISIONS,
    JOBS,
    RESULTS,
    SHARES,
    VOTES,
    DatabaseNow,
    adopt_file,
    check_file,
    connect,
    default_url,
    prepare,
    transaction,
)
from judgepanel.service.jobs import Jobs, Record
from judgepanel.service.ledger import Interest, Interests, Key, Ledger, party_of, upsert
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
from judgepanel.studies.codec import from_plain, pack, reader_of, spec_sha, to_plain, unpack
from judgepanel.studies.contract import AUTO_SPLITS, AnyStudy, Settings, Spec
from judgepanel.studies.runner import merged
from judgepanel.votes import Loaded, VoteMatrix
from judgepanel.words.sentences import column_options, with_judge_file

T = TypeVar("T")

UNREADABLE = (
    *(ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError),
    zlib.error,
)
"""Errors that reading damaged JSON may raise. Disk errors are not among them."""
_LOG = logging.getLogger(__name__)
_KEPT_VOTES = 8
TOKEN_BYTES = 32
_ID = re.compile(r"[0-9a-f]{64}")
_WORK = tuple(Key.__dataclass_fields__)


_KEPT_RESULTS = 64
_KEPT_PREVIEWS = 16
PREVIEW_SECONDS = 3.0
"""Minimum seconds between merges of chunks that another server has finished."""


class SqlWorkspace:
    """All operations of pages, for one server and an owner, or the readers of a link.

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
        self._owner: str | None = LOCAL
        self._link, self._signed_in = "", False
        self._public: set[str] = set()
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
        self._known_votes: Cache[VoteMatrix] = Cache(_KEPT_VOTES)
        self._known_results: Cache[Stored] = Cache(_KEPT_RESULTS)
        self._previews: Cache[tuple[int, float, Any]] = Cache(_KEPT_PREVIEWS)
        self._submitting = threading.Lock()

    def owned_by(self, owner: str) -> Self:
        """Return the same workspace for another owner, with separate analyses."""
        other = copy.copy(self)
        other._owner = owner
        return other

    def for_readers(self, token: str, *, signed_in: bool = False) -> Self:
        """Return the same workspace for readers of a link.

        Every call checks the link: it gives access to that analysis, its votes and results, and
        those of all samples, and allows work on them; everything else is NotFound.
        """
        other = copy.copy(self)
        other._owner, other._link, other._signed_in = None, token, signed_in
        return other

    @property
    def _mine(self) -> str:
        if self._owner is None:
            raise NotFound("a reader has no analyses")
        return self._owner

    def _require_access(self, votes_sha256: str) -> None:
        """Raise NotFound if a reader's link does not, or no longer, open these votes."""
        if self._owner is None:
            shared = self.shared(self._link, signed_in=self._signed_in)
            if votes_sha256 not in {shared.votes_sha256, *self._public}:
                raise NotFound("no such votes")

    # --- votes -------------------------------------------------------------------------------

    def put_votes(self, votes: VoteMatrix) -> str:
        """Store votes by content; return their SHA-256."""
        if self._owner is None:
            raise NotFound("a reader keeps no votes")
        self._put(votes, lambda _: None)
        return votes.sha256

    def publish(self, votes: VoteMatrix) -> None:
        """Let all users and readers work on these votes: a sample, stored once work begins."""
        self._public.add(votes.sha256)

    def votes(self, sha256: str) -> VoteMatrix:
        """Return the votes with this SHA-256, or raise NotFound."""
        self._require_access(sha256)
        return self._stored_votes(sha256)

    def _put(self, votes: VoteMatrix, then: Callable[[sa.Connection], T]) -> T:
        """Store votes and return ``then(connection)`` from the same transaction.

        Until the transaction ends nobody else can delete the votes.
        """
        known = self._known_votes.get(votes.sha256) is not None
        content = None if known else pack(votes)
        with transaction(self._engine) as connection:
            if not known or not _locked(connection, votes.sha256):
                # Written even if a row with that hash exists, because that row may be damaged.
                row = {"sha256": votes.sha256, "content": content or pack(votes)}
                upsert(connection, VOTES, row, ("content",))
            put = then(connection)
        self._known_votes.put(votes.sha256, votes)
        return put

    def _holding(self, sha256: str, then: Callable[[sa.Connection], T]) -> T:
        """Return ``then(connection)``, called while nobody can delete these votes.

        Raises
        ------
        NotFound
            The votes are not stored, or no longer are.
        """
        with transaction(self._engine) as connection:
            if not _locked(connection, sha256):
                raise NotFound("no such votes")
            return then(connection)

    def _owns(self, owner: str, votes_sha256: str) -> bool:
        """Return whether this owner has an analysis of these votes."""
        names = ANALYSES.c
        wanted = sa.select(names.id).where(names.owner == owner, names.votes_sha256 == votes_sha256)
        with transaction(self._engine, write=False) as connection:
            return connection.execute(wanted).first() is not None

    def _stored_votes(self, sha256: str) -> VoteMatrix:
        """Return votes, whoever asks for them."""
        known = self._known_votes.get(sha256)
        if known is not None:
            return known
        wanted = sa.select(VOTES.c.content).where(VOTES.c.sha256 == checked_id(sha256))
        with transaction(self._engine, write=False) as connection:
            content = connection.execute(wanted).scalar()
        if content is None:
            raise NotFound("no such votes")
        try:
            votes = unpack(VoteMatrix, content)
        except ValueError:
            raise NotFound("these votes are damaged: they cannot be read") from None
        if votes.sha256 != sha256:
            # Before coded ties entered the SHA-256, votes were stored under the hash without ties.
            votes = replace(votes, ties=None)
        if votes.sha256 != sha256:
            raise NotFound("these votes are damaged: their content does not match their hash")
        self._known_votes.put(sha256, votes)
        return votes

    # --- analyses ----------------------------------------------------------------------------

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
        return self._add(analysis, loaded.votes)

    def with_settings(self, analysis: Analysis, settings: Settings) -> Analysis:
        """Return the same votes under other settings, as a new analysis with its own link."""
        own = self.open(analysis.id)
        return self._add_like(own, self.votes(own.votes_sha256), settings=settings)

    def with_judge_table(self, analysis: Analysis, votes: VoteMatrix, file: str) -> Analysis:
        """Return the same votes with another judge table, as a new analysis with its own link.

        ``file`` is the name under which the table is downloaded.
        """
        own = self.open(analysis.id)
        columns = with_judge_file(own.columns, file)
        return self._add_like(own, votes, votes_sha256=votes.sha256, columns=columns)

    def _add_like(self, own: Analysis, votes: VoteMatrix, **fields: Any) -> Analysis:
        return self._add(replace(own, id=new_id(), created=_now(), **fields), votes)

    def _add(self, analysis: Analysis, votes: VoteMatrix) -> Analysis:
        row = _row(analysis) | {"owner": self._mine}
        self._put(votes, lambda connection: connection.execute(sa.insert(ANALYSES).values(**row)))
        return analysis

    def open(self, analysis_id: str) -> Analysis:
        """Return the analysis with this id, or raise NotFound."""
        with transaction(self._engine, write=False) as connection:
            return self._opened(connection, analysis_id)

    def _opened(
        self, connection: sa.Connection, analysis_id: str, *, lock: bool = False
    ) -> Analysis:
        """Return an analysis of this owner, or raise NotFound; ``lock`` locks its row."""
        mine = sa.and_(ANALYSES.c.id == checked_id(analysis_id), ANALYSES.c.owner == self._mine)
        wanted = sa.select(ANALYSES.c.id, ANALYSES.c.content).where(mine)
        row = connection.execute(wanted.with_for_update() if lock else wanted).first()
        analysis = None if row is None else read(*row)
        if analysis is None:
            raise NotFound("no such analysis")
        return analysis

    def list(self) -> tuple[Analysis, ...]:
        """Return all analyses, newest first."""
        if self._owner is None:
            return ()
        wanted = sa.select(ANALYSES.c.id, ANALYSES.c.content).where(ANALYSES.c.owner == self._owner)
        with transaction(self._engine, write=False) as connection:
            rows = connection.execute(wanted).all()
        analyses = [analysis for row in rows if (analysis := read(*row)) is not None]
        return tuple(sorted(analyses, key=lambda a: (a.created, a.id), reverse=True))

    def rename(self, analysis_id: str, name: str) -> Analysis:
        """Rename an analysis and return it, or raise NotFound."""
        return self._changed(analysis_id, name=name)

    def use_panel(self, analysis_id: str, prefer: PanelInUse, price: float) -> Analysis:
        """Use another panel in an analysis and return it, or raise NotFound."""
        return self._changed(analysis_id, prefer=prefer, price=price)

    def _changed(self, analysis_id: str, **fields: Any) -> Analysis:
        with transaction(self._engine) as connection:
            changed = replace(self._opened(connection, analysis_id, lock=True), **fields)
            change = sa.update(ANALYSES).where(ANALYSES.c.id == analysis_id)
            connection.execute(change.values(content=_row(changed)["content"]))
        return changed

    # --- decisions ---------------------------------------------------------------------------

    def decide(self, analysis_id: str, what: str, by: str, why: str) -> Decision:
        """Record a decision on an analysis, or raise NotFound."""
        with transaction(self._engine) as connection:
            self._opened(connection, analysis_id, lock=True)
            earlier = sa.select(sa.func.max(DECISIONS.c.made))
            earlier = earlier.where(DECISIONS.c.analysis_id == analysis_id)
            latest = connection.execute(earlier).scalar_one() or 0.0
            # Clocks have a resolution of milliseconds and may be set back, but time determines the
            # order.
            moment = max(connection.execute(sa.select(DatabaseNow())).scalar_one(), latest + 1e-6)
            row = {"id": new_id(), "analysis_id": analysis_id, "made": moment}
            row |= {"what": what, "by": by, "why": why}
            connection.execute(sa.insert(DECISIONS).values(**row))
        return Decision(what, by, why, stamp(moment))

    def decisions(self, analysis_id: str) -> tuple[Decision, ...]:
        """Return the decisions on an analysis in order; of a reader, that of its link.

        Raises
        ------
        NotFound
            There is no such analysis, or the link does not, or no longer, open it.
        SignInFirst
            The link is only for those who have signed in.
        """
        names = DECISIONS.c
        wanted = sa.select(names.what, names.by, names.why, names.made)
        wanted = wanted.where(names.analysis_id == analysis_id).order_by(names.made, names.id)
        with transaction(self._engine, write=False) as connection:
            if self._owner is not None:
                self._opened(connection, analysis_id)
            elif _shared(connection, self._link, self._signed_in)[0].id != analysis_id:
                raise NotFound("no such analysis")
            rows = connection.execute(wanted).all()
        return tuple(Decision(what, by, why, stamp(made)) for what, by, why, made in rows)

    # --- share links -------------------------------------------------------------------------

    def share(
        self, analysis_id: str, seconds: float | None = None, *, signed_in_only: bool = False
    ) -> str:
        """Return a random token for reading an analysis, or raise NotFound.

        It works for ``seconds``, None until it is revoked.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with transaction(self._engine) as connection:
            self._opened(connection, analysis_id, lock=True)
            row = {
                "token_sha256": id_of_token(token),
                "analysis_id": analysis_id,
                "signed_in_only": signed_in_only,
                "created": DatabaseNow(),
                "expires": None if seconds is None else DatabaseNow() + seconds,
            }
            connection.execute(sa.insert(SHARES).values(**row))
        return token

    def shares(self, analysis_id: str) -> tuple[Share, ...]:
        """Return the live links of an analysis, newest first, or raise NotFound."""
        names = SHARES.c
        wanted = sa.select(names.token_sha256, names.created, names.expires, names.signed_in_only)
        wanted = wanted.where(names.analysis_id == analysis_id, _live())
        with transaction(self._engine, write=False) as connection:
            self._opened(connection, analysis_id)
            rows = connection.execute(wanted.order_by(names.created.desc())).all()
        return tuple(
            Share(share_id, stamp(created), None if expires is None else stamp(expires), signed_in)
            for share_id, created, expires, signed_in in rows
        )

    def revoke(self, analysis_id: str, share_id: str) -> None:
        """Revoke a link of an analysis, or raise NotFound; ended links stay ended."""
        with transaction(self._engine) as connection:
            self._opened(connection, analysis_id)
            if _ID.fullmatch(share_id):
                share = sa.update(SHARES).where(
                    SHARES.c.token_sha256 == share_id, SHARES.c.analysis_id == analysis_id
                )
                connection.execute(share.values(revoked=DatabaseNow()))

    def shared(self, token: str, *, signed_in: bool = False) -> Analysis:
        """Return the analysis that a token opens.

        Raises
        ------
        NotFound
            The token is wrong, has expired or was revoked, without saying which.
        SignInFirst
            The link is only for those who have signed in.
        """
        with transaction(self._engine, write=False) as connection:
            return _shared(connection, token, signed_in)[0]

    # --- results -----------------------------------------------------------------------------

    def _stored_result(self, study: AnyStudy, key: Key, spec: Spec) -> Stored | None:
        """Return the readable result of the newest engine up to this one."""
        reader_of(study.result)  # An invalid result type is not damaged data.
        for engine, content in self._results(key, spec):
            try:
                result = from_plain(study.result, json.loads(zlib.decompress(content))["result"])
            except UNREADABLE as error:
                _LOG.warning("result %s of engine %d cannot be read: %.200s", key, engine, error)
                continue
            return Stored(result, engine, engine == key.engine)
        return None

    def _results(self, key: Key, spec: Spec) -> Iterator[tuple[int, bytes]]:
        """Yield engine and content of each result that answers this spec, newest first.

        Earlier engines may have stored the same question under a spec with fewer options; their
        contents are unpacked only if no newer result will do.
        """
        of, draw = RESULTS.c, draw_of(spec.settings)
        same = of.spec_sha256 == key.spec_sha256
        wanted = sa.select(of.engine, of.content, same.label("same")).where(
            *(of.votes_sha256 == key.votes_sha256, of.study == key.study, of.engine <= key.engine),
            sa.or_(same, sa.and_(of.engine < key.engine, of.draw == draw)),
        )
        with transaction(self._engine, write=False) as connection:
            rows = connection.execute(wanted.order_by(of.engine.desc(), same.desc())).all()
        for engine, content, exact in rows:
            if exact or asks_the_same(content, spec):
                yield engine, content

    def _put_result(self, connection: sa.Connection, key: Key, spec: Spec, result: Any) -> None:
        """Store a result; raise Lost if its votes were deleted."""
        content = {"study": key.study, "engine": key.engine, "spec": to_plain(spec)}
        content["result"] = to_plain(result)
        packed = zlib.compress(json.dumps(content, allow_nan=False).encode())
        row = {**key.columns(), "draw": draw_of(spec.settings), "content": packed}
        if not _locked(connection, key.votes_sha256):
            raise Lost
        upsert(connection, RESULTS, row, ("draw", "content"))

    # --- work --------------------------------------------------------------------------------

    def _who(self) -> str:
        """The user for work: an owner, or all readers of an owner's analyses."""
        if self._owner is not None:
            return f"owner {self._owner}"
        with transaction(self._engine, write=False) as connection:
            return f"readers of {_shared(connection, self._link, self._signed_in)[1]}"

    def delete(self, analysis_id: str) -> None:
        """Delete an analysis and what no other analysis uses, or raise NotFound.

        A result belongs to the analyses of its votes with its splits and seed: the pages of one
        analysis vary some other settings, but never these.
        """
        mine = sa.and_(ANALYSES.c.id == checked_id(analysis_id), ANALYSES.c.owner == self._mine)
        with transaction(self._engine) as connection:
            sha = connection.execute(sa.select(ANALYSES.c.votes_sha256).where(mine)).scalar()
            if sha is None or not _locked(connection, sha):
                raise NotFound("no such analysis")
            if not connection.execute(sa.delete(ANALYSES).where(mine)).rowcount:
                raise NotFound("no such analysis")
            same = ANALYSES.c.votes_sha256 == sha
            draws = connection.execute(sa.select(ANALYSES.c.draw).where(same)).scalars().all()
            gone = _unused(connection, sha, draws)
            if not draws:
                connection.execute(sa.delete(VOTES).where(VOTES.c.sha256 == sha))
                self._known_votes.forget(sha)
        if self._engine.dialect.name == "sqlite":
            # Deleted data is removed from the log too; if others read, their connections do it.
            with suppress(sqlite3.Error, SQLAlchemyError), self._engine.connect() as connection:
                cursor = connection.connection.cursor()
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                cursor.close()
        for key in map(str, gone):
            for forget in (self._jobs.forget, self._known_results.forget, self._previews.forget):
                forget(key)
        if not self._owns(self._mine, sha):
            who = self._who()
            for wanted in self._interests.wanted(sha, party_of(who)):
                self._withdraw(wanted, who)

    def submit(self, study: AnyStudy, votes: VoteMatrix, spec: Spec) -> None:
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

            def claim(connection: sa.Connection) -> bool:
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

    def result(self, study: AnyStudy, votes_sha256: str, spec: Spec) -> Stored | None:
        """Return the finished result of a spec, if any, from the newest engine."""
        self._require_access(votes_sha256)
        return self._result(study, _key(study, votes_sha256, spec), spec)

    def _result(self, study: AnyStudy, key: Key, spec: Spec) -> Stored | None:
        known = self._known_results.get(str(key))
        if known is not None and known.engine == key.engine:
            return known
        result = self._stored_result(study, key, spec)
        if result is not None and result.current:
            self._known_results.put(str(key), result)
        return result

    def _is_current(self, study: AnyStudy, key: Key, spec: Spec) -> bool:
        stored = self._result(study, key, spec)
        return stored is not None and stored.current

    def is_unreadable(self, study: AnyStudy, votes_sha256: str, spec: Spec) -> bool:
        """Return whether a result of this spec is stored but unreadable."""
        self._require_access(votes_sha256)
        key = _key(study, votes_sha256, spec)
        held = any(True for _ in self._results(key, spec))
        return held and self._result(study, key, spec) is None

    def partial(self, study: AnyStudy, votes_sha256: str, spec: Spec) -> Job | None:
        """Return the state of work that this user wants or cancelled, or that failed for them.

        None also for work whose server has died: the next submission continues it. Work that only
        others want is not reported.
        """
        self._require_access(votes_sha256)
        return self._partial(study, _key(study, votes_sha256, spec), spec, self._who())

    def _partial(self, study: AnyStudy, key: Key, spec: Spec, who: str) -> Job | None:
        before = self._jobs.state(str(key))
        mine = self._interests.find(key, party_of(who))
        if mine is None:
            return self._finished(study, key, spec, who)
        if mine.state in ("cancelled", "failed"):
            return self._ended(study, key, spec, mine)
        job = self._jobs.state(str(key), who)
        if job is not None and job.status == "running":
            return job
        if before is not None and before.status == "running":  # It ended after the database query.
            return self._partial(study, key, spec, who)
        if job is not None and job.status == "failed" and mine.holder == self._ledger.server:
            return job  # The database could not be updated.
        # Another server works on it, unless it has died.
        live = mine.work == "running" and mine.live
        return _as_job("running", mine, self._so_far(study, key, spec, mine.done)) if live else None

    def _finished(self, study: AnyStudy, key: Key, spec: Spec, who: str) -> Job | None:
        """Return the state of work that this user's interest ended with, once its result is stored.

        An interest also ends when others cancel work that its user has not viewed for long.
        """
        # Checked before the state: a job that ends in between removes its interests.
        is_mine = self._jobs.wants(str(key), who)
        job = self._jobs.state(str(key))
        over = ("done", "running") if is_mine else ("done",)
        is_over = job is not None and job.status in over
        return job if is_over and self._result(study, key, spec) is not None else None

    def _ended(self, study: AnyStudy, key: Key, spec: Spec, mine: Interest) -> Job:
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

    def _so_far(self, study: AnyStudy, key: Key, spec: Spec, n_done: int) -> Any:
        """Return the result of the stored chunks, cached for a short time."""
        seen, when, result = self._previews.get(str(key)) or (0, 0.0, None)
        if seen == n_done or (seen and time.monotonic() - when < PREVIEW_SECONDS):
            return result
        result = self._merged(study, key, spec)
        self._previews.put(str(key), (n_done, time.monotonic(), result))
        return result

    def _merged(self, study: AnyStudy, key: Key, spec: Spec, most: int | None = None) -> Any:
        """Return the result of the stored chunks, of the first ``most`` if that is given."""
        pieces = self._ledger.pieces(key, study.plan(spec), study.partial)
        first = dict(sorted(pieces.items())[:most])
        return merged(study, self._stored_votes(key.votes_sha256), spec, first)

    def wait(self, study: AnyStudy, votes_sha256: str, spec: Spec, seconds: float) -> None:
        """Wait until running work has a first result or has ended, at most ``seconds``."""
        self._jobs.wait(str(_key(study, votes_sha256, spec)), seconds)

    def cancel(self, study: AnyStudy, votes_sha256: str, spec: Spec) -> None:
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


def draw_of(settings: Settings) -> str:
    """Return splits and seed, which all work for an analysis shares."""
    return f"{settings.splits or AUTO_SPLITS}:{settings.seed}"[:64]


def _row(analysis: Analysis) -> dict[str, Any]:
    return {
        "id": analysis.id,
        "votes_sha256": analysis.votes_sha256,
        "draw": draw_of(analysis.settings),
        "created": analysis.created,
        "content": json.dumps(to_plain(analysis), ensure_ascii=True, allow_nan=False),
    }


_BEST = {name: Analysis.__dataclass_fields__[name].default for name in ("prefer", "price")}
"""The panel of analyses that were stored before one could be chosen."""


def read(analysis_id: str, content: str) -> Analysis | None:
    """Return an analysis from its row; None if it is damaged."""
    try:
        analysis = from_plain(Analysis, _BEST | json.loads(content))
    except UNREADABLE:
        return None
    return analysis if analysis.id == analysis_id else None


def _locked(connection: sa.Connection, sha256: str) -> bool:
    """Return whether these votes exist; if so they are locked until the transaction ends."""
    wanted = sa.select(VOTES.c.sha256).where(VOTES.c.sha256 == sha256).with_for_update()
    return connection.execute(wanted).first() is not None


def _unused(connection: sa.Connection, sha256: str, draws: Iterable[str]) -> tuple[Key, ...]:
    """Delete results and jobs of these votes for other splits and seeds."""
    tables = [
        (table, sa.and_(table.c.votes_sha256 == sha256, table.c.draw.not_in(draws)))
        for table in (RESULTS, JOBS)
    ]
    wanted = sa.union(
        *(sa.select(*(t.c[name] for name in _WORK)).where(which) for t, which in tables)
    )
    gone = tuple(Key(*row) for row in connection.execute(wanted))
    for table, which in tables:
        connection.execute(sa.delete(table).where(which))
    return gone


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def stamp(seconds: float) -> str:
    """Return seconds of the database's clock as ISO 8601, UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def asks_the_same(content: bytes, spec: Spec) -> bool:
    """Return whether a stored result, as compressed JSON, answers ``spec``.

    Specs gain options over time, and results are found by the SHA-256 of all options. A spec of an
    earlier version asks the same question if all options that it shares with the current one are
    equal and the other current options have their defaults, which are what was computed before
    there was a choice.
    """
    try:
        earlier = json.loads(zlib.decompress(content))["spec"]
    except (ValueError, TypeError, KeyError, RecursionError, zlib.error):
        return False
    return _agrees(earlier, to_plain(spec), to_plain(type(spec)()))


def _agrees(earlier: Any, asked: Any, default: Any) -> bool:
    if not (isinstance(earlier, dict) and isinstance(asked, dict) and isinstance(default, dict)):
        return bool(earlier == asked)
    return all(
        _agrees(earlier[name], value, default.get(name))
        if name in earlier
        else value == default.get(name)
        for name, value in asked.items()
    )


def _shared(connection: sa.Connection, token: str, signed_in: bool) -> tuple[Analysis, str]:
    """Return what a token opens, and its owner."""
    if not TOKEN.fullmatch(token):
        raise NotFound("no such link")
    names = ANALYSES.c
    wanted = sa.select(names.id, names.content, names.owner, SHARES.c.signed_in_only)
    wanted = wanted.join(SHARES, SHARES.c.analysis_id == ANALYSES.c.id)
    wanted = wanted.where(SHARES.c.token_sha256 == id_of_token(token), _live())
    row = connection.execute(wanted).first()
    if row is None:
        raise NotFound("no such link")
    analysis_id, content, owner, signed_in_only = row
    if signed_in_only and not signed_in:
        raise SignInFirst("this link opens only for those who have signed in")
    analysis = read(analysis_id, content)
    if analysis is None:
        raise NotFound("no such link")
    return analysis, owner


def _live() -> sa.ColumnElement[bool]:
    ends = SHARES.c.expires
    return sa.and_(SHARES.c.revoked.is_(None), sa.or_(ends.is_(None), ends > DatabaseNow()))


def id_of_token(token: str) -> str:
    """The id of the link with this token."""
    return hashlib.sha256(token.encode()).hexdigest()


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


def _key(study: AnyStudy, votes_sha256: str, spec: Spec) -> Key:
    return Key(checked_id(votes_sha256), study.name, spec_sha(spec), ENGINE)
