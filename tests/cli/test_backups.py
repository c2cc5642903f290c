"""`backup` and `restore`: one sentence each, nothing overwritten unasked, nothing lost."""

from contextlib import closing

import pytest

from judgepanel.service.database import FILE, VARIABLE
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from tests.helpers import make_votes
from tests.service.counting import loaded


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data folder with one analysis."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("JUDGEPANEL_HOME", str(folder))
    monkeypatch.delenv(VARIABLE, raising=False)
    with closing(SqlWorkspace(home=folder)) as space:
        space.create(loaded(make_votes(1, 40, 4)), Settings(), "first")
    return folder


def test_there_and_back(cli, home, tmp_path):
    copy = tmp_path / "copy.db"
    ran = cli("backup", copy)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "copy.db holds 1 analysis and 0 results; it was read back and is intact.\n"
    ran = cli("backup", copy)
    assert (ran.status, "--force" in ran.error) == (2, True)
    assert cli("backup", copy, "--force").status == 0
    ran = cli("restore", copy)
    assert (ran.status, "--force" in ran.error) == (2, True)
    ran = cli("restore", copy, "--force")
    assert ran.status == 0
    assert ran.out.startswith(f"{FILE} holds 1 analysis and 0 results of copy.db.\nThe previous")
    (home / FILE).unlink()
    ran = cli("health")
    assert (ran.status, ran.out.startswith("The file of the database was deleted")) == (1, True)
    assert cli("restore", copy).status == 0
    assert cli("health").status == 0


def test_health_tells_a_damaged_database(cli, home):
    file = home / FILE
    content = bytearray(file.read_bytes())
    content[8192:] = bytes(len(content) - 8192)
    file.write_bytes(content)
    ran = cli("health")
    assert (ran.status, ran.out) == (1, "The database is damaged: bring back a backup of it.\n")


def test_what_is_not_there_is_told(cli, home, tmp_path, monkeypatch):
    assert "there is no such file" in cli("restore", tmp_path / "none.db").error
    assert "database itself" in cli("backup", home / FILE, "--force").error
    assert "database itself" in cli("restore", home / FILE, "--force").error
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path / "empty"))
    assert "no database to back up" in cli("backup", tmp_path / "x.db").error
    assert cli("backup", tmp_path / "no" / "folder.db").status == 2


def test_postgresql_has_programs_of_its_own(cli, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "postgresql://me:hunter2@localhost:1/x")
    for command in ("backup", "restore"):
        (tmp_path / "x.db").write_bytes(b"")
        ran = cli(command, tmp_path / "x.db", "--force")
        assert (ran.status, "pg_dump" in ran.error, "hunter2" in ran.error) == (2, True, False)
