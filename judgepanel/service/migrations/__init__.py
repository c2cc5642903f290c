"""Migration of the database's schema when a server starts."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from judgepanel.service.database import NEWER, DatabaseProblem, transaction

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


def _config(connection: Connection) -> Config:
    config = Config()
    folder = str(Path(__file__).resolve().parent)
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
