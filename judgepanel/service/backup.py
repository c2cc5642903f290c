"""Backups of a SQLite database: made while servers run, verified, and restored."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import URL, func, inspect, select

from judgepanel.service.basics import DatabaseProblem
from judgepanel.service.database import connect, note_identity, transaction
from judgepanel.service.tables import ANALYSES, RESULTS, VERSION, check_schema

IN_USE = "The database is in use: stop every server first, then restore."
_WRONG = "This is not a judgepanel backup: it is not an SQLite database, or has other tables."
_FULL = "There is no room for the copy: free some space on its disk and try again."
_BROKEN = "The copy is damaged: the integrity check of SQLite fails."
_LOGS = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Copied:
    """Contents of a copy; ``earlier`` is the file with the previous state, None without one."""

    analyses: int
    results: int
    earlier: Path | None = None


def back_up(database: Path, target: Path) -> Copied:
    """Copy a database, even while servers write to it; the copy appears once it is verified.

    Raises
    ------
    DatabaseProblem
        The database is missing, not from judgepanel, or damaged.
    OSError
        The copy cannot be written there.
    """
    with _copied(database, target) as (copy, copied):
        os.replace(copy, target)
    _sync_folder(target.parent)
    return copied


def restore(backup: Path, database: Path) -> Copied:
    """Replace a database by a verified copy of a backup; the previous file is kept next to it.

    At any time the database's name refers to the old or the new state, never to anything else.

    Raises
    ------
    DatabaseProblem
        The backup is damaged or not from judgepanel, or a server uses the database.
    OSError
        The copy cannot be written there.
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    with _copied(backup, database) as (copy, copied), _held(database) as is_whole:
        beside = _keep_beside(database, is_whole)
        number = _number(copy)
        os.replace(copy, database)
    note_identity(database, number)
    _sync_folder(database.parent)
    return Copied(copied.analyses, copied.results, beside)


@contextmanager
def _copied(source: Path, target: Path) -> Iterator[tuple[Path, Copied]]:
    """Yield a verified copy next to the target; it is deleted unless the caller moves it."""
    copy = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        try:
            with closing(_opened(source)) as old, closing(sqlite3.connect(copy)) as new:
                old.backup(new)
                new.execute("PRAGMA journal_mode = DELETE").fetchone()
                if new.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                    raise DatabaseProblem(_BROKEN)
        except sqlite3.Error as error:
            raise DatabaseProblem(_FULL if "full" in str(error) else _WRONG) from None
        copied = _counted(copy)
        with copy.open("rb") as written:
            os.fsync(written.fileno())
        yield copy, copied
    finally:
        for suffix in ("", "-journal", *_LOGS):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _opened(file: Path) -> sqlite3.Connection:
    """Return a connection to an existing database, possibly on a read-only medium."""
    address = file.absolute().as_uri()
    try:
        return _readable(f"{address}?mode=rw")
    except sqlite3.OperationalError:
        return _readable(f"{address}?mode=ro&immutable=1")


def _readable(uri: str) -> sqlite3.Connection:
    """Return a connection that has read successfully; it is closed otherwise."""
    connection = sqlite3.connect(uri, uri=True)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _counted(file: Path) -> Copied:
    """Return what the file holds; DatabaseProblem if it has not the schema that we made."""
    reading = {"mode": "ro", "uri": "true"}
    url = URL.create("sqlite", database=file.absolute().as_uri(), query=reading)
    engine = connect(url.render_as_string())
    try:
        with transaction(engine, write=False) as connection:
            if not inspect(connection).has_table(VERSION.name):
                raise DatabaseProblem(_WRONG)
            check_schema(connection)
            rows = [select(func.count()).select_from(table) for table in (ANALYSES, RESULTS)]
            analyses, results = (connection.scalars(count).one() for count in rows)
            return Copied(analyses, results)
    finally:
        engine.dispose()


def _number(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def _held(database: Path) -> Iterator[bool]:
    """Lock a database so that no server can use it; yield whether it could be read.

    SQLite needs exclusive access to merge the write-ahead log into the file; a server that has it
    open prevents that.
    """
    if not database.exists() or not database.stat().st_size:
        yield False
        return
    with closing(sqlite3.connect(database, timeout=1.0, isolation_level=None)) as connection:
        try:
            mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise DatabaseProblem(IN_USE) from None
        except sqlite3.DatabaseError:
            mode = None
        yield mode == ("delete",)


def _keep_beside(database: Path, is_whole: bool) -> Path | None:
    """Link the current file, whatever its state, to a second name; None if there is no file.

    Its log is moved there as well, even without a file: SQLite would add it to the next one.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    beside = database.with_name(f"{database.name}.before-{stamp}-{secrets.token_hex(2)}")
    exists = database.exists()
    if exists:
        try:
            os.link(database, beside)
        except OSError:
            shutil.copy2(database, beside)
    if not is_whole:
        for suffix in _LOGS:
            with suppress(FileNotFoundError):
                os.replace(database.with_name(database.name + suffix), f"{beside}{suffix}")
    return beside if exists else None


def _sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power failure, if the system supports that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
