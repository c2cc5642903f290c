"""Connections to the database, and its errors as sentences without secrets.

Integrity and identity of a SQLite database's file.

A database has a random number as its ``user_version``, and a file next to it contains the same
number. An emptied, deleted or exchanged file is then noticed instead of being taken for a new
database, at the start of a server and in every transaction.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from judgepanel.service.basics import VARIABLE, DatabaseAway, DatabaseProblem
from judgepanel.votes import InputError
from judgepanel.votes.errors import require

FILE = "judgepanel.db"
WAIT_SECONDS = 15
"""Seconds that a write waits for others before the database counts as locked."""
_LOG = logging.getLogger(__name__)
_WRITES = "judgepanel_writes"
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")

OLDER = (
    "A version of judgepanel from before the first release has made this database: name another "
    f"one in {VARIABLE}, or move this one away, and analyse the votes again."
)
NEWER = (
    "A newer version of judgepanel has made this database: update judgepanel here, or name "
    f"another database in {VARIABLE}."
)
_WRONG_URL = (
    f"{VARIABLE} is not the address of a database: it can be sqlite:///FILE or "
    "postgresql://USER:PASSWORD@HOST/NAME."
)
_LOCKED = (
    "The database is locked: another program has been writing to it for too long. End that "
    "program, or try again in a moment."
)
_READ_ONLY = "The database is read-only: judgepanel needs the right to write to it."
_FULL = "There is no room left where the database is: free some space there and try again."
_NO_DATABASE = "The file that should be the database is none: move it away, or name another one."
DAMAGED = "The database is damaged: bring back a backup of it."
_CANNOT_OPEN = (
    "The file of the database cannot be opened: its folder is missing, or judgepanel may not "
    "write there."
)
_UNREACHABLE = (
    "The database server does not answer: see that it runs and that its address is right."
)
_REFUSED = "The database server refuses the user or the password."
_NO_SUCH = "The database server has no database of this name: make it first."
_BUSY = "The database has no free connection for now: try again in a moment."
FOREIGN = "The database has tables of another program: judgepanel needs one of its own."
_UNKNOWN = "The database answered with an error; the server's log has the details."

_PASSING = (_LOCKED, _UNREACHABLE, _BUSY)

_SQLITE = (
    ("readonly", _READ_ONLY),
    ("locked", _LOCKED),
    ("full", _FULL),
    ("not a database", _NO_DATABASE),
    ("malformed", DAMAGED),
    ("unable to open", _CANNOT_OPEN),
    ("already exists", FOREIGN),
)
_STATES = {
    **{"25006": _READ_ONLY, "42501": _READ_ONLY, "53100": _FULL, "55P03": _LOCKED},
    **{"40P01": _LOCKED, "28P01": _REFUSED, "28000": _REFUSED, "3D000": _NO_SUCH},
    **{"53300": _BUSY, "57P03": _UNREACHABLE, "42P07": FOREIGN},
}
_CONNECTING = (
    ("authentication failed", _REFUSED),
    ("no pg_hba.conf entry", _REFUSED),
    ("no password supplied", _REFUSED),
    ("does not exist", _NO_SUCH),
    ("too many clients", _BUSY),
)


def default_url(home: Path) -> str:
    """Return $JUDGEPANEL_DATABASE_URL, or SQLite in the data folder, which is created."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise DatabaseProblem(_CANNOT_OPEN) from None
    return given or URL.create("sqlite", database=str(home / FILE)).render_as_string()


def connect(address: str, *, make: bool = True) -> Engine:
    """Return an engine for SQLite or PostgreSQL, without connecting yet.

    A missing SQLite file is created, accessible to this user only, unless ``make`` is false.

    Raises
    ------
    DatabaseProblem
        An address of neither.
    """
    try:
        url = make_url(address)
        if url.drivername in _POSTGRESQL:
            return _postgresql(url.set(drivername="postgresql+psycopg"))
        if url.drivername == "sqlite" and url.database and url.database != ":memory:":
            return _sqlite(url, Path(url.database), make)
    except (ArgumentError, NoSuchModuleError, ValueError):
        pass
    # Raised outside the handler: the caught error may quote the address.
    raise DatabaseProblem(_WRONG_URL)


@contextmanager
def transaction(engine: Engine, *, write: bool = True) -> Iterator[Connection]:
    """One transaction, rolled back if anything in it fails.

    Raises
    ------
    DatabaseProblem
        Any problem with the database; an IntegrityError is passed on.
    """
    try:
        with engine.connect() as connection:
            connection.execution_options(**{_WRITES: write})
            with connection.begin():
                yield connection
    except IntegrityError:
        raise
    except SQLAlchemyError as error:
        sentence = sentence_of(error)
        problem = DatabaseAway if sentence in _PASSING else DatabaseProblem
        raise problem(sentence) from None


def sentence_of(error: SQLAlchemyError) -> str:
    """Return the problem as a sentence for users; errors without a sentence are logged."""
    if isinstance(error, PoolTimeout):
        return _BUSY
    cause = error.orig if isinstance(error, DBAPIError) else None
    text = str(cause).lower()
    if isinstance(cause, sqlite3.Error):
        sentence = _first(_SQLITE, text)
    else:
        state = getattr(cause, "sqlstate", None)
        sentence = _STATES.get(str(state))
        if sentence is None and state is None and isinstance(error, DBAPIError):
            sentence = _first(_CONNECTING, text) or _UNREACHABLE
        elif sentence is None and isinstance(error, DBAPIError) and error.connection_invalidated:
            sentence = _UNREACHABLE
    if sentence is None:
        _LOG.error("the database answered: %s", type(cause or error).__name__, exc_info=cause)
    return sentence or _UNKNOWN


def _first(sentences: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((sentence for words, sentence in sentences if words in text), None)


def _postgresql(url: URL) -> Engine:
    """Waiting times in the address take precedence over the defaults here."""
    try:
        require("psycopg", "a PostgreSQL database")
    except InputError as error:
        raise DatabaseProblem(str(error)) from None
    ours = f"-c lock_timeout={WAIT_SECONDS * 1000}"
    wanted: dict[str, Any] = {"connect_timeout": WAIT_SECONDS, "options": ours} | dict(url.query)
    if "options" in url.query:
        wanted["options"] = f"{ours} {wanted['options']}"
    return create_engine(
        url.set(query={}),
        connect_args=wanted,
        hide_parameters=True,
        pool_pre_ping=True,
        max_overflow=20,
    )


def _sqlite(url: URL, file: Path, make: bool) -> Engine:
    """Use WAL, so readers do not block the writer; manage transactions here, not in the driver.

    A writing transaction declares that at its start: one that upgrades later cannot wait.
    """
    if make and "uri" not in url.query:
        _private(file)
    engine = create_engine(
        url, connect_args={"timeout": WAIT_SECONDS}, hide_parameters=True, max_overflow=20
    )

    @event.listens_for(engine, "connect")
    def _opened(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")
        if cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _use_wal(cursor)
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begins(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _use_wal(cursor: sqlite3.Cursor) -> None:
    """Request WAL; another server may do so at the same time, or the medium not support it."""
    try:
        cursor.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" not in str(error) and "readonly" not in str(error):
            raise


def _private(file: Path) -> None:
    """Create the file with access for this user only; failures are reported when it is used.

    An existing file is not even opened: closing it would drop the locks that this process holds on
    it through SQLite.
    """
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return


SUFFIX = ".identity"
_LARGEST = 2**31 - 1
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
