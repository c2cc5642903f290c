"""Migration of the database's schema when a server starts, and whether a file has that schema."""

from __future__ import annotations

import re
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, text

from judgepanel.service.database import NEWER, DatabaseProblem, transaction
from judgepanel.votes.errors import quote_value

_LOCK = 0x6A756467
"""Advisory lock of PostgreSQL during migration. In SQLite the write lock does the same."""


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
        if not is_current(connection, revision):
            command.upgrade(_config(connection), revision)


def is_current(connection: Connection, revision: str) -> bool:
    """Whether the schema is at this revision; DatabaseProblem if a newer judgepanel made it."""
    scripts = ScriptDirectory.from_config(_config(connection))
    known = {script.revision for script in scripts.walk_revisions()}
    heads = MigrationContext.configure(connection).get_current_heads()
    if not known.issuperset(heads):
        raise DatabaseProblem(NEWER)
    return heads == tuple(scripts.get_heads() if revision == "head" else [revision])


def check_schema(connection: Connection) -> None:
    """Check that a SQLite database has what judgepanel made at its revision, and nothing else.

    A trigger or a view of another program could change or lose what is stored.

    Raises
    ------
    DatabaseProblem
        A table, index, trigger or view is missing, changed or foreign, or the revision is newer.
    """
    is_current(connection, "head")
    given = _schema(connection)
    ours = create_engine("sqlite://")
    try:
        for revision in MigrationContext.configure(connection).get_current_heads():
            migrate(ours, revision)
        with transaction(ours, write=False) as blank:
            expected = _schema(blank)
    finally:
        ours.dispose()
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


def _schema(connection: Connection) -> dict[tuple[str, str], str]:
    """Return the definitions of a SQLite database by kind and name, without spaces and quotes."""
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {
        (kind, name): re.sub(r'[\s"`\[\]]', "", f"{table}: {sql}").lower()
        for kind, name, table, sql in rows
        if not name.startswith("sqlite_")
    }


def _config(connection: Connection) -> Config:
    config = Config()
    folder = str(Path(__file__).resolve().parent)
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
