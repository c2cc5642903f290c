"""The server and its database: `health` checks both, `backup` and `restore` copy the database."""

from __future__ import annotations

import argparse
import http.client
import os
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from judgepanel.service import basics, workspace
from judgepanel.service import database as db
from judgepanel.votes import InputError
from judgepanel.votes.errors import documentation
from judgepanel.words.text import counted, printable

SERVED = "/_stcore/health"
"""Streamlit's health endpoint: 'ok' while it accepts browsers, 503 otherwise."""
WAIT_SECONDS = 5.0
_KINDS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}

_WRONG_URL = "--url is not the address of a server: it can be http://HOST:PORT or https://HOST."
_SILENT = "The server does not answer: check that it is running and that its address is right."
_NO_FILE = "There is no SQLite database yet: the first page that is opened makes it."
_POSTGRESQL = (
    "this is for SQLite: the database is PostgreSQL, whose pg_dump and pg_restore do it "
    f"({documentation('team')}, Backups)"
)


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options of a command."""
    if name == "health":
        where = "where a dashboard is served, such as http://localhost:8501"
        parser.add_argument("--url", metavar="URL", help=where)
        parser.set_defaults(command=run_health)
        return
    file, replaced, run = ("the copy to write", "replace FILE if it is there", run_backup)
    if name == "restore":
        replaced = "replace the database; the old one is kept beside it"
        file, run = "a copy that `backup` wrote", run_restore
    parser.add_argument("file", type=Path, metavar="FILE", help=file)
    parser.add_argument("--force", action="store_true", help=replaced)
    parser.set_defaults(command=run)


def run_health(options: argparse.Namespace) -> int:
    """Run the command: print one sentence each; return 0 if both are in order."""
    states = [] if options.url is None else [server_state(options.url)]
    states.append(database_state())
    for _, sentence in states:
        print(sentence)
    return 0 if all(good for good, _ in states) else 1


def server_state(url: str) -> tuple[bool, str]:
    """Return whether a dashboard answers at this address, and a sentence without the address.

    Requests go to this address directly: no proxies from the environment, no redirects.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False, _WRONG_URL
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return False, _WRONG_URL
    try:
        status, body = _asked(parts, parts.hostname, port)
    except (OSError, ValueError, http.client.HTTPException):
        return False, _SILENT
    if status == http.client.SERVICE_UNAVAILABLE:
        return False, "The server is not ready: it is starting or ending."
    if status != http.client.OK or body != b"ok":
        return False, f"What answers at this address is not the dashboard (status {status})."
    return True, "The server answers."


def _asked(parts: SplitResult, host: str, port: int | None) -> tuple[int, bytes]:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(host, port, timeout=WAIT_SECONDS)
    try:
        connection.request("GET", parts.path.rstrip("/").removesuffix(SERVED) + SERVED)
        answer = connection.getresponse()
        return answer.status, answer.read(100)
    finally:
        connection.close()


def database_state() -> tuple[bool, str]:
    """Return whether the database configured in the environment is usable, and a sentence.

    A database that does not exist yet is in order: the dashboard creates it.
    """
    address, file = _address()
    expected = None if file is None else db.expected_identity(file)
    if address is None:
        return (True, _NO_FILE) if expected is None else (False, db.GONE)
    try:
        engine = db.connect(address)
        try:
            # SQLite's address already says so; PostgreSQL needs the option.
            reading = engine.execution_options(postgresql_readonly=True)
            with db.transaction(reading, write=False) as connection:
                if file is not None:
                    db.check_connection(connection, expected)
                    db.check_schema(connection)
                current = db.is_current(connection)
        finally:
            engine.dispose()
    except basics.DatabaseProblem as error:
        return False, str(error)
    answers = f"The {_KINDS[engine.dialect.name]} database answers"
    if current:
        return True, f"{answers}; its tables are those of this version."
    return True, f"{answers}; the first page that is opened makes its tables."


def _address() -> tuple[str | None, Path | None]:
    """Return the read-only address, and the file if it is SQLite.

    No address while a file that can be created is missing.
    """
    given = os.environ.get(basics.VARIABLE, "").strip()
    file = workspace.default_home().absolute() / db.FILE
    folder = next(parent for parent in file.parents if os.path.exists(parent))
    query = {}
    if given:
        try:
            url = make_url(given)
        except (ArgumentError, ValueError):
            return given, None  # The connection reports any problem with it.
        named = url.drivername == "sqlite" and url.database not in (None, "", ":memory:")
        if not named or "uri" in url.query:
            return given, None
        file = Path(str(url.database)).absolute()
        folder = file.parent
        query = dict(url.query)
    if not os.path.exists(file) and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
        return None, file
    query |= {"mode": "ro", "uri": "true"}
    url = URL.create("sqlite", database=file.as_uri(), query=query)
    return url.render_as_string(), file


def run_backup(options: argparse.Namespace) -> None:
    """Run `backup`: copy the database configured in the environment."""
    target: Path = options.file
    _refuse_to_overwrite(target, options.force)
    database = _database()
    if not database.exists():
        raise InputError("there is no database to back up", file=database.name)
    if target.exists() and target.samefile(database):
        raise InputError("this is the database itself", file=target.name)
    try:
        copied = db.back_up(database, target)
    except basics.DatabaseProblem as error:
        raise InputError(str(error).rstrip("."), file=database.name) from None
    print(printable(f"{target.name} holds {_content(copied)}; it was read back and is intact."))


def run_restore(options: argparse.Namespace) -> None:
    """Run `restore`: replace the database configured in the environment by a backup."""
    backup: Path = options.file
    if not backup.is_file():
        raise InputError("there is no such file", file=backup.name)
    database = _database()
    if database.exists():
        if backup.samefile(database):
            raise InputError("this is the database itself", file=backup.name)
        if database.stat().st_size:  # An emptied file holds nothing to lose.
            _refuse_to_overwrite(database, options.force)
    try:
        copied = db.restore(backup, database)
    except basics.DatabaseProblem as error:
        raise InputError(str(error).rstrip("."), file=backup.name) from None
    print(printable(f"{database.name} holds {_content(copied)} of {backup.name}."))
    if copied.earlier is not None:
        print(printable(f"The previous database is {copied.earlier.name}, in the same folder."))


def _database() -> Path:
    """Return the database file; InputError if it is PostgreSQL or the address is wrong."""
    try:
        engine = db.connect(db.default_url(workspace.default_home()), make=False)
    except basics.DatabaseProblem as error:
        raise InputError(str(error).rstrip(".")) from None
    file = db.file_of(engine)
    engine.dispose()
    if file is None:
        raise InputError(_POSTGRESQL)
    return file


def _refuse_to_overwrite(file: Path, force: bool) -> None:
    if file.exists() and not force:
        raise InputError("this file already exists: add --force to replace it", file=file.name)


def _content(copied: db.Copied) -> str:
    analyses = counted(copied.analyses, "analysis", "analyses")
    return f"{analyses} and {counted(copied.results, 'result')}"
