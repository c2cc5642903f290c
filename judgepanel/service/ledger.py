"""Jobs in the database: the server of each, its progress, and the finished chunks.

A server holds a job by a lease that it renews. Times are those of the database, so server clocks
need not agree. A lease that ends too far in the future is invalid: the clock was set back.

Interests in shared work: equal work runs once, and each user sees and withdraws their own.

A party is a user, or all readers of a user's links. Its row has its own state of the work:
``active`` while it wants it, ``leaving`` while the work stops because it was the last, then
``cancelled`` or ``failed`` with the progress at that time. No party sees another party's row.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, delete, not_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from judgepanel import ENGINE
from judgepanel.service import basics, workspace
from judgepanel.service.database import INTERESTS, JOBS, PARTIALS, DatabaseNow, transaction
from judgepanel.studies.codec import pack, unpack
from judgepanel.studies.contract import Chunk, PartialT

LEASE_SECONDS = 15.0
KEPT_SECONDS = 7 * 86_400.0
"""Seconds for which chunks of work without a result, or abandoned work, are kept."""


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a result."""

    votes_sha256: str
    study: str
    spec_sha256: str
    engine: int

    def __str__(self) -> str:
        return f"{self.votes_sha256}-{self.study}-{self.spec_sha256}"

    def columns(self) -> dict[str, Any]:
        """Return the key as values of a row."""
        return asdict(self)

    def of(self, table: Table) -> ColumnElement[bool]:
        """Return the key as a condition on a table."""
        return and_(*(table.c[name] == value for name, value in self.columns().items()))


def upsert(
    connection: Connection,
    table: Table,
    values: Mapping[str, Any],
    changed: Sequence[str],
    where: ColumnElement[bool] | None = None,
) -> bool:
    """Insert a row, or update ``changed`` columns of the row with its key, if ``where`` holds.

    With no ``changed`` columns an existing row is kept. Returns whether a row was written.
    """
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).values(**values)
    key = [column.name for column in table.primary_key]
    if changed:
        new = {name: statement.excluded[name] for name in changed}
        statement = statement.on_conflict_do_update(index_elements=key, set_=new, where=where)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=key)
    first = next(iter(table.primary_key))
    return connection.execute(statement.returning(first)).first() is not None


def is_live() -> ColumnElement[bool]:
    """Condition that a server holds the lease of a job."""
    now, end = DatabaseNow(), JOBS.c.lease_end
    return and_(JOBS.c.state == "running", end > now, end <= now + 2 * LEASE_SECONDS)


def _running_on(server: str) -> ColumnElement[bool]:
    return and_(JOBS.c.lease_owner == server, JOBS.c.state == "running")


def _release(engine: Engine, server: str) -> None:
    """Release all work of a server, so that its own threads cannot continue it either."""
    freed = update(JOBS).where(_running_on(server)).values(lease_owner="", lease_end=0.0)
    with suppress(basics.DatabaseProblem), transaction(engine) as connection:
        connection.execute(freed)
    engine.dispose()


class Ledger:
    """The jobs of one server among those of all servers of a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.server = secrets.token_urlsafe(16)  # Its name in its leases.
        self._ended = threading.Event()
        # A process that ends normally releases its work; if it is killed, its leases expire.
        self._release = weakref.finalize(self, _release, engine, self.server)
        self._renewing: threading.Thread | None = None
        self._lock = threading.Lock()

    def claim(self, connection: Connection, key: Key, draw: str, total: int) -> bool:
        """Take on work; return False while another server holds its lease.

        Chunks that are already finished are kept.
        """
        now = DatabaseNow()
        lease = {"lease_owner": self.server, "lease_end": now + LEASE_SECONDS, "cancel": False}
        work = {"draw": draw, "state": "running", "total": total, "message": "", "changed": now}
        values = {**key.columns(), **lease, **work, "done": 0, "elapsed": 0.0}
        free = not_(and_(is_live(), JOBS.c.lease_owner != self.server))
        claimed = upsert(connection, JOBS, values, [*lease, *work], free)
        with self._lock:
            if claimed and self._renewing is None:  # From now on leases are renewed.
                name = "judgepanel-leases"
                self._renewing = threading.Thread(target=self._renew, name=name, daemon=True)
                self._renewing.start()
        return claimed

    def withdraw(self, key: Key) -> None:
        """Remove work that was claimed but is not needed."""
        with transaction(self._engine) as connection:
            connection.execute(delete(JOBS).where(self._mine(key)))

    def elapsed(self, key: Key) -> float:
        """Return the seconds that work has taken so far, on any server."""
        wanted = select(JOBS.c.elapsed).where(key.of(JOBS))
        with transaction(self._engine, write=False) as connection:
            return float(connection.execute(wanted).scalar() or 0.0)

    def pieces(self, key: Key, plan: Sequence[Chunk], kind: type[PartialT]) -> dict[int, PartialT]:
        """Return finished chunks by number, without damaged ones or another plan's or type's."""
        planned = {(chunk.number, chunk.first, chunk.count) for chunk in plan}
        names = PARTIALS.c
        wanted = select(names.chunk, names.first, names.count, names.content)
        pieces = {}
        with transaction(self._engine, write=False) as connection:
            for number, first, count, content in connection.execute(wanted.where(key.of(PARTIALS))):
                if (number, first, count) in planned:
                    try:
                        pieces[number] = unpack(kind, content)
                    except ValueError:
                        continue
        return pieces

    def keep(self, key: Key, chunk: Chunk, piece: Any, completed: int, elapsed: float) -> bool:
        """Store a finished chunk; return whether to continue, False if asked to stop.

        Raises
        ------
        Lost
            The work now belongs to another server, or was deleted.
        """
        own = {"first": chunk.first, "count": chunk.count, "content": pack(piece)}
        values = {**key.columns(), "chunk": chunk.number, **own}
        with transaction(self._engine) as connection:
            now = DatabaseNow()
            row = connection.execute(
                update(JOBS)
                .where(self._mine(key))
                .values(done=completed, elapsed=elapsed, lease_end=now + LEASE_SECONDS, changed=now)
                .returning(JOBS.c.cancel)
            ).first()
            if row is None:
                raise basics.Lost
            upsert(connection, PARTIALS, values, tuple(own))
        return not row[0]

    def finish(self, connection: Connection, key: Key) -> None:
        """Remove the row and chunks of finished work, in the transaction that stores the result.

        Raises
        ------
        Lost
            The work now belongs to another server, or was deleted.
        """
        if not connection.execute(delete(JOBS).where(self._mine(key))).rowcount:
            raise basics.Lost

    def end(self, key: Key, state: workspace.Status, message: str) -> None:
        """Record an end without a result; if the server is stopping, only the lease ends.

        Cancelled work that somebody else wants by then is free for the next server.
        """
        with transaction(self._engine) as connection:
            mine = select(JOBS.c.done, JOBS.c.elapsed).where(self._mine(key))
            row = connection.execute(mine.with_for_update()).first()
            if row is None:
                return
            values: dict[str, Any] = {"lease_end": 0.0, "changed": DatabaseNow()}
            if not self._ended.is_set():
                states = ["leaving"] if state == "cancelled" else ["active", "leaving"]
                own, interest = key.of(INTERESTS), INTERESTS.c.state
                statement = update(INTERESTS).where(own, interest.in_(states))
                outcome = {"state": state, "message": message, "done": row.done}
                connection.execute(statement.values(**outcome, elapsed=row.elapsed))
                wanted = select(INTERESTS.c.party).where(own, interest == "active")
                if connection.execute(wanted).first() is None:
                    values |= {"state": state, "message": message}
                else:
                    values |= {"lease_owner": "", "cancel": False}
            connection.execute(update(JOBS).where(self._mine(key)).values(**values))

    def release(self, key: Key) -> None:
        """Release work for the next server that requests it; its finished chunks are kept."""
        freed = update(JOBS).where(self._mine(key)).values(lease_owner="", lease_end=0.0)
        with transaction(self._engine) as connection:
            connection.execute(freed)

    def prune(self) -> None:
        """Remove work that no server holds and nobody has requested for a long time."""
        old = JOBS.c.changed < DatabaseNow() - KEPT_SECONDS
        other = JOBS.c.engine != ENGINE
        with transaction(self._engine) as connection:
            connection.execute(delete(JOBS).where(not_(is_live()), old | other))

    def let_go(self) -> None:
        """Release all work of this server, so that its own threads cannot continue it either."""
        self._ended.set()
        self._release()

    def stop(self) -> None:
        """Mark work that ends from now on as stopped with this server: others may continue it."""
        self._ended.set()
        self._release.detach()
        with self._lock:
            renewing = self._renewing
        if renewing is not None:
            renewing.join()

    def _mine(self, key: Key) -> ColumnElement[bool]:
        return and_(key.of(JOBS), _running_on(self.server))

    def _renew(self) -> None:
        while not self._ended.wait(LEASE_SECONDS / 3):
            self.renew()

    def renew(self) -> None:
        """Renew the leases of all running work of this server."""
        held = update(JOBS).where(_running_on(self.server))
        try:
            with transaction(self._engine) as connection:
                connection.execute(held.values(lease_end=DatabaseNow() + LEASE_SECONDS))
        except basics.DatabaseProblem:
            return  # The workers report the problem; the next renewal may succeed.


INTEREST_SECONDS = 600.0
"""Seconds without a view by a page after which an interest does not keep withdrawn work running."""
_RENEWED_SECONDS = 30.0
_JOINED = and_(*(INTERESTS.c[name] == JOBS.c[name] for name in Key.__dataclass_fields__))


@dataclass(frozen=True, slots=True)
class Interest:
    """One party's row, and the work's state: ``live`` while a server holds it, ``here`` this one.

    ``done``, ``elapsed`` and ``message`` are the row's own once its state is final.
    """

    state: str
    done: int
    total: int
    elapsed: float
    message: str
    work: str
    live: bool
    holder: str
    is_old: bool


def party_of(who: str) -> str:
    """Return a party's pseudonymous name in the database."""
    return hashlib.sha256(who.encode("utf-8", "surrogatepass")).hexdigest()


class Interests:
    """The interests in a database, for any party."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def join(self, connection: Connection, key: Key, party: str) -> None:
        """Register interest in work with a row; a last party that is leaving is released."""
        row = _locked(connection, key)
        others = update(INTERESTS).where(key.of(INTERESTS), INTERESTS.c.party != party)
        cancellation = {"state": "cancelled", "done": row.done, "elapsed": row.elapsed}
        connection.execute(others.where(INTERESTS.c.state == "leaving").values(**cancellation))
        mine = {"party": party, "state": "active", "done": 0, "elapsed": 0.0, "message": ""}
        values = {**key.columns(), **mine, "seen": DatabaseNow()}
        upsert(connection, INTERESTS, values, ("state", "done", "elapsed", "message", "seen"))
        connection.execute(update(JOBS).where(key.of(JOBS)).values(cancel=False))

    def find(self, key: Key, party: str) -> Interest | None:
        """Return a party's state of work, None without interest; counts as a view."""
        own = (INTERESTS.c.state, INTERESTS.c.done, INTERESTS.c.elapsed, INTERESTS.c.message)
        work = (JOBS.c.state, JOBS.c.done, JOBS.c.total, JOBS.c.elapsed)
        old = INTERESTS.c.seen < DatabaseNow() - _RENEWED_SECONDS
        wanted = select(*own, *work, is_live(), JOBS.c.lease_owner, old)
        wanted = wanted.join_from(INTERESTS, JOBS, _JOINED).where(_of(key, party))
        with transaction(self._engine, write=False) as connection:
            row = connection.execute(wanted).first()
        if row is None:
            return None
        state, n_done, elapsed, message, job, job_done, total, job_elapsed, live, holder, old = row
        if state in ("active", "leaving"):
            n_done, elapsed = job_done, job_elapsed
        interest = Interest(
            state, n_done, total, elapsed, message, job, bool(live), holder, bool(old)
        )
        if interest.is_old and state == "active":
            seen = update(INTERESTS).where(_of(key, party)).values(seen=DatabaseNow())
            with transaction(self._engine) as connection:
                connection.execute(seen)
        return interest

    def withdraw(self, key: Key, party: str) -> bool:
        """Withdraw a party's interest; return whether it was the last, so that work should stop."""
        with transaction(self._engine) as connection:
            row = _locked(connection, key)
            active = INTERESTS.c.state == "active"
            wanted = select(INTERESTS.c.party).where(_of(key, party), active)
            if row is None or connection.execute(wanted).first() is None:
                return False
            old = INTERESTS.c.seen < DatabaseNow() - INTEREST_SECONDS
            rest = and_(key.of(INTERESTS), INTERESTS.c.party != party, active)
            connection.execute(delete(INTERESTS).where(rest, old))
            others = connection.execute(select(INTERESTS.c.party).where(rest)).first() is not None
            left: dict[str, Any] = {"state": "cancelled", "done": row.done, "elapsed": row.elapsed}
            stops = not others and bool(row.live)
            mine = update(INTERESTS).where(_of(key, party))
            connection.execute(mine.values(**({"state": "leaving"} if stops else left)))
            if not others:
                last = {"cancel": True} if stops else {"state": "cancelled"}
                connection.execute(update(JOBS).where(key.of(JOBS)).values(**last))
        return stops

    def leave(self, key: Key, party: str) -> None:
        """Remove a party's interest as if it had never existed."""
        with transaction(self._engine) as connection:
            connection.execute(delete(INTERESTS).where(_of(key, party)))

    def wanted(self, votes_sha256: str, party: str) -> tuple[Key, ...]:
        """Return all work on these votes that a party wants."""
        names = (INTERESTS.c[name] for name in Key.__dataclass_fields__)
        mine = (INTERESTS.c.votes_sha256 == votes_sha256, INTERESTS.c.party == party)
        with transaction(self._engine, write=False) as connection:
            rows = connection.execute(select(*names).where(*mine)).all()
        return tuple(Key(*row) for row in rows)


def _locked(connection: Connection, key: Key) -> Any:
    """Return the progress of work, with its row locked until the transaction ends."""
    wanted = select(JOBS.c.done, JOBS.c.elapsed, is_live().label("live")).where(key.of(JOBS))
    return connection.execute(wanted.with_for_update()).first()


def _of(key: Key, party: str) -> ColumnElement[bool]:
    return and_(key.of(INTERESTS), INTERESTS.c.party == party)
