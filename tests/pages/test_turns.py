"""The page on the screen is computed first; pages that were left wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from judgepanel.present.registry import PRESENTATIONS
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.understand.judges import JUDGES as JUDGES_STUDY
from judgepanel.studies.understand.method_grid import METHOD_GRID
from judgepanel.ui import server as spaces
from judgepanel.ui.session import workspace
from tests.pages.driver import JUDGES, answer_of, htmls, open_app, prepared, turn_to, until
from tests.service.counting import Clock

METHODS = "pages/methods.py"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """A server for which time passes only where the test lets it."""
    clock = Clock()
    spaces.close_workspaces()
    monkeypatch.setattr("judgepanel.studies.runner.default_jobs", lambda: 1)
    monkeypatch.setattr("judgepanel.service.sql.SqlWorkspace", partial(SqlWorkspace, clock=clock))
    yield clock
    spaces.close_workspaces()


class Held:
    """A study of a page whose chunks but the first stand still until they are let go."""

    def __init__(self, study: Any) -> None:
        self.go = threading.Event()
        self.started: list[int] = []
        self.study = replace(study, run_chunk=self.run_chunk)
        self._compute: Callable[..., Any] = study.run_chunk

    def run_chunk(self, votes: Any, spec: Any, chunk: Any) -> Any:
        self.started.append(chunk.number)
        assert chunk.number == 0 or self.go.wait(60)
        return self._compute(votes, spec, chunk)


def test_the_page_that_is_open_goes_first_and_the_one_that_was_left_goes_on_later(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, judges = Held(METHOD_GRID), Held(JUDGES_STUDY)
    for page, held in (("methods", grid), ("judges", judges)):
        entry = replace(PRESENTATIONS[held.study.name], study=held.study)
        monkeypatch.setattr(f"judgepanel.ui.pages.{page}.PRESENTATIONS", {held.study.name: entry})
    name = prepared("one_class", splits=9)
    try:
        app = open_app(METHODS, analysis=name)
        until(app, lambda: htmls(app, "jp-answer") and len(grid.started) == 2)
        clock.everybody_leaves()
        turn_to(app, JUDGES)
        until(app, lambda: htmls(app, "jp-answer") and len(judges.started) == 2)
        grid.go.set()  # The chunk under way when the page was left is finished, and kept.
        until(app, lambda: state_of(METHOD_GRID.name).done == 2)
        assert answer_of(app).startswith("So far")
        assert [state_of(name).ahead for name in (METHOD_GRID.name, JUDGES_STUDY.name)] == [1, 0]
        turn_to(app, METHODS)
        until(app, lambda: state_of(METHOD_GRID.name).status == "done")
        assert grid.started == list(range(len(grid.started)))
    finally:
        grid.go.set()
        judges.go.set()


def state_of(study: str) -> Any:
    """The state of a study's work, asked by nobody that it would count as a look of."""
    jobs = workspace()._jobs  # type: ignore[attr-defined]
    (key,) = (key for key in jobs._states if study in key.split("-"))
    return jobs.state(key)


def test_a_page_that_waits_for_others_says_how_many_are_ahead(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [Held(METHOD_GRID) for _ in range(3)]
    apps = []
    try:
        for splits, study in zip((21, 22, 23), held, strict=True):
            monkeypatch.setattr("judgepanel.ui.pages.methods.METHOD_GRID", study.study)
            apps.append(open_app(METHODS, analysis=prepared("one_class", splits=splits)))
        (bar,) = apps[-1].get("progress")
        assert bar.proto.text == "Waiting: 2 jobs ahead"
        assert held[2].started == []
    finally:
        for study in held:
            study.go.set()
