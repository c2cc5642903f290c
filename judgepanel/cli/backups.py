"""`backup` and `restore`: copies of the dashboard's SQLite database."""

from __future__ import annotations

import argparse
from pathlib import Path

from judgepanel.service.basics import DatabaseProblem
from judgepanel.service.database import Copied, back_up, connect, default_url, file_of, restore
from judgepanel.service.workspace import default_home
from judgepanel.votes import InputError
from judgepanel.votes.errors import documentation
from judgepanel.words.text import counted, printable

_POSTGRESQL = (
    "this is for SQLite: the database is PostgreSQL, whose pg_dump and pg_restore do it "
    f"({documentation('team')}, Backups)"
)


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options of a command."""
    if name == "backup":
        parser.add_argument("file", type=Path, metavar="FILE", help="the copy to write")
        parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
        parser.set_defaults(command=run_backup)
    else:
        parser.add_argument("file", type=Path, metavar="FILE", help="a copy that `backup` wrote")
        parser.add_argument(
            "--force",
            action="store_true",
            help="replace the database; the old one is kept beside it",
        )
        parser.set_defaults(command=run_restore)


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
        copied = back_up(database, target)
    except DatabaseProblem as error:
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
        copied = restore(backup, database)
    except DatabaseProblem as error:
        raise InputError(str(error).rstrip("."), file=backup.name) from None
    print(printable(f"{database.name} holds {_content(copied)} of {backup.name}."))
    if copied.earlier is not None:
        print(printable(f"The previous database is {copied.earlier.name}, in the same folder."))


def _database() -> Path:
    """Return the database file; InputError if it is PostgreSQL or the address is wrong."""
    try:
        engine = connect(default_url(default_home()), make=False)
    except DatabaseProblem as error:
        raise InputError(str(error).rstrip(".")) from None
    file = file_of(engine)
    engine.dispose()
    if file is None:
        raise InputError(_POSTGRESQL)
    return file


def _refuse_to_overwrite(file: Path, force: bool) -> None:
    if file.exists() and not force:
        raise InputError("this file already exists: add --force to replace it", file=file.name)


def _content(copied: Copied) -> str:
    analyses = counted(copied.analyses, "analysis", "analyses")
    return f"{analyses} and {counted(copied.results, 'result')}"
