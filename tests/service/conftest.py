"""The workspace on every available database, with access to its rows."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import text

from judgepanel.service.database import connect, prepare, transaction
from judgepanel.service.sql import SqlWorkspace
from judgepanel.votes import VoteMatrix
from tests.helpers import make_votes
from tests.service.postgres import programs, running

DATABASES = ("sqlite", "postgresql")
READY = "ready"
_NUMBERS = count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[bool], str]]:
    """Databases on a PostgreSQL of the session's own: a new one, or one without a row.

    A new database is some hundred files: tests that have their tables already share one.
    """
    result = programs()
    if result is None:
        pytest.skip("no PostgreSQL here; `./run test` installs one as root")
    with running(result) as url:
        server = connect(url)
        outside = server.execution_options(isolation_level="AUTOCOMMIT")

        def make(name: str) -> str:
            with outside.connect() as connection:
                connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0"))
            return url.replace("/postgres?", f"/{name}?")

        shared = make(READY)
        ready = connect(shared)
        prepare(ready)

        def empty() -> str:
            with transaction(ready) as connection:
                for table in ("analyses", "votes"):  # What hangs on them goes too.
                    connection.execute(text(f"DELETE FROM {table}"))  # noqa: S608
            return shared

        yield lambda new: make(f"t{next(_NUMBERS)}") if new else empty()
        ready.dispose()
        server.dispose()


@pytest.fixture(params=DATABASES)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database a test runs on."""
    return str(request.param)


@pytest.fixture
def make_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[bool], str]:
    """Databases of this kind: a new one, or one without a row."""
    if kind == "postgresql":
        return cast("Callable[[bool], str]", request.getfixturevalue("postgresql"))
    return lambda _new: f"sqlite:///{tmp_path / 'judgepanel.db'}"


@pytest.fixture
def new_url(make_url: Callable[[bool], str]) -> str:
    """A database with nothing in it."""
    return make_url(True)


@pytest.fixture
def url(make_url: Callable[[bool], str]) -> str:
    """A database whose tables may be there already."""
    return make_url(False)


@pytest.fixture
def home(
    url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Callable[[], SqlWorkspace]]:
    """Opens the workspace, again every time it is called: a restart, or a second server.

    The first one keeps the votes of a test that has some: nobody works on others.
    """
    monkeypatch.setattr("judgepanel.studies.runner.default_jobs", lambda: 1)
    opened: list[SqlWorkspace] = []

    def start() -> SqlWorkspace:
        opened.append(SqlWorkspace(url))
        if len(opened) == 1 and "votes" in request.fixturenames:
            opened[0].put_votes(request.getfixturevalue("votes"))
        return opened[-1]

    yield start
    for space in opened:
        space.close()


@pytest.fixture
def space(home: Callable[[], SqlWorkspace]) -> SqlWorkspace:
    return home()


@pytest.fixture
def sql(url: str) -> Iterator[Callable[..., list[Any]]]:
    """Runs a statement on the database itself; returns its rows."""
    engine = connect(url)

    def run(statement: str, **values: object) -> list[Any]:
        with transaction(engine) as connection:
            result = connection.execute(text(statement), values)
            return list(result.all()) if result.returns_rows else []

    yield run
    engine.dispose()


@pytest.fixture
def votes() -> VoteMatrix:
    return make_votes(1, 40, 4)
