"""Tables of the workspace. ``schema`` makes and checks them.

User input is stored as ASCII-only JSON text (columns of type ``SafeText``), so a database need not
support NUL or lone surrogates.

The schema of the database: made when a server first starts, and checked from then on.

Its revision is kept in a table as Alembic would, so that a later release can migrate with it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Double,
    Engine,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    create_engine,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from judgepanel.service.basics import DatabaseProblem
from judgepanel.service.database import FOREIGN, NEWER, OLDER, transaction
from judgepanel.votes.errors import quote_value


class SafeText(TypeDecorator[str]):
    """Any Python string, including NUL and lone surrogates, as ASCII."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the value as a JSON string."""
        return None if value is None else json.dumps(value, ensure_ascii=True)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        """Return the value of a JSON string; damaged values become an empty text."""
        try:
            return None if value is None else str(json.loads(value))
        except ValueError:
            return ""


class DatabaseNow(FunctionElement[float]):
    """Seconds since 1970 by the clock of the database, whichever server asks."""

    type = Double()
    inherit_cache = True


@compiles(DatabaseNow, "sqlite")
def _sqlite_now(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(DatabaseNow, "postgresql")
def _postgresql_now(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch from clock_timestamp()) AS DOUBLE PRECISION)"


METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _votes_sha() -> Column[str]:
    key = ForeignKey("votes.sha256", ondelete="CASCADE")
    return Column("votes_sha256", String(64), key, primary_key=True)


def _work() -> tuple[Column[Any], ...]:
    """Columns of a result's key besides the votes."""
    return (
        Column("study", String(64), primary_key=True),
        Column("spec_sha256", String(64), primary_key=True),
        Column("engine", Integer, primary_key=True, autoincrement=False),
    )


def _of_job(*own: Column[Any]) -> tuple[Column[Any] | ForeignKeyConstraint, ...]:
    """Columns of rows that belong to a job and are deleted with it."""
    key = (Column("votes_sha256", String(64), primary_key=True), *_work())
    names = [column.name for column in key]
    jobs = ForeignKeyConstraint(names, [f"jobs.{name}" for name in names], ondelete="CASCADE")
    return (*key, *own, jobs)


VOTES = Table(
    "votes",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
"""Vote matrices by content, packed by :mod:`judgepanel.studies.codec`."""

ANALYSES = Table(
    "analyses",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("owner", SafeText, nullable=False),
    Column("votes_sha256", String(64), ForeignKey("votes.sha256"), nullable=False),
    Column("draw", String(64), nullable=False),
    Column("created", String(40), nullable=False),
    Column("content", Text, nullable=False),
    Index("ix_analyses_owner", "owner", "created"),
    Index("ix_analyses_votes_sha256", "votes_sha256"),
)
"""One row per analysis. ``content`` is the whole analysis as JSON; ``draw`` its splits and seed."""

RESULTS = Table(
    "results",
    METADATA,
    _votes_sha(),
    *_work(),
    Column("draw", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""Finished results; ``content`` is compressed JSON, ``draw`` splits and seed of the spec."""

JOBS = Table(
    "jobs",
    METADATA,
    _votes_sha(),
    *_work(),
    Column("draw", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("lease_owner", String(64), nullable=False),
    Column("lease_end", Double, nullable=False),
    Column("cancel", Boolean, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("elapsed", Double, nullable=False),
    Column("message", SafeText, nullable=False),
    Column("changed", Double, nullable=False),
)
"""Requested and unfinished work: running, cancelled or failed.

Running work belongs to the server that holds its lease, until ``lease_end`` by the database's
clock; afterwards any other server may take it over. ``cancel`` asks the holder to stop.
"""

PARTIALS = Table(
    "partials",
    METADATA,
    *_of_job(
        Column("chunk", Integer, primary_key=True, autoincrement=False),
        Column("first", BigInteger, nullable=False),
        Column("count", BigInteger, nullable=False),
        Column("content", LargeBinary, nullable=False),
    ),
)
"""Finished chunks of unfinished work, packed by :mod:`judgepanel.studies.codec`."""

INTERESTS = Table(
    "interests",
    METADATA,
    *_of_job(
        Column("party", String(64), primary_key=True),
        Column("state", String(16), nullable=False),
        Column("done", Integer, nullable=False),
        Column("elapsed", Double, nullable=False),
        Column("message", SafeText, nullable=False),
        Column("seen", Double, nullable=False),
    ),
)
"""Interests in work, by the SHA-256 of the party: see :mod:`judgepanel.service.ledger`."""


def _of_analysis() -> Column[str]:
    key = ForeignKey("analyses.id", ondelete="CASCADE")
    return Column("analysis_id", String(64), key, nullable=False, index=True)


SHARES = Table(
    "shares",
    METADATA,
    Column("token_sha256", String(64), primary_key=True),
    _of_analysis(),
    Column("signed_in_only", Boolean, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("revoked", Double),
)
"""Links to an analysis, by the SHA-256 of the token. Times in seconds of the database's clock."""

DECISIONS = Table(
    "decisions",
    METADATA,
    Column("id", String(64), primary_key=True),
    _of_analysis(),
    Column("what", SafeText, nullable=False),
    Column("by", SafeText, nullable=False),
    Column("why", SafeText, nullable=False),
    Column("made", Double, nullable=False),
)
"""Decisions on an analysis: by whom, why, and when by the database's clock."""

REVISION = "0003"
_LOCK = 0x6A756467
"""Advisory lock of PostgreSQL while tables are made. In SQLite the write lock does the same."""
VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""The table that holds the revision of the schema."""


def prepare(engine: Engine) -> None:
    """Make the tables in an empty database, completely or not at all; servers take turns.

    Raises
    ------
    DatabaseProblem
        A schema of another revision, or an unusable database.
    """
    with transaction(engine, write=False) as connection:
        if is_current(connection):
            return
    with transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if is_current(connection):
            return
        names = set(inspect(connection).get_table_names())
        if VERSION.name in names:
            raise DatabaseProblem(OLDER)
        if names.intersection(METADATA.tables):
            raise DatabaseProblem(FOREIGN)
        METADATA.create_all(connection)
        VERSION.create(connection)
        connection.execute(insert(VERSION).values(version_num=REVISION))


def is_current(connection: Connection) -> bool:
    """Whether the schema has this revision; DatabaseProblem if a newer judgepanel made it."""
    exists = inspect(connection).has_table(VERSION.name)
    revisions = connection.scalars(select(VERSION.c.version_num)).all() if exists else ()
    if any(revision > REVISION for revision in revisions):
        raise DatabaseProblem(NEWER)
    return list(revisions) == [REVISION]


def check_schema(connection: Connection) -> None:
    """Check that a SQLite database has what judgepanel made, and nothing else.

    A trigger or a view of another program could change or lose what is stored.

    Raises
    ------
    DatabaseProblem
        A table, index, trigger or view is missing, changed or foreign, or another revision.
    """
    if not is_current(connection):
        raise DatabaseProblem(OLDER)
    given, expected = _schema(connection), _made()
    foreign = sorted(given.keys() - expected.keys())
    if foreign:
        kind, name = foreign[0]
        raise DatabaseProblem(
            f"The database has the {kind} {quote_value(name)}, which judgepanel did not make: drop "
            f"the {kind} in a copy of this file, or bring back a backup from before it was added."
        )
    changed = [key for key, sql in expected.items() if given.get(key) != sql]
    if changed:
        kind, name = min(changed, key=lambda key: (key[0] != "table", key))
        raise DatabaseProblem(
            f"The {kind} '{name}' of the database is missing or not as judgepanel made it: bring "
            "back a backup from before it was changed."
        )


def _made() -> dict[tuple[str, str], str]:
    """Return the schema of a new database."""
    engine = create_engine("sqlite://")
    try:
        prepare(engine)
        with transaction(engine, write=False) as connection:
            return _schema(connection)
    finally:
        engine.dispose()


def _schema(connection: Connection) -> dict[tuple[str, str], str]:
    """Return the definitions of a SQLite database by kind and name, without spaces and quotes."""
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {
        (kind, name): re.sub(r'[\s"`\[\]]', "", f"{table}: {sql}").lower()
        for kind, name, table, sql in rows
        if not name.startswith("sqlite_")
    }
