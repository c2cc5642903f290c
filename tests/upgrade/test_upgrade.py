"""What earlier versions wrote is opened by today's code: see README.md beside this."""

from __future__ import annotations

import csv
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgepanel import ENGINE
from judgepanel.decision.panel_file import VERSION, load_panel
from judgepanel.decision.score import score
from judgepanel.present.registry import ENTRIES
from judgepanel.service.sql import SqlWorkspace
from judgepanel.votes import load_votes

DATA = Path(__file__).parent / "data"
VERSIONS = range(1, VERSION + 1)
ENGINES = ("engine-2", "engine-3", "engine-8")
READ = {"engine-2": 0, "engine-3": 0, "engine-8": 5}
"""How many results have a form that is still read; the others are kept, and computed again."""

Opened = tuple[SqlWorkspace, dict[str, Any], Path]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_panel_file_of_every_version_scores_as_it_did(version: int) -> None:
    text = (DATA / f"v{version}.json").read_text()
    assert json.loads(text)["version"] == version
    panel = load_panel(text)
    past, fresh = (
        DATA / f"{'graded_' if version > 5 else ''}{name}.csv" for name in ("votes", "new")
    )
    assert panel.content["votes"]["sha256"] == load_votes(past).votes.sha256
    new = load_votes(fresh, need_labels=False, known=panel.known).votes
    scored = score(panel, new)
    with (DATA / f"v{version}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(scored.item_ids) == [row["item_id"] for row in rows]
    # Processors differ in the last bit of exp and log.
    assert scored.p.tolist() == pytest.approx([float(row["p"]) for row in rows], rel=1e-12)
    assert scored.n_votes.tolist() == [int(row["n_votes"]) for row in rows]
    decisions = scored.frame()["decision"].tolist()
    assert [str(decision) for decision in decisions] == [row["decision"] for row in rows]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Opened]]:
    """A data folder of an earlier version, and the workspace that today's code makes of it."""
    spaces: list[SqlWorkspace] = []

    def open_folder(name: str) -> Opened:
        database = tmp_path / "judgepanel.db"
        if (DATA / f"{name}.zip").exists():
            zipfile.ZipFile(DATA / f"{name}.zip").extractall(tmp_path)
        else:
            with closing(sqlite3.connect(database)) as connection:
                connection.executescript((DATA / f"{name}.sql").read_text())
        spaces.append(SqlWorkspace(f"sqlite:///{database}", home=tmp_path))
        return spaces[-1], json.loads((DATA / f"{name}.json").read_text()), database

    yield open_folder
    for space in spaces:
        space.close()


@pytest.mark.parametrize("name", ENGINES)
def test_an_older_data_folder_opens_and_nothing_is_lost(
    opened: Callable[[str], Opened], name: str
) -> None:
    space, about, database = opened(name)
    (analysis,) = space.list()
    assert analysis == space.open(about["id"])
    assert (analysis.name, analysis.file) == (about.get("name", "votes.csv"), "votes.csv")
    assert (analysis.settings.splits, analysis.settings.seed) == (12, 3)
    votes = space.votes(analysis.votes_sha256)
    assert votes.sha256 == about["votes_sha256"] == load_votes(DATA / "votes.csv").votes.sha256
    decisions = [vars_of(decision) for decision in space.decisions(analysis.id)]
    assert decisions == ([about["decision"]] if "decision" in about else [])
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT study, engine FROM results ORDER BY study").fetchall()
    assert rows == [(study, about["engine"]) for study in about["results"]]


@pytest.mark.parametrize("name", ENGINES)
def test_results_of_an_older_engine_are_marked_or_said_to_be_unreadable(
    opened: Callable[[str], Opened], name: str
) -> None:
    space, about, _ = opened(name)
    analysis = space.open(about["id"])
    stored = {}
    for study in about["results"]:
        asked = (
            ENTRIES[study].study,
            analysis.votes_sha256,
            ENTRIES[study].study.spec(analysis.settings),
        )
        result = space.result(*asked)
        if result is None:
            assert space.is_unreadable(*asked)
        else:
            stored[study] = result
    assert len(stored) == READ[name]
    assert about["engine"] < ENGINE
    assert all((r.engine, r.current) == (about["engine"], False) for r in stored.values())
    assert all(result.result.frame().shape[0] for result in stored.values())


def test_a_question_that_an_older_engine_could_not_be_asked_has_no_older_result(
    opened: Callable[[str], Opened],
) -> None:
    space, about, _ = opened("engine-3")
    analysis = space.open(about["id"])
    study = ENTRIES["panel_curve"].study
    for settings in (
        replace(analysis.settings, group_duplicates=True),
        replace(analysis.settings, seed=4),
        replace(analysis.settings, orientation="symmetric"),
    ):
        assert not space.is_unreadable(study, analysis.votes_sha256, study.spec(settings))


def vars_of(decision: Any) -> dict[str, str]:
    return {name: getattr(decision, name) for name in ("what", "by", "why", "made")}
