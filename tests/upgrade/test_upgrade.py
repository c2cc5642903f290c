"""What releases wrote is opened by today's code: see README.md beside this."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from judgepanel import ENGINE
from judgepanel.decision.panel_file import load_panel
from judgepanel.decision.score import score
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.service.sql import SqlWorkspace
from judgepanel.votes import load_votes

DATA = Path(__file__).parent / "data"
RELEASES = ("0.1.0",)
Opened = tuple[SqlWorkspace, dict[str, Any], Path]
"""A workspace of today on the database of a release, what is in it, and its file."""
CASES = [(release, kind) for release in RELEASES for kind in ("", "graded_")]


@pytest.mark.parametrize(("release", "kind"), CASES)
def test_a_panel_file_of_every_release_scores_as_it_did(release: str, kind: str) -> None:
    panel = load_panel((DATA / f"{release}.{kind}panel.json").read_text())
    past, fresh = (DATA / f"{kind}{name}.csv" for name in ("votes", "new"))
    assert panel.content["votes"]["sha256"] == load_votes(past, task="pairwise").votes.sha256
    scored = score(panel, load_votes(fresh, need_labels=False, known=panel.known).votes)
    with (DATA / f"{release}.{kind}scored.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(scored.item_ids) == [row["item_id"] for row in rows]
    # Processors differ in the last bit of exp and log.
    assert scored.p.tolist() == pytest.approx([float(row["p"]) for row in rows], rel=1e-12)
    assert scored.n_votes.tolist() == [int(row["n_votes"]) for row in rows]
    decisions = scored.frame()["decision"].tolist()
    assert [str(decision) for decision in decisions] == [row["decision"] for row in rows]


@pytest.fixture(params=RELEASES)
def opened(request: Any, tmp_path: Path) -> Iterator[Opened]:
    database = tmp_path / "judgepanel.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript((DATA / f"{request.param}.sql").read_text())
    about = json.loads((DATA / f"{request.param}.database.json").read_text())
    with closing(SqlWorkspace(f"sqlite:///{database}", home=tmp_path)) as space:
        yield space, about, database


def test_a_database_of_every_release_opens_and_nothing_is_lost(opened: Opened) -> None:
    space, about, database = opened
    (analysis,) = space.list()
    assert analysis == space.open(about["id"])
    assert (analysis.name, analysis.file) == (about["name"], "votes.csv")
    assert (analysis.settings.splits, analysis.settings.seed) == (12, 3)
    votes = space.votes(analysis.votes_sha256)
    assert votes.sha256 == load_votes(DATA / "votes.csv", task="pairwise").votes.sha256
    assert [asdict(decision) for decision in space.decisions(analysis.id)] == [about["decision"]]
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT study, engine FROM results ORDER BY study").fetchall()
    assert rows == [(study, about["engine"]) for study in about["results"]]


REDONE = {"recommend": 15}
"""Studies whose results before an engine lack what their pages show: they are computed again."""


def test_results_are_read_and_marked_if_an_older_engine_made_them(opened: Opened) -> None:
    space, about, _ = opened
    analysis = space.open(about["id"])
    for name in about["results"]:
        study = PRESENTATIONS[name].study
        spec = study.spec(analysis.settings)
        stored = space.result(study, analysis.votes_sha256, spec)
        if name in REDONE and about["engine"] < REDONE[name]:
            assert stored is None
            assert space.is_unreadable(study, analysis.votes_sha256, spec)
            continue
        assert stored is not None
        assert (stored.engine, stored.current) == (about["engine"], about["engine"] == ENGINE)
        assert stored.result.frame().shape[0]


def test_a_question_that_was_not_asked_has_no_result(opened: Opened) -> None:
    space, about, _ = opened
    analysis = space.open(about["id"])
    study = PRESENTATIONS["panel_curve"].study
    for settings in (
        replace(analysis.settings, group_duplicates=not analysis.settings.group_duplicates),
        replace(analysis.settings, seed=4),
        replace(analysis.settings, orientation="symmetric"),
    ):
        spec = study.spec(settings)
        assert space.result(study, analysis.votes_sha256, spec) is None
        assert not space.is_unreadable(study, analysis.votes_sha256, spec)
