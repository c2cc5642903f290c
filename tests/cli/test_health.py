"""`health`: one sentence for the server, one for the database, no secret, nothing changed."""

import shutil
import socket
import sqlite3
from contextlib import ExitStack, closing

import pytest
from sqlalchemy import text

from judgepanel.cli import upkeep
from judgepanel.service.database import FILE, VARIABLE, connect, prepare, transaction
from tests.cli.conftest import web_server
from tests.service.postgres import programs, running

SECRET = "hunter2secret"  # noqa: S105
ANSWERS = "The server answers."
CURRENT = "database answers; its tables are those of this version."
LATER = "database answers; the first page that is opened makes its tables."


@pytest.fixture
def serve():
    """Serves (status, body, path wanted) on this machine; gives the address."""
    elsewhere = {"Location": "http://localhost:1/elsewhere"}
    with ExitStack() as servers:

        def start(status, body, wanted=upkeep.SERVED):
            server = web_server(lambda path: (status if path == wanted else 404, elsewhere, body))
            return f"http://127.0.0.1:{servers.enter_context(server)}"

        yield start


@pytest.fixture
def silent():
    """An address where nobody answers: bound, and not listening."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data folder that is not there yet."""
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path / "new" / "home"))
    return tmp_path / "new" / "home"


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A SQLite database of this version under a name that an address has to quote."""
    folder = tmp_path / "a b%20?#é"
    folder.mkdir()
    monkeypatch.setenv("JUDGEPANEL_HOME", str(folder))
    make(f"sqlite:///{tmp_path / FILE}")
    return shutil.move(tmp_path / FILE, folder / FILE)


def make(url):
    engine = connect(url)
    prepare(engine)
    engine.dispose()


def claim(url, revision):
    """Write another revision into a database."""
    engine = connect(url)
    with transaction(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :r"), {"r": revision})
    engine.dispose()


def content(folder):
    """What is in the files of a folder; SQLite's index of its log is none of it."""
    written = (path for path in folder.iterdir() if not path.name.endswith("-shm"))
    return b"".join(path.read_bytes() for path in sorted(written))


def test_before_the_first_page_there_is_no_database_and_none_is_made(cli, home):
    ran = cli("health")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "There is no SQLite database yet: the first page that is opened makes it.\n"
    assert not home.parent.exists()


def test_a_database_of_this_version_is_read_and_left_as_it_is(cli, made):
    before = content(made.parent)
    ran = cli("health")
    assert (ran.status, ran.out, ran.err) == (0, f"The SQLite {CURRENT}\n", "")
    assert content(made.parent) == before


def test_a_database_in_use_can_be_asked(cli, made):
    with closing(sqlite3.connect(made, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert cli("health").status == 0


def test_a_trigger_of_another_program_is_not(cli, made):
    with sqlite3.connect(made) as other:
        other.execute("CREATE TRIGGER late AFTER INSERT ON results BEGIN DELETE FROM votes; END")
    other.close()
    ran = cli("health")
    assert ran.status == 1
    assert ran.out.startswith("The database has the trigger 'late', which judgepanel did not make")


def test_a_database_server_that_is_down(cli, monkeypatch, silent, caplog):
    monkeypatch.setenv(VARIABLE, f"postgresql://me:{SECRET}@{silent}/x")
    ran = cli("health")
    assert ran.status == 1
    assert ran.out.startswith("The database server does not answer")
    assert SECRET not in ran.out + ran.err + caplog.text


def test_postgresql_from_nothing_to_a_newer_schema(cli, monkeypatch, caplog):
    result = programs()
    if result is None:
        pytest.skip("no PostgreSQL here; `./run test` installs one as root")
    with running(result) as plain:
        url = plain.replace("judgepanel@", f"judgepanel:{SECRET}@")
        monkeypatch.setenv(VARIABLE, url)
        assert cli("health").out == f"The PostgreSQL {LATER}\n"
        make(url)
        ran = cli("health")
        assert (ran.status, ran.out) == (0, f"The PostgreSQL {CURRENT}\n")
        claim(url, "9999")
        ran = cli("health")
        assert ran.status == 1
        assert ran.out.startswith("A newer version of judgepanel has made this database:")
        monkeypatch.setenv(VARIABLE, url.replace("/postgres?", "/missing?"))
        ran = cli("health")
        assert ran.status == 1
        assert ran.out.startswith("The database server has no database of this name")
        assert SECRET not in ran.out + ran.err + caplog.text


def test_a_dashboard_that_answers(cli, made, serve):
    url = serve(200, b"ok")
    for address in (url, f"{url}/", url + upkeep.SERVED):
        ran = cli("health", "--url", address)
        assert (ran.status, ran.out) == (0, f"{ANSWERS}\nThe SQLite {CURRENT}\n")


def test_a_dashboard_below_a_path(cli, made, serve):
    url = serve(200, b"ok", "/judges/_stcore/health")
    assert cli("health", "--url", f"{url}/judges/").status == 0
    assert cli("health", "--url", url).status == 1


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (503, b"Runtime is shutting down", "The server is not ready"),
        (500, b"ok", "is not the dashboard (status 500)"),
        (301, b"", "is not the dashboard (status 301)"),
        (200, b"<html>Welcome</html>", "is not the dashboard (status 200)"),
    ],
)
def test_what_does_not_answer_as_a_dashboard(cli, made, serve, status, body, sentence):
    ran = cli("health", "--url", serve(status, body))
    assert ran.status == 1
    assert sentence in ran.out.splitlines()[0]
    assert ran.out.splitlines()[1] == f"The SQLite {CURRENT}"


def test_a_server_that_is_down(cli, made, silent):
    ran = cli("health", "--url", f"http://me:{SECRET}@{silent}")
    assert ran.status == 1
    assert ran.out.startswith("The server does not answer")
    assert SECRET not in ran.out + ran.err


def test_a_proxy_of_the_environment_is_not_asked(cli, made, serve, silent, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://{silent}")
    assert cli("health", "--url", serve(200, b"ok")).status == 0


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost:8501", "ftp://localhost", "file:///etc/passwd", "http://"),
        *(f"http://me:{SECRET}@h:port", "http://[", "http://a b"),
    ],
)
def test_an_address_of_no_server(cli, made, url):
    ran = cli("health", "--url", url)
    assert (ran.status, len(ran.out.splitlines())) == (1, 2)
    assert SECRET not in ran.out + ran.err
