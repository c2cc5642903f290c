"""The SQLite file: intact, from older versions, backed up and restored."""

import os
import sqlite3
import threading
from contextlib import closing
from unittest.mock import Mock

import pytest

from judgepanel.service import database as database_module
from judgepanel.service.basics import DatabaseProblem
from judgepanel.service.database import back_up, connect, identity_file, prepare, restore
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from tests.helpers import make_votes
from tests.service.counting import loaded


@pytest.fixture
def file(tmp_path):
    """A database with one analysis in it, which no server uses."""
    path = tmp_path / "a b#?%20.db"
    with closing(opened(path)) as space:
        space.create(loaded(make_votes(1, 40, 4)), Settings(), "first")
    return path


@pytest.fixture
def target(file, tmp_path):
    """A backup of it."""
    back_up(file, tmp_path / "backup.db")
    return tmp_path / "backup.db"


def execute(path, statement):
    with closing(sqlite3.connect(path)) as other:
        other.execute(statement)
        other.commit()


def opened(path):
    return SqlWorkspace(f"sqlite:///{str(path).replace('%', '%25').replace('?', '%3F')}")


def names(path):
    with closing(opened(path)) as space:
        return [analysis.name for analysis in space.list()]


def test_a_restart_is_noticed_by_nobody(file):
    assert names(file) == names(file) == ["first"]
    assert int(identity_file(file).read_text()) > 0


@pytest.mark.parametrize("how", ["empty", "delete"])
def test_an_emptied_or_deleted_file_is_no_new_database(file, how):
    lose(file, how)
    for _ in range(2):
        with pytest.raises(DatabaseProblem, match=r"deleted, emptied or moved.*restore"):
            opened(file)
    identity_file(file).unlink()
    assert names(file) == []


def test_another_database_under_the_same_name_is_noticed(file):
    lose(file, "exchange")
    with pytest.raises(DatabaseProblem, match="another one than before"):
        opened(file)


def lose(file, how):
    """Delete or empty a database, or put another one in its place."""
    if how == "delete":
        file.unlink()
    elif how == "empty":
        os.truncate(file, 0)
    else:
        other = file.with_name("other.db")
        opened(other).close()
        os.replace(other, file)


@pytest.mark.parametrize("how", ["delete", "exchange", "empty"])
def test_a_server_notices_that_its_file_went_away(file, how):
    with closing(opened(file)) as space:
        assert len(space.list()) == 1
        lose(file, how)
        with pytest.raises(DatabaseProblem, match="deleted, emptied or moved"):
            space.list()
        with pytest.raises(DatabaseProblem):
            space.create(loaded(make_votes(2, 40, 4)), Settings(), "lost")


def test_a_server_notices_that_its_file_was_written_over(file):
    with closing(opened(file)) as space:
        with closing(sqlite3.connect(file)) as other:
            other.execute("PRAGMA user_version = 7")
        with pytest.raises(DatabaseProblem, match="another one than before"):
            space.list()


def damage(path):
    """Write over the pages behind the first."""
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(byte ^ 0x5A for byte in content[4096:])
    path.write_bytes(content)


def test_a_damaged_file_is_told_at_the_start(file):
    damage(file)
    with pytest.raises(DatabaseProblem, match="bring back a backup"):
        opened(file)


def test_a_backup_is_whole_while_a_server_writes(file, tmp_path):
    target = tmp_path / "backup.db"
    enough = threading.Event()
    with closing(opened(file)) as space:

        def write():
            number = 0
            while not enough.is_set():
                number += 1
                space.create(loaded(make_votes(1, 40, 4)), Settings(seed=number), f"n{number}")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            copies = [back_up(file, target) for _ in range(5)]
        finally:
            enough.set()
            writer.join()
        assert copies[0].analyses <= copies[-1].analyses <= len(space.list())
    assert len(names(target)) == copies[-1].analyses
    assert target.stat().st_mode & 0o777 == 0o600


def test_what_is_restored_is_the_state_of_the_backup_and_what_was_there_is_kept(file, target):
    with closing(opened(file)) as space:
        space.create(loaded(make_votes(2, 40, 4)), Settings(), "later")
    copied = restore(target, file)
    assert (copied.analyses, names(file)) == (1, ["first"])
    assert sorted(names(copied.earlier)) == ["first", "later"]


def test_a_lost_or_damaged_database_is_brought_back(file, target):
    broken = file.read_bytes()[:5000]
    file.write_bytes(broken)
    copied = restore(target, file)
    assert names(file) == ["first"]
    assert copied.earlier.read_bytes() == broken
    file.unlink()
    assert restore(target, file).earlier is None
    assert names(file) == ["first"]


def test_the_log_of_a_deleted_database_is_not_added_to_what_is_restored(file, target):
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("DELETE FROM analyses")
        other.commit()
        file.unlink()
    assert file.with_name(f"{file.name}-wal").exists()
    restore(target, file)
    assert names(file) == ["first"]


def test_a_full_disk_is_not_taken_for_a_wrong_backup(file, tmp_path, monkeypatch):
    class Full:
        def backup(self, _):
            raise sqlite3.OperationalError("database or disk is full")

        def close(self):
            pass

    monkeypatch.setattr(database_module, "_opened", lambda _: Full())
    with pytest.raises(DatabaseProblem, match="no room for the copy"):
        back_up(file, tmp_path / "backup.db")


def test_nothing_is_restored_while_a_server_runs(file, target, tmp_path):
    with closing(opened(file)) as space:
        space.list()
        with pytest.raises(DatabaseProblem, match="stop every server"):
            restore(target, file)
        assert len(space.list()) == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("content", [b"", b"no database " * 99, b"SQLite format 3\0" + b"x" * 900])
def test_what_is_no_backup_is_refused_and_changes_nothing(file, tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(DatabaseProblem):
        restore(tmp_path / "other", file)
    assert names(file) == ["first"]


def test_a_damaged_or_newer_backup_is_refused(file, target):
    execute(target, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseProblem, match="newer version"):
        restore(target, file)
    back_up(file, target)
    damage(target)
    with pytest.raises(DatabaseProblem):
        restore(target, file)
    assert names(file) == ["first"]


CHANGES = {
    "trigger": ("CREATE TRIGGER ours AFTER INSERT ON analyses BEGIN DELETE FROM results; END",
        "has the trigger 'ours', which judgepanel did not make: drop the trigger in a copy"),
    "view": ("CREATE VIEW seen AS SELECT * FROM votes", "has the view 'seen', which judgepanel"),
    "table": ("CREATE TABLE other (x)", "has the table 'other', which judgepanel did not make"),
    "index": ("CREATE UNIQUE INDEX own ON analyses (owner)", "has the index 'own', which"),
    "dropped": ("DROP INDEX ix_analyses_owner", "The index 'ix_analyses_owner' of the database"),
    "column": ("ALTER TABLE results ADD COLUMN x", "The table 'results' of the database"),
    "away": ("DROP TABLE decisions", "The table 'decisions' of the database is missing or not as"),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "says"), CHANGES.values(), ids=list(CHANGES))
def test_a_backup_with_another_schema_is_refused_and_why(file, target, tmp_path, statement, says):
    execute(target, statement)
    with pytest.raises(DatabaseProblem, match=says) as refused:
        restore(target, file)
    assert ". " not in str(refused.value)
    with pytest.raises(DatabaseProblem, match=says):
        back_up(target, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    assert names(file) == ["first"]


def test_tables_of_sqlite_itself_do_not_make_a_backup_foreign(file, tmp_path):
    earlier = connect(f"sqlite:///{tmp_path / 'earlier.db'}")
    prepare(earlier)
    with earlier.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
    earlier.dispose()
    assert restore(tmp_path / "earlier.db", file).analyses == 0
    assert names(file) == []


def test_a_restore_that_fails_half_way_leaves_what_was_there(file, target, monkeypatch):
    monkeypatch.setattr(database_module, "_number_of", Mock(side_effect=OSError("no room left")))
    with pytest.raises(OSError, match="no room left"):
        restore(target, file)
    assert names(file) == ["first"]


def test_a_backup_of_an_earlier_version_is_restored_and_known_from_then_on(file, target):
    execute(target, "PRAGMA user_version = 0")
    restore(target, file)
    assert names(file) == ["first"]
    assert int(identity_file(file).read_text()) > 0
