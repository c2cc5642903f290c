"""The schema of the database: made when a server first starts, and checked from then on.

Its revision is kept in a table as Alembic would, so that a later release can migrate with it.
"""

from __future__ import annotations

import re

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_engine,
    insert,
    inspect,
    select,
    text,
)

from judgepanel.service.basics import DatabaseProblem
from judgepanel.service.database import FOREIGN, NEWER, OLDER, transaction
from judgepanel.service.tables import METADATA
from judgepanel.votes.errors import quote_value

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
