"""The database: its address, its schema, and its problems as one sentence."""

import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import event, select, text
from sqlalchemy.exc import IntegrityError

from judgepanel.service import database as database_module
from judgepanel.service.database import DatabaseProblem, connect, default_url, prepare, transaction
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from judgepanel.votes import VoteMatrix
from tests.helpers import make_votes
from tests.service.counting import LONG, Count, Counter, CountSpec, finish, loaded

SECRET = "hunter2secret"  # noqa: S105


@pytest.fixture
def engine(new_url):
    made = connect(new_url)
    yield made
    made.dispose()


def ask(engine, *statements):
    with transaction(engine) as connection:
        return ask_on(connection, *statements)


def ask_on(connection, *statements):
    for statement in statements:
        result = connection.execute(text(statement))
    return result.all() if result.returns_rows else []


def tables(engine):
    """The names of all tables, and the revision."""
    with transaction(engine, write=False) as connection:
        names = set(connection.dialect.get_table_names(connection))
        revision = database_module.VERSION
        asked = select(revision.c.version_num)
        return names, connection.scalars(asked).all() if revision.name in names else []


def test_an_empty_database_gets_all_tables_once(engine):
    for _ in range(2):
        prepare(engine)
        names = {database_module.VERSION.name, *database_module.METADATA.tables}
        assert tables(engine) == (names, [database_module.REVISION])


@pytest.mark.parametrize(
    ("revision", "says"),
    [("0001", "before the first release"), ("9999", "newer version of judgepanel")],
)
def test_another_schema_is_refused_and_left_alone(engine, new_url, revision, says):
    prepare(engine)
    ask(engine, f"UPDATE alembic_version SET version_num = '{revision}'")  # noqa: S608
    with pytest.raises(DatabaseProblem, match=says):
        SqlWorkspace(new_url)
    assert tables(engine)[1] == [revision]


def test_tables_of_another_program_are_left_alone(engine, new_url):
    ask(engine, "CREATE TABLE decisions (x INTEGER)")
    with pytest.raises(DatabaseProblem, match="tables of another program"):
        SqlWorkspace(new_url)
    assert tables(engine) == ({"decisions"}, [])


def test_servers_that_start_at_once_all_succeed(new_url):
    with ThreadPoolExecutor(6) as pool:
        spaces = list(pool.map(lambda _: SqlWorkspace(new_url), range(6)))
    for space in spaces:
        assert space.list() == ()
        space.close()


def test_a_transaction_is_undone_whole(engine):
    prepare(engine)
    with pytest.raises(IntegrityError), transaction(engine) as connection:
        ask_on(connection, *["INSERT INTO votes VALUES ('a', 'b')"] * 2)
    assert ask(engine, "SELECT count(*) FROM votes") == [(0,)]


@pytest.mark.parametrize(
    "address",
    [
        *("", "x", "sqlite://", "sqlite:///", "sqlite:///:memory:", "http://a/b", "/a/b.db"),
        *(f"mysql://me:{SECRET}@h/x", f"postgresql://me:{SECRET}@h:port/x", f"oracle://{SECRET}"),
        *(f"nonsense+driver://me:{SECRET}@h/x", f"me:{SECRET}@h", "sqlite+aiosqlite:///x.db"),
    ],
)
def test_a_wrong_address_is_refused_without_its_password(address):
    with pytest.raises(DatabaseProblem, match="is not the address of a database") as caught:
        connect(address)
    assert SECRET not in everything(caught.value)


def everything(error):
    """What a traceback would show of an error and of those behind it."""
    sentence = ""
    while error is not None:
        sentence += str(error) + repr(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return sentence


def refused(url, sentence, caplog):
    with pytest.raises(DatabaseProblem, match=sentence) as caught:
        SqlWorkspace(url)
    assert SECRET not in everything(caught.value) + caplog.text
    assert len(str(caught.value).splitlines()) == 1


def test_a_server_that_is_not_there(caplog):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Bound and not listening: nobody answers.
        port = taken.getsockname()[1]
        refused(f"postgresql://me:{SECRET}@127.0.0.1:{port}/x", "does not answer", caplog)


def test_a_database_that_is_not_there(postgresql, caplog):
    url = postgresql(True).replace("judgepanel@", f"judgepanel:{SECRET}@")
    refused(url.replace("@/t", "@/missing_t"), "no database of this name", caplog)


def test_a_postgresql_that_may_only_be_read(postgresql, caplog):
    url = postgresql(True)
    SqlWorkspace(url).close()
    engine = connect(url)
    name = engine.url.database
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
    engine.dispose()
    with pytest.raises(DatabaseProblem, match="read-only"):
        SqlWorkspace(url)


def test_what_the_address_says_comes_first(postgresql):
    for options, lock in (("", "15s"), ("-c%20lock_timeout%3D7s", "7s")):
        engine = connect(postgresql(False) + (f"&options={options}" if options else ""))
        assert ask(engine, "SHOW lock_timeout") == [(lock,)]
        assert ask(engine, "SHOW application_name") == [("",)]
        engine.dispose()
    engine = connect(postgresql(False) + "&application_name=mine")
    assert ask(engine, "SHOW application_name") == [("mine",)]
    engine.dispose()


def test_connections_that_were_cut_are_made_again(postgresql, votes):
    url = postgresql(False)
    space = SqlWorkspace(url)
    made = space.create(loaded(votes), Settings(), "x")
    engine = connect(url)
    others = "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ask(engine, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity {others}")  # noqa: S608
    assert space.open(made.id) == made
    space.close()
    engine.dispose()


@pytest.mark.parametrize("content", [b"no database " * 99, b"SQLite format 3\0" + b"x" * 900])
def test_a_file_that_is_no_database(tmp_path, caplog, content):
    (tmp_path / "x.db").write_bytes(content)
    refused(f"sqlite:///{tmp_path / 'x.db'}", "is none|is damaged", caplog)
    assert (tmp_path / "x.db").read_bytes() == content


def test_a_folder_that_is_not_there_or_is_the_file(tmp_path, caplog):
    refused(f"sqlite:///{tmp_path / 'no' / 'x.db'}", "cannot be opened", caplog)
    refused(f"sqlite:///{tmp_path}", "cannot be opened", caplog)
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseProblem, match="cannot be opened"):
        default_url(tmp_path / "file")


def test_a_file_that_may_only_be_read(tmp_path, votes):
    made = tmp_path / "x.db"
    first = SqlWorkspace(f"sqlite:///{made}")
    first.create(loaded(votes), Settings(), "x")
    first.close()
    with pytest.raises(DatabaseProblem, match="read-only"):
        SqlWorkspace(f"sqlite:///file:{made}?mode=ro&uri=true")


def test_a_database_that_another_program_holds(tmp_path, votes, monkeypatch):
    monkeypatch.setattr(database_module, "WAIT_SECONDS", 0.01)
    space = SqlWorkspace(f"sqlite:///{tmp_path / 'x.db'}")
    made = space.create(loaded(votes), Settings(), "x")
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseProblem, match="locked"):
        space.rename(made.id, "y")
    assert space.open(made.id) == made
    other.execute("ROLLBACK")
    other.close()
    assert space.rename(made.id, "y").name == "y"
    space.close()


def test_work_that_finds_the_database_away_goes_on_when_it_is_back(tmp_path, votes, monkeypatch):
    monkeypatch.setattr(database_module, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr("judgepanel.service.jobs.AWAY_SECONDS", 0.01)
    monkeypatch.setattr("judgepanel.studies.runner.default_jobs", lambda: 1)
    space = SqlWorkspace(f"sqlite:///{tmp_path / 'x.db'}")
    space.put_votes(votes)
    counter, spec, refused = Counter(), CountSpec(), threading.Event()
    counter.hold(2)
    space.submit(counter.study, votes, spec)
    assert counter.started[2].wait(LONG)
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    event.listen(space._engine, "handle_error", lambda _context: refused.set())
    counter.gates[2].set()
    assert refused.wait(LONG)
    other.execute("ROLLBACK")
    other.close()
    job = finish(space, counter.study, votes, spec)
    assert (job.status, job.result) == ("done", Count(20, 20))
    assert (counter.calls[:3], set(counter.calls[3:])) == ([0, 1, 2], {2, 3})
    space.close()


def test_a_disk_that_is_full_fails_the_work_with_its_sentence(tmp_path, votes, monkeypatch):
    monkeypatch.setattr("judgepanel.studies.runner.default_jobs", lambda: 1)
    space = SqlWorkspace(f"sqlite:///{tmp_path / 'x.db'}")
    space.put_votes(votes)
    engine = space._engine
    ((pages,),) = ask(engine, "PRAGMA page_count")

    def fill(connection, _record, _proxy):
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")

    event.listen(engine, "checkout", fill)
    counter, spec = Counter(), CountSpec()
    noise = np.frombuffer(os.urandom(100_000), np.uint8)

    # A study learns from these types what its partial results are.
    def length_of(votes: VoteMatrix, spec: CountSpec, partial: NDArray[np.uint8]) -> Count:
        return Count(len(partial), spec.settings.splits)

    large = replace(counter.study, merge=length_of, run_chunk=lambda *_: noise)
    space.submit(large, votes, spec)
    assert finish(space, large, votes, spec).message.startswith("There is no room left")
    with pytest.raises(DatabaseProblem, match="no room left"):
        space.create(loaded(make_votes(0, 3_000, 40)), Settings(), "x")
    space.close()


def test_the_file_is_for_this_user_only(tmp_path, votes):
    space = SqlWorkspace(default_url(tmp_path / "home"))
    space.create(loaded(votes), Settings(), "x")
    files = [path for path in (tmp_path / "home").iterdir() if path.is_file()]
    assert {path.name for path in files} >= {"judgepanel.db", "judgepanel.db-wal"}
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in files)
    space.close()


def test_what_is_deleted_is_not_left_in_the_file(tmp_path, votes):
    space = SqlWorkspace(f"sqlite:///{tmp_path / 'x.db'}")
    name = "a name that nobody should find again"
    made = space.create(loaded(votes), Settings(), name)
    space.delete(made.id)
    join = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert name.encode() not in join
    assert made.id.encode() not in join
    space.close()


def test_the_address_in_the_environment_comes_first(tmp_path, monkeypatch):
    assert default_url(tmp_path).endswith("judgepanel.db")
    monkeypatch.setenv(database_module.VARIABLE, f"sqlite:///{tmp_path / 'own.db'}")
    SqlWorkspace(home=tmp_path).close()
    assert sorted(os.listdir(tmp_path)) == ["own.db", "own.db.identity"]


OTHER_PROCESS = """
import sqlite3, sys
from contextlib import closing
with closing(sqlite3.connect(sys.argv[1])) as copy:
    print(copy.execute("SELECT count(*) FROM analyses").fetchone()[0])
"""


def test_a_second_workspace_of_this_process_leaves_the_locks_of_the_first(tmp_path, votes):
    def counted_elsewhere():
        command = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path / "judgepanel.db")]
        return int(subprocess.run(command, capture_output=True, check=True).stdout)

    with closing(SqlWorkspace(home=tmp_path)) as first, closing(SqlWorkspace(home=tmp_path)):
        first.create(loaded(votes), Settings(), "one")
        assert counted_elsewhere() == 1
        assert (tmp_path / "judgepanel.db-wal").exists()
        first.create(loaded(votes), Settings(), "two")
        assert counted_elsewhere() == 2
