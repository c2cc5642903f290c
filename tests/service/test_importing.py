"""A data folder of the version that used files is imported into the database once."""

import json
from dataclasses import replace

import pytest

from judgepanel.service import NotFound
from judgepanel.service.sql import SqlWorkspace
from judgepanel.service.workspace import Analysis
from judgepanel.studies.codec import pack, spec_sha, to_plain
from judgepanel.studies.contract import Settings
from tests.helpers import make_votes
from tests.service.counting import Count, Counter, CountSpec

ID = "abcdefghijklmnop_-1234"


@pytest.fixture
def old(tmp_path, votes):
    """The folder as it was: one analysis with its votes and a result of a study."""
    home = tmp_path / "home"
    for name in ("votes", "analyses", "results"):
        (home / name).mkdir(parents=True)
    settings = Settings(splits=20, seed=3)
    made = Analysis(
        ID, "Mine \x00", "v.csv", votes.sha256, settings, ("--a",), ("A note.",), "2026-01-01"
    )
    (home / "votes" / f"{votes.sha256}.npz").write_bytes(pack(votes))
    (home / "analyses" / f"{ID}.json").write_text(json.dumps(to_plain(made)))
    spec = CountSpec(settings)
    content = {"study": "count", "engine": 1, "spec": to_plain(spec)}
    content["result"] = to_plain(Count(20, 20))
    name = f"{votes.sha256}-count-{spec_sha(spec)}-e1.json"
    (home / "results" / name).write_text(json.dumps(content))
    return home, made, spec


def files(home):
    return sorted(path for path in home.rglob("*") if path.is_file())


@pytest.fixture
def brought(old, url):
    """Starts a server on the folder; every time again."""
    opened = []

    def start():
        opened.append(SqlWorkspace(url, home=old[0]))
        return opened[-1]

    yield start
    for space in opened:
        space.close()


def test_no_link_breaks_and_no_result_is_lost(old, brought, votes):
    home, made, spec = old
    space = brought()
    assert space.open(ID) == made
    assert space.list() == (made,)
    assert space.votes(votes.sha256).sha256 == votes.sha256
    assert space.result(Counter().study, votes.sha256, spec).result == Count(20, 20)
    assert files(home) == []
    assert not (home / "analyses").exists()


def test_what_is_deleted_or_renamed_does_not_come_back(old, brought, votes):
    space = brought()
    space.rename(ID, "other")
    assert brought().open(ID).name == "other"
    space.delete(ID)
    again = brought()
    assert again.list() == ()
    with pytest.raises(NotFound):
        again.votes(votes.sha256)


def test_files_that_come_back_change_nothing(old, brought, votes):
    """From a backup, or from a server that was cut off between the database and the folder."""
    home = old[0]
    text = (home / "analyses" / f"{ID}.json").read_text()
    brought().rename(ID, "other")
    for name in ("votes", "analyses"):
        (home / name).mkdir()
    (home / "analyses" / f"{ID}.json").write_text(text)
    (home / "votes" / f"{votes.sha256}.npz").write_bytes(pack(votes))
    assert brought().open(ID).name == "other"
    assert files(home) == []


@pytest.mark.parametrize("damage", [b"\x00damaged", b"", b'{"id": "x"}', b"[]"])
@pytest.mark.parametrize("name", ["votes", "analyses", "results"])
def test_what_cannot_be_read_stays_and_stops_nothing(old, brought, name, damage):
    home, made, _ = old
    (bad,) = (home / name).iterdir()
    bad.write_bytes(damage)
    good = make_votes(5, 30, 3)
    other = replace(made, id=ID[::-1], votes_sha256=good.sha256)
    (home / "votes" / f"{good.sha256}.npz").write_bytes(pack(good))
    (home / "analyses" / f"{other.id}.json").write_text(json.dumps(to_plain(other)))
    assert brought().open(other.id) == other
    assert bad in files(home)
    assert bad.read_bytes() == damage


def test_a_folder_of_another_program_is_left_alone(tmp_path, url):
    (tmp_path / "home" / "analyses").mkdir(parents=True)
    (tmp_path / "home" / "analyses" / "notes.txt").write_text("mine")
    SqlWorkspace(url, home=tmp_path / "home").close()
    assert (tmp_path / "home" / "analyses" / "notes.txt").read_text() == "mine"
