"""Integrity and identity of a SQLite database's file.

A database has a random number as its ``user_version``, and a file next to it contains the same
number. An emptied, deleted or exchanged file is then noticed instead of being taken for a new
database, at the start of a server and in every transaction.
"""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path

from sqlalchemy import Connection, Engine, event

from judgepanel.service.basics import DatabaseProblem
from judgepanel.service.database import DAMAGED, transaction

SUFFIX = ".identity"
_LARGEST = 2**31 - 1
_LOG = logging.getLogger(__name__)
_WAY_ON = (
    "Stop the server, then bring back a backup with `judgepanel restore`; or, to go on with "
    "what is there now, delete the file that ends in .identity beside it."
)
GONE = f"The file of the database was deleted, emptied or moved. {_WAY_ON}"
REPLACED = f"The file of the database is another one than before. {_WAY_ON}"


def file_of(engine: Engine) -> Path | None:
    """Return the file of a SQLite database with a plain path; None for others."""
    url = engine.url
    plain = engine.dialect.name == "sqlite" and url.database and "uri" not in url.query
    return Path(str(url.database)) if plain else None


def identity_file(file: Path) -> Path:
    """Return the path of the file with the database's number."""
    return file.with_name(file.name + SUFFIX)


def expected_identity(file: Path) -> int | None:
    """Return the number that the database in this file must have; None if unknown."""
    try:
        return int(identity_file(file).read_text("ascii"))
    except (OSError, ValueError):
        return None


def note_identity(file: Path, number: int) -> None:
    """Store the number of the database in this file; 0, a database without one, stores nothing."""
    note = identity_file(file)
    if not number:
        note.unlink(missing_ok=True)
        return
    fresh = note.with_name(f"{note.name}.{secrets.token_hex(4)}")
    with open(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as written:
        written.write(f"{number}\n")
    os.replace(fresh, note)


def check_file(engine: Engine) -> None:
    """Check that the file is intact and the same as before, before anything writes to it.

    Raises
    ------
    DatabaseProblem
        It is damaged, missing, empty or a different file.
    """
    file = file_of(engine)
    if file is None:
        return
    expected = expected_identity(file)
    if expected is not None and _is_empty(file):
        raise DatabaseProblem(GONE)
    with transaction(engine, write=False) as connection:
        check_connection(connection, expected)


def check_connection(connection: Connection, expected: int | None) -> None:
    """Check an open SQLite database: its number, and its pages by ``quick_check``."""
    if expected is not None and _number(connection) != expected:
        raise DatabaseProblem(REPLACED)
    if connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
        raise DatabaseProblem(DAMAGED)


def adopt_file(engine: Engine) -> None:
    """Give a database a number if it has none, store it next to the file, and check it later."""
    file = file_of(engine)
    if file is None:
        return
    with transaction(engine, write=False) as connection:
        number = _number(connection)
    if not number:
        with transaction(engine) as connection:
            number = _number(connection) or 1 + secrets.randbelow(_LARGEST)
            connection.exec_driver_sql(f"PRAGMA user_version = {number}")
    if expected_identity(file) != number:
        try:
            note_identity(file, number)
        except OSError as error:
            _LOG.warning("the database's number cannot be kept: %s", error.strerror)
    known = _place(file)

    @event.listens_for(engine, "begin")
    def _begins(connection: Connection) -> None:
        if _place(file) != known or _is_empty(file):
            raise DatabaseProblem(GONE)
        if _number(connection) != number:
            raise DatabaseProblem(REPLACED)


def _number(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar() or 0)


def _place(file: Path) -> tuple[int, int] | None:
    """Return the identity of the file at this path."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_empty(file: Path) -> bool:
    try:
        return file.stat().st_size == 0
    except OSError:
        return True
