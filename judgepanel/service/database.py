"""Connections to the database, and its errors as sentences without secrets.

Integrity and identity of a SQLite database's file.

A database has a random number as its ``user_version``, and a file next to it contains the same
number. An emptied, deleted or exchanged file is then noticed instead of being taken for a new
database, at the start of a server and in every transaction.

Tables of the workspace. ``schema`` makes and checks them.

User input is stored as ASCII-only JSON text (columns of type ``SafeText``), so a database need not
support NUL or lone surrogates.

The schema of the database: made when a server first starts, and checked from then on.

Its revision is kept in a table as Alembic would, so that a later release can migrate with it.

Backups of a SQLite database: made while servers run, verified, and restored.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from judgepanel.service.basics import VARIABLE, DatabaseAway, DatabaseProblem
from judgepanel.votes import InputError
from judgepanel.votes.errors import quote_value, require

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
    return given or sa.URL.create("sqlite", database=str(home / FILE)).render_as_string()


def connect(address: str, *, make: bool = True) -> sa.Engine:
    """Return an engine for SQLite or PostgreSQL, without connecting yet.

    A missing SQLite file is created, accessible to this user only, unless ``make`` is false.

    Raises
    ------
    DatabaseProblem
        An address of neither.
    """
    try:
        url = sa.make_url(address)
        if url.drivername in _POSTGRESQL:
            return _postgresql(url.set(drivername="postgresql+psycopg"))
        if url.drivername == "sqlite" and url.database and url.database != ":memory:":
            return _sqlite(url, Path(url.database), make)
    except (exc.ArgumentError, exc.NoSuchModuleError, ValueError):
        pass
    # Raised outside the handler: the caught error may quote the address.
    raise DatabaseProblem(_WRONG_URL)


@contextmanager
def transaction(engine: sa.Engine, *, write: bool = True) -> Iterator[sa.Connection]:
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
    except exc.IntegrityError:
        raise
    except exc.SQLAlchemyError as error:
        sentence = sentence_of(error)
        problem = DatabaseAway if sentence in _PASSING else DatabaseProblem
        raise problem(sentence) from None


def sentence_of(error: exc.SQLAlchemyError) -> str:
    """Return the problem as a sentence for users; errors without a sentence are logged."""
    if isinstance(error, PoolTimeout):
        return _BUSY
    cause = error.orig if isinstance(error, exc.DBAPIError) else None
    message = str(cause).lower()
    if isinstance(cause, sqlite3.Error):
        sentence = _first(_SQLITE, message)
    else:
        state = getattr(cause, "sqlstate", None)
        sentence = _STATES.get(str(state))
        if sentence is None and isinstance(error, exc.DBAPIError):
            if state is None:
                sentence = _first(_CONNECTING, message) or _UNREACHABLE
            elif error.connection_invalidated:
                sentence = _UNREACHABLE
    if sentence is None:
        _LOG.error("the database answered: %s", type(cause or error).__name__, exc_info=cause)
    return sentence or _UNKNOWN


def _first(sentences: tuple[tuple[str, str], ...], message: str) -> str | None:
    return next((sentence for words, sentence in sentences if words in message), None)


def _postgresql(url: sa.URL) -> sa.Engine:
    """Waiting times in the address take precedence over the defaults here."""
    try:
        require("psycopg", "a PostgreSQL database")
    except InputError as error:
        raise DatabaseProblem(str(error)) from None
    ours = f"-c lock_timeout={WAIT_SECONDS * 1000}"
    wanted: dict[str, Any] = {"connect_timeout": WAIT_SECONDS, "options": ours} | dict(url.query)
    if "options" in url.query:
        wanted["options"] = f"{ours} {wanted['options']}"
    return sa.create_engine(
        url.set(query={}),
        connect_args=wanted,
        hide_parameters=True,
        pool_pre_ping=True,
        max_overflow=20,
    )


def _sqlite(url: sa.URL, file: Path, make: bool) -> sa.Engine:
    """Use WAL, so readers do not block the writer; manage transactions here, not in the driver.

    A writing transaction declares that at its start: one that upgrades later cannot wait.
    """
    if make and "uri" not in url.query:
        # With access for this user only; failures are reported when it is used. An existing file is
        # not even opened: closing it would drop the locks that this process holds on it.
        with suppress(OSError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    engine = sa.create_engine(
        url, connect_args={"timeout": WAIT_SECONDS}, hide_parameters=True, max_overflow=20
    )

    @sa.event.listens_for(engine, "connect")
    def _opened(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")
        if cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                cursor.execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.OperationalError as error:
                # Another server may do so at the same time, or the medium not support it.
                if "locked" not in str(error) and "readonly" not in str(error):
                    raise
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begins(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


SUFFIX = ".identity"
_LARGEST = 2**31 - 1
_WAY_ON = (
    "Stop the server, then bring back a backup with `judgepanel restore`; or, to go on with "
    "what is there now, delete the file that ends in .identity beside it."
)
GONE = f"The file of the database was deleted, emptied or moved. {_WAY_ON}"
REPLACED = f"The file of the database is another one than before. {_WAY_ON}"


def file_of(engine: sa.Engine) -> Path | None:
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


def check_file(engine: sa.Engine) -> None:
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


def check_connection(connection: sa.Connection, expected: int | None) -> None:
    """Check an open SQLite database: its number, and its pages by ``quick_check``."""
    if expected is not None and _number(connection) != expected:
        raise DatabaseProblem(REPLACED)
    if connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
        raise DatabaseProblem(DAMAGED)


def adopt_file(engine: sa.Engine) -> None:
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

    @sa.event.listens_for(engine, "begin")
    def _begins(connection: sa.Connection) -> None:
        if _place(file) != known or _is_empty(file):
            raise DatabaseProblem(GONE)
        if _number(connection) != number:
            raise DatabaseProblem(REPLACED)


def _number(connection: sa.Connection) -> int:
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


class SafeText(sa.TypeDecorator[str]):
    """Any Python string, including NUL and lone surrogates, as ASCII."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Return the value as a JSON string."""
        return None if value is None else json.dumps(value, ensure_ascii=True)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> str | None:
        """Return the value of a JSON string; damaged values become an empty text."""
        try:
            return None if value is None else str(json.loads(value))
        except ValueError:
            return ""


class DatabaseNow(FunctionElement[float]):
    """Seconds since 1970 by the clock of the database, whichever server asks."""

    type = sa.Double()
    inherit_cache = True


@compiles(DatabaseNow, "sqlite")
def _sqlite_now(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(DatabaseNow, "postgresql")
def _postgresql_now(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch from clock_timestamp()) AS DOUBLE PRECISION)"


METADATA = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _votes_sha() -> sa.Column[str]:
    key = sa.ForeignKey("votes.sha256", ondelete="CASCADE")
    return sa.Column("votes_sha256", sa.String(64), key, primary_key=True)


def _work() -> tuple[sa.Column[Any], ...]:
    """Columns of a result's key besides the votes."""
    return (
        sa.Column("study", sa.String(64), primary_key=True),
        sa.Column("spec_sha256", sa.String(64), primary_key=True),
        sa.Column("engine", sa.Integer, primary_key=True, autoincrement=False),
    )


def _of_job(*own: sa.Column[Any]) -> tuple[sa.Column[Any] | sa.ForeignKeyConstraint, ...]:
    """Columns of rows that belong to a job and are deleted with it."""
    key = (sa.Column("votes_sha256", sa.String(64), primary_key=True), *_work())
    names = [column.name for column in key]
    jobs = sa.ForeignKeyConstraint(names, [f"jobs.{name}" for name in names], ondelete="CASCADE")
    return (*key, *own, jobs)


VOTES = sa.Table(
    "votes",
    METADATA,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""Vote matrices by content, packed by :mod:`judgepanel.studies.codec`."""

ANALYSES = sa.Table(
    "analyses",
    METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("owner", SafeText, nullable=False),
    sa.Column("votes_sha256", sa.String(64), sa.ForeignKey("votes.sha256"), nullable=False),
    sa.Column("draw", sa.String(64), nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Index("ix_analyses_owner", "owner", "created"),
    sa.Index("ix_analyses_votes_sha256", "votes_sha256"),
)
"""One row per analysis. ``content`` is the whole analysis as JSON; ``draw`` its splits and seed."""

RESULTS = sa.Table(
    "results",
    METADATA,
    _votes_sha(),
    *_work(),
    sa.Column("draw", sa.String(64), nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""Finished results; ``content`` is compressed JSON, ``draw`` splits and seed of the spec."""

JOBS = sa.Table(
    "jobs",
    METADATA,
    _votes_sha(),
    *_work(),
    sa.Column("draw", sa.String(64), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("lease_owner", sa.String(64), nullable=False),
    sa.Column("lease_end", sa.Double, nullable=False),
    sa.Column("cancel", sa.Boolean, nullable=False),
    sa.Column("done", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("elapsed", sa.Double, nullable=False),
    sa.Column("message", SafeText, nullable=False),
    sa.Column("changed", sa.Double, nullable=False),
)
"""Requested and unfinished work: running, cancelled or failed.

Running work belongs to the server that holds its lease, until ``lease_end`` by the database's
clock; afterwards any other server may take it over. ``cancel`` asks the holder to stop.
"""

PARTIALS = sa.Table(
    "partials",
    METADATA,
    *_of_job(
        sa.Column("chunk", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    ),
)
"""Finished chunks of unfinished work, packed by :mod:`judgepanel.studies.codec`."""

INTERESTS = sa.Table(
    "interests",
    METADATA,
    *_of_job(
        sa.Column("party", sa.String(64), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("elapsed", sa.Double, nullable=False),
        sa.Column("message", SafeText, nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
    ),
)
"""Interests in work, by the SHA-256 of the party: see :mod:`judgepanel.service.ledger`."""


def _of_analysis() -> sa.Column[str]:
    key = sa.ForeignKey("analyses.id", ondelete="CASCADE")
    return sa.Column("analysis_id", sa.String(64), key, nullable=False, index=True)


SHARES = sa.Table(
    "shares",
    METADATA,
    sa.Column("token_sha256", sa.String(64), primary_key=True),
    _of_analysis(),
    sa.Column("signed_in_only", sa.Boolean, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("expires", sa.Double),
    sa.Column("revoked", sa.Double),
)
"""Links to an analysis, by the SHA-256 of the token. Times in seconds of the database's clock."""

DECISIONS = sa.Table(
    "decisions",
    METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    _of_analysis(),
    sa.Column("what", SafeText, nullable=False),
    sa.Column("by", SafeText, nullable=False),
    sa.Column("why", SafeText, nullable=False),
    sa.Column("made", sa.Double, nullable=False),
)
"""Decisions on an analysis: by whom, why, and when by the database's clock."""

REVISION = "0003"
_LOCK = 0x6A756467
"""Advisory lock of PostgreSQL while tables are made. In SQLite the write lock does the same."""
VERSION = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""The table that holds the revision of the schema."""


def prepare(engine: sa.Engine) -> None:
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
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if is_current(connection):
            return
        names = set(sa.inspect(connection).get_table_names())
        if VERSION.name in names:
            raise DatabaseProblem(OLDER)
        if names.intersection(METADATA.tables):
            raise DatabaseProblem(FOREIGN)
        METADATA.create_all(connection)
        VERSION.create(connection)
        connection.execute(sa.insert(VERSION).values(version_num=REVISION))


def is_current(connection: sa.Connection) -> bool:
    """Whether the schema has this revision; DatabaseProblem if a newer judgepanel made it."""
    exists = sa.inspect(connection).has_table(VERSION.name)
    revisions = connection.scalars(sa.select(VERSION.c.version_num)).all() if exists else ()
    if any(revision > REVISION for revision in revisions):
        raise DatabaseProblem(NEWER)
    return list(revisions) == [REVISION]


def check_schema(connection: sa.Connection) -> None:
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
    if foreign := sorted(given.keys() - expected.keys()):
        kind, name = foreign[0]
        raise DatabaseProblem(
            f"The database has the {kind} {quote_value(name)}, which judgepanel did not make: drop "
            f"the {kind} in a copy of this file, or bring back a backup from before it was added."
        )
    if changed := [key for key, sql in expected.items() if given.get(key) != sql]:
        kind, name = min(changed, key=lambda key: (key[0] != "table", key))
        raise DatabaseProblem(
            f"The {kind} '{name}' of the database is missing or not as judgepanel made it: bring "
            "back a backup from before it was changed."
        )


def _made() -> dict[tuple[str, str], str]:
    """Return the schema of a new database."""
    engine = sa.create_engine("sqlite://")
    try:
        prepare(engine)
        with transaction(engine, write=False) as connection:
            return _schema(connection)
    finally:
        engine.dispose()


def _schema(connection: sa.Connection) -> dict[tuple[str, str], str]:
    """Return the definitions of a SQLite database by kind and name, without spaces and quotes."""
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {
        (kind, name): re.sub(r'[\s"`\[\]]', "", f"{table}: {sql}").lower()
        for kind, name, table, sql in rows
        if not name.startswith("sqlite_")
    }


IN_USE = "The database is in use: stop every server first, then restore."
_WRONG = "This is not a judgepanel backup: it is not an SQLite database, or has other tables."
_NO_ROOM = "There is no room for the copy: free some space on its disk and try again."
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
        beside = _keep_second_name(database, is_whole)
        number = _number_of(copy)
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
            raise DatabaseProblem(_NO_ROOM if "full" in str(error) else _WRONG) from None
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
    url = sa.URL.create("sqlite", database=file.absolute().as_uri(), query=reading)
    engine = connect(url.render_as_string())
    try:
        with transaction(engine, write=False) as connection:
            if not sa.inspect(connection).has_table(VERSION.name):
                raise DatabaseProblem(_WRONG)
            check_schema(connection)
            rows = [sa.select(sa.func.count()).select_from(table) for table in (ANALYSES, RESULTS)]
            analyses, results = (connection.scalars(count).one() for count in rows)
            return Copied(analyses, results)
    finally:
        engine.dispose()


def _number_of(file: Path) -> int:
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


def _keep_second_name(database: Path, is_whole: bool) -> Path | None:
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
