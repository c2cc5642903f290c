"""Interests in shared work: equal work runs once, and each user sees and withdraws their own.

A party is a user, or all readers of a user's links. Its row has its own state of the work:
``active`` while it wants it, ``leaving`` while the work stops because it was the last, then
``cancelled`` or ``failed`` with the progress at that time. No party sees another party's row.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, and_, delete, select, update

from judgepanel.service.database import transaction
from judgepanel.service.ledger import Key, is_live, upsert
from judgepanel.service.tables import INTERESTS, JOBS, DatabaseNow

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

    @property
    def has_ended(self) -> bool:
        """Whether the work has ended for this party, whoever continues it."""
        return self.state in ("cancelled", "failed")


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
        changed = ("state", "done", "elapsed", "message", "seen")
        upsert(connection, INTERESTS, values, changed)
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
            if row is None or not _is_active(connection, key, party):
                return False
            old = INTERESTS.c.seen < DatabaseNow() - INTEREST_SECONDS
            rest = and_(
                key.of(INTERESTS), INTERESTS.c.party != party, INTERESTS.c.state == "active"
            )
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


def _is_active(connection: Connection, key: Key, party: str) -> bool:
    wanted = select(INTERESTS.c.party).where(_of(key, party), INTERESTS.c.state == "active")
    return connection.execute(wanted).first() is not None


def _of(key: Key, party: str) -> ColumnElement[bool]:
    return and_(key.of(INTERESTS), INTERESTS.c.party == party)
