"""Votes, analyses, results and decisions in the database.

Storing an analysis or a result first locks its votes, and so does deleting: of two concurrent
operations, the second sees the effect of the first.

Share links: a random token opens one analysis until it expires or is revoked.

Only the SHA-256 of a token is stored, so reading the database does not give access to shared
analyses.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    union,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from judgepanel.kernels.threads import Cache
from judgepanel.service.basics import TOKEN, Lost, NotFound, SignInFirst
from judgepanel.service.database import transaction
from judgepanel.service.ledger import Key, upsert
from judgepanel.service.tables import ANALYSES, DECISIONS, JOBS, RESULTS, SHARES, VOTES, DatabaseNow
from judgepanel.service.workspace import Analysis, Decision, Share, Stored, checked_id, new_id
from judgepanel.studies.codec import from_plain, pack, shape_of, to_plain, unpack
from judgepanel.studies.contract import AUTO_SPLITS, Settings, Spec, Study
from judgepanel.votes import VoteMatrix

T = TypeVar("T")

UNREADABLE = (
    *(ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError),
    zlib.error,
)
"""Errors that reading damaged JSON may raise. Disk errors are not among them."""
_LOG = logging.getLogger(__name__)
_KEPT_VOTES = 8
_WORK = tuple(Key.__dataclass_fields__)


class Archive:
    """The contents of a database, for any owner."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._votes: Cache[VoteMatrix] = Cache(_KEPT_VOTES)

    def put_votes(self, votes: VoteMatrix) -> None:
        """Store votes by content."""
        self.put(votes, lambda _: None)

    def put(self, votes: VoteMatrix, then: Callable[[Connection], T]) -> T:
        """Store votes and return ``then(connection)`` from the same transaction.

        Until the transaction ends nobody else can delete the votes.
        """
        known = self._votes.get(votes.sha256) is not None
        content = None if known else pack(votes)
        with transaction(self._engine) as connection:
            if not known or not _locked(connection, votes.sha256):
                # Written even if a row with that hash exists, because that row may be damaged.
                row = {"sha256": votes.sha256, "content": content or pack(votes)}
                upsert(connection, VOTES, row, ("content",))
            put = then(connection)
        self._votes.put(votes.sha256, votes)
        return put

    def holding(self, sha256: str, then: Callable[[Connection], T]) -> T:
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

    def owns(self, owner: str, votes_sha256: str) -> bool:
        """Return whether this owner has an analysis of these votes."""
        names = ANALYSES.c
        wanted = select(names.id).where(names.owner == owner, names.votes_sha256 == votes_sha256)
        with transaction(self._engine, write=False) as connection:
            return connection.execute(wanted).first() is not None

    def votes(self, sha256: str) -> VoteMatrix:
        """Return the votes with this SHA-256, or raise NotFound."""
        known = self._votes.get(sha256)
        if known is not None:
            return known
        wanted = select(VOTES.c.content).where(VOTES.c.sha256 == checked_id(sha256))
        with transaction(self._engine, write=False) as connection:
            content = connection.execute(wanted).scalar()
        if content is None:
            raise NotFound("no such votes")
        try:
            votes = votes_of(content)
        except ValueError:
            raise NotFound("these votes are damaged: they cannot be read") from None
        if votes.sha256 != sha256:
            # Before coded ties entered the SHA-256, votes were stored under the hash without ties.
            votes = replace(votes, ties=None)
        if votes.sha256 != sha256:
            raise NotFound("these votes are damaged: their content does not match their hash")
        self._votes.put(sha256, votes)
        return votes

    def add(self, analysis: Analysis, votes: VoteMatrix, owner: str, *, anew: bool = True) -> None:
        """Store an analysis and its votes; without ``anew``, an existing analysis is kept."""
        row = _row(analysis) | {"owner": owner}
        if anew:
            self.put(votes, lambda connection: connection.execute(insert(ANALYSES).values(**row)))
        else:
            self.put(votes, lambda connection: upsert(connection, ANALYSES, row, ()))

    def open(self, analysis_id: str, owner: str) -> Analysis:
        """Return an analysis of this owner, or raise NotFound."""
        with transaction(self._engine, write=False) as connection:
            return opened(connection, analysis_id, owner)

    def list(self, owner: str) -> tuple[Analysis, ...]:
        """Return all analyses of an owner, newest first."""
        wanted = select(ANALYSES.c.id, ANALYSES.c.content).where(ANALYSES.c.owner == owner)
        with transaction(self._engine, write=False) as connection:
            rows = connection.execute(wanted).all()
        analyses = [analysis for row in rows if (analysis := read(*row)) is not None]
        return tuple(sorted(analyses, key=lambda a: (a.created, a.id), reverse=True))

    def rename(self, analysis_id: str, name: str, owner: str) -> Analysis:
        """Rename an analysis and return it, or raise NotFound."""
        with transaction(self._engine) as connection:
            renamed = replace(opened(connection, analysis_id, owner, lock=True), name=name)
            change = update(ANALYSES).where(ANALYSES.c.id == analysis_id)
            connection.execute(change.values(content=_row(renamed)["content"]))
        return renamed

    def delete(self, analysis_id: str, owner: str) -> tuple[str, tuple[Key, ...]]:
        """Delete an analysis and what no other uses; return its votes and the deleted work.

        A result belongs to the analyses of its votes with its splits and seed: the pages of one
        analysis vary some other settings, but never these.
        """
        mine = and_(ANALYSES.c.id == checked_id(analysis_id), ANALYSES.c.owner == owner)
        with transaction(self._engine) as connection:
            sha = connection.execute(select(ANALYSES.c.votes_sha256).where(mine)).scalar()
            if sha is None or not _locked(connection, sha):
                raise NotFound("no such analysis")
            if not connection.execute(delete(ANALYSES).where(mine)).rowcount:
                raise NotFound("no such analysis")
            same = ANALYSES.c.votes_sha256 == sha
            draws = connection.execute(select(ANALYSES.c.draw).where(same)).scalars().all()
            gone = _unused(connection, sha, draws)
            if not draws:
                connection.execute(delete(VOTES).where(VOTES.c.sha256 == sha))
                self._votes.forget(sha)
        _wipe(self._engine)
        return sha, gone

    def decide(self, analysis_id: str, decision: Decision, owner: str) -> Decision:
        """Record a decision on an analysis of this owner, or raise NotFound."""
        with transaction(self._engine) as connection:
            opened(connection, analysis_id, owner, lock=True)
            earlier = select(func.max(DECISIONS.c.made))
            earlier = earlier.where(DECISIONS.c.analysis_id == analysis_id)
            latest = connection.execute(earlier).scalar_one() or 0.0
            now = connection.execute(select(DatabaseNow())).scalar_one()
            # Clocks have a resolution of milliseconds and may be set back, but time determines the
            # order.
            moment = max(now, latest + 1e-6)
            row = {"id": new_id(), "analysis_id": analysis_id, "made": moment}
            row |= {"what": decision.what, "by": decision.by, "why": decision.why}
            connection.execute(insert(DECISIONS).values(**row))
            return replace(decision, made=stamp(moment))

    def decisions(self, analysis_id: str, owner: str) -> tuple[Decision, ...]:
        """Return the decisions on an analysis of this owner in order, or raise NotFound."""
        with transaction(self._engine, write=False) as connection:
            opened(connection, analysis_id, owner)
            return decided(connection, analysis_id)

    def result(self, study: Study[Any, Any, Any], key: Key, spec: Spec) -> Stored | None:
        """Return the readable result of the newest engine up to this one."""
        shape_of(study.result)  # An invalid result type is not damaged data.
        for engine, content in self._results(key, spec):
            try:
                result = from_plain(study.result, json.loads(zlib.decompress(content))["result"])
            except UNREADABLE as error:
                _LOG.warning("result %s of engine %d cannot be read: %.200s", key, engine, error)
                continue
            return Stored(result, engine, engine == key.engine)
        return None

    def holds_result(self, key: Key, spec: Spec) -> bool:
        """Return whether a result of this or an earlier engine is stored, readable or not."""
        return any(True for _ in self._results(key, spec))

    def _results(self, key: Key, spec: Spec) -> Iterator[tuple[int, bytes]]:
        """Yield engine and content of each result that answers this spec, newest first.

        Earlier engines may have stored the same question under a spec with fewer options; their
        contents are unpacked only if no newer result will do.
        """
        of, draw = RESULTS.c, draw_of(spec.settings)
        same = of.spec_sha256 == key.spec_sha256
        wanted = select(of.engine, of.content, same.label("same")).where(
            *(of.votes_sha256 == key.votes_sha256, of.study == key.study, of.engine <= key.engine),
            or_(same, and_(of.engine < key.engine, of.draw == draw)),
        )
        with transaction(self._engine, write=False) as connection:
            rows = connection.execute(wanted.order_by(of.engine.desc(), same.desc())).all()
        for engine, content, exact in rows:
            if exact or asks_the_same(content, spec):
                yield engine, content

    def put_result(self, connection: Connection, key: Key, spec: Spec, result: Any) -> None:
        """Store a result; raise Lost if its votes were deleted."""
        content = {"study": key.study, "engine": key.engine, "spec": to_plain(spec)}
        content["result"] = to_plain(result)
        row = {**key.columns(), "draw": draw_of(spec.settings), "content": packed_json(content)}
        if not _locked(connection, key.votes_sha256):
            raise Lost
        upsert(connection, RESULTS, row, ("draw", "content"))


def draw_of(settings: Settings) -> str:
    """Return splits and seed, which all work for an analysis shares."""
    return f"{settings.splits or AUTO_SPLITS}:{settings.seed}"[:64]


def packed_json(content: Any) -> bytes:
    """Return JSON as compressed bytes."""
    return zlib.compress(json.dumps(content, allow_nan=False).encode())


def _row(analysis: Analysis) -> dict[str, Any]:
    return {
        "id": analysis.id,
        "votes_sha256": analysis.votes_sha256,
        "draw": draw_of(analysis.settings),
        "created": analysis.created,
        "content": json.dumps(to_plain(analysis), ensure_ascii=True, allow_nan=False),
    }


def opened(connection: Connection, analysis_id: str, owner: str, *, lock: bool = False) -> Analysis:
    """Return an analysis of this owner, or raise NotFound; ``lock`` locks its row."""
    wanted = select(ANALYSES.c.id, ANALYSES.c.content)
    wanted = wanted.where(ANALYSES.c.id == checked_id(analysis_id), ANALYSES.c.owner == owner)
    row = connection.execute(wanted.with_for_update() if lock else wanted).first()
    analysis = None if row is None else read(*row)
    if analysis is None:
        raise NotFound("no such analysis")
    return analysis


def decided(connection: Connection, analysis_id: str) -> tuple[Decision, ...]:
    """Return the decisions on an analysis in order, without an access check."""
    names = DECISIONS.c
    wanted = select(names.what, names.by, names.why, names.made)
    wanted = wanted.where(names.analysis_id == analysis_id).order_by(names.made, names.id)
    rows = connection.execute(wanted).all()
    return tuple(Decision(what, by, why, stamp(made)) for what, by, why, made in rows)


def read(analysis_id: str, content: str) -> Analysis | None:
    """Return an analysis from its row; None if it is damaged."""
    try:
        analysis = analysis_of(json.loads(content))
    except UNREADABLE:
        return None
    return analysis if analysis.id == analysis_id else None


def analysis_of(content: dict[str, Any]) -> Analysis:
    """Return an analysis from its JSON."""
    return from_plain(Analysis, content)


def votes_of(content: bytes) -> VoteMatrix:
    """Return votes from their bytes; raise ValueError if damaged."""
    return unpack(VoteMatrix, content)


def _locked(connection: Connection, sha256: str) -> bool:
    """Return whether these votes exist; if so they are locked until the transaction ends."""
    wanted = select(VOTES.c.sha256).where(VOTES.c.sha256 == sha256).with_for_update()
    return connection.execute(wanted).first() is not None


def _unused(connection: Connection, sha256: str, draws: Iterable[str]) -> tuple[Key, ...]:
    """Delete results and jobs of these votes for other splits and seeds."""
    wide = [
        and_(table.c.votes_sha256 == sha256, table.c.draw.not_in(draws))
        for table in (RESULTS, JOBS)
    ]
    tables = list(zip((RESULTS, JOBS), wide, strict=True))
    wanted = union(*(select(*(t.c[name] for name in _WORK)).where(which) for t, which in tables))
    gone = tuple(Key(*row) for row in connection.execute(wanted))
    for table, which in tables:
        connection.execute(delete(table).where(which))
    return gone


def _wipe(engine: Engine) -> None:
    """Remove deleted data from SQLite's log too; if others read, their connections do it later."""
    if engine.dialect.name == "sqlite":
        with suppress(sqlite3.Error, SQLAlchemyError), engine.connect() as connection:
            cursor = connection.connection.cursor()
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            cursor.close()


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


_RESULT = re.compile(r"([0-9a-f]{64})-(\w+)-([0-9a-f]{64})-e([0-9]{1,6})\.json")


TOKEN_BYTES = 32
_ID = re.compile(r"[0-9a-f]{64}")


class Shares:
    """The share links in a database, for any owner."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def make(
        self, analysis_id: str, owner: str, seconds: float | None, *, signed_in_only: bool
    ) -> str:
        """Return a token that opens an analysis of this owner for ``seconds``, None until revoked.

        Raises
        ------
        NotFound
            This owner has no such analysis.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with transaction(self._engine) as connection:
            opened(connection, analysis_id, owner, lock=True)
            row = {
                "token_sha256": id_of_token(token),
                "analysis_id": analysis_id,
                "signed_in_only": signed_in_only,
                "created": DatabaseNow(),
                "expires": None if seconds is None else DatabaseNow() + seconds,
            }
            connection.execute(insert(SHARES).values(**row))
        return token

    def list(self, analysis_id: str, owner: str) -> tuple[Share, ...]:
        """Return the live links of an analysis of this owner, newest first, or raise NotFound."""
        names = SHARES.c
        wanted = select(names.token_sha256, names.created, names.expires, names.signed_in_only)
        wanted = wanted.where(names.analysis_id == analysis_id, _live())
        with transaction(self._engine, write=False) as connection:
            opened(connection, analysis_id, owner)
            rows = connection.execute(wanted.order_by(names.created.desc())).all()
        return tuple(
            Share(share_id, stamp(created), None if expires is None else stamp(expires), signed_in)
            for share_id, created, expires, signed_in in rows
        )

    def revoke(self, analysis_id: str, share_id: str, owner: str) -> None:
        """Revoke a link of an analysis of this owner, or raise NotFound; ended links stay ended."""
        with transaction(self._engine) as connection:
            opened(connection, analysis_id, owner)
            if _ID.fullmatch(share_id):
                this = (SHARES.c.token_sha256 == share_id, SHARES.c.analysis_id == analysis_id)
                connection.execute(update(SHARES).where(*this).values(revoked=DatabaseNow()))

    def open(self, token: str, *, signed_in: bool) -> Analysis:
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

    def owner(self, token: str, *, signed_in: bool) -> str:
        """Return the owner of the analysis that a token opens; raises as :meth:`open`."""
        with transaction(self._engine, write=False) as connection:
            return _shared(connection, token, signed_in)[1]

    def decisions(self, token: str, *, signed_in: bool) -> tuple[Decision, ...]:
        """Return the decisions on the analysis that a token opens; raises as :meth:`open`."""
        with transaction(self._engine, write=False) as connection:
            return decided(connection, _shared(connection, token, signed_in)[0].id)


def _shared(connection: Connection, token: str, signed_in: bool) -> tuple[Analysis, str]:
    """Return what a token opens, and its owner."""
    if not TOKEN.fullmatch(token):
        raise NotFound("no such link")
    names = ANALYSES.c
    wanted = select(names.id, names.content, names.owner, SHARES.c.signed_in_only)
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


def _live() -> ColumnElement[bool]:
    ends = SHARES.c.expires
    return and_(SHARES.c.revoked.is_(None), or_(ends.is_(None), ends > DatabaseNow()))


def id_of_token(token: str) -> str:
    """The id of the link with this token."""
    return hashlib.sha256(token.encode()).hexdigest()
