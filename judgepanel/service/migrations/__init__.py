"""Migration of the database's schema when a server starts, and whether a file has that schema.

A schema that is current, or a database without tables, needs no Alembic, whose import takes longer
than all tables.
"""

from __future__ import annotations

import re
from pathlib import Path

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
from judgepanel.service.database import NEWER, transaction
from judgepanel.service.tables import METADATA
from judgepanel.votes.errors import quote_value

_FOLDER = Path(__file__).resolve().parent
_LOCK = 0x6A756467
"""Advisory lock of PostgreSQL during migration. In SQLite the write lock does the same."""
_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, which holds the revision of the schema."""


def migrate(engine: Engine, revision: str = "head") -> None:
    """Migrate the schema to this revision, completely or not at all; servers take turns.

    Raises
    ------
    DatabaseProblem
        A schema made by a newer judgepanel, or an unusable database.
    """
    with transaction(engine, write=False) as connection:
        if is_current(connection, revision):
            return
    with transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if is_current(connection, revision):
            return
        if revision == "head" and not inspect(connection).get_table_names():
            METADATA.create_all(connection)
            _VERSION.create(connection)
            connection.execute(insert(_VERSION).values(version_num=_revisions()[-1]))
        else:
            _upgrade(connection, revision)


def is_current(connection: Connection, revision: str) -> bool:
    """Whether the schema is at this revision; DatabaseProblem if a newer judgepanel made it."""
    known = _revisions()
    exists = inspect(connection).has_table(_VERSION.name)
    heads = connection.execute(select(_VERSION.c.version_num)).scalars().all() if exists else ()
    if not set(known).issuperset(heads):
        raise DatabaseProblem(NEWER)
    return list(heads) == [known[-1] if revision == "head" else revision]


def check_schema(connection: Connection) -> None:
    """Check that a SQLite database has what judgepanel made at its revision, and nothing else.

    A trigger or a view of another program could change or lose what is stored.

    Raises
    ------
    DatabaseProblem
        A table, index, trigger or view is missing, changed or foreign, or the revision is newer.
    """
    given = _schema(connection)
    if is_current(connection, "head") and given == _made("head"):
        return
    expected = _made(connection.execute(select(_VERSION.c.version_num)).scalar_one())
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


def _made(revision: str) -> dict[tuple[str, str], str]:
    """Return the schema of a database that is new, or was migrated to a revision."""
    engine = create_engine("sqlite://")
    try:
        migrate(engine, revision)
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


def _revisions() -> list[str]:
    """All revisions by the names of their files, such as ``v0001_tables.py``; the newest last."""
    return sorted(file.name[1:5] for file in (_FOLDER / "versions").glob("v????_*.py"))


def _upgrade(connection: Connection, revision: str) -> None:
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
