"""The Scope page: the answer, four cards, the filter in one click, nothing flattering."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.decision.panel_file import load_panel
from judgepanel.ui.pages import recommended_take
from judgepanel.ui.session import workspace
from tests.pages import driver

SCOPE = "pages/scope.py"


@cache
def analysis(name: str) -> str:
    return driver.prepared(name, splits=2)


def finished(name: str, **opened: str) -> AppTest:
    pipeline = {"aggregator": "one-coin", "calibrator": "beta"}
    n_downloads = 2 + 2 * len(opened)
    return driver.with_downloads(SCOPE, n_downloads, analysis=analysis(name), **pipeline, **opened)


def test_the_hard_sample_is_answered_filtered_and_compared() -> None:
    app = finished("hard_panel")
    answer = "Not yet: judge 'fam4-judge14' gives a verdict on 51 % of the items."
    assert driver.answer_of(app) == answer
    sentence = driver.htmls(app)
    assert any(text.startswith("Drop judges with a verdict on ") for text in sentence)
    for title in ("P0 Labels and order: needs review.", "P1 ", "P2 ", "P3 "):
        assert any(text.startswith(title) for text in sentence)
    commands = [code.value for code in app.code]
    assert sum(" study scope " in command for command in commands) == 1
    assert any(" inspect " in command for command in commands)
    assert driver.links(app) == ["Next: what would break it?"]
    app = finished("hard_panel", group_change="true")
    assert any("what the filter drops (2 judges)" in text for text in driver.htmls(app, "jp-text"))
    before = driver.analysis_in(app)
    app.button(key="apply-filter").click()
    driver.checked(app.run())
    assert driver.analysis_in(app) != before
    judges = workspace().open(driver.analysis_in(app)).settings.judges
    assert judges is not None
    assert len(judges) == 28
    assert "fam4-judge14" not in judges


def test_the_recommended_panel_and_its_file_say_whether_checks_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel = "pages/recommended_panel.py"
    app = driver.until_done(driver.open_app(panel, analysis=analysis("hard_panel")))
    assert "Scope: is it safe to use?" in driver.links(app)
    made: dict[str, Callable[[], str]] = {}
    monkeypatch.setattr(
        recommended_take.reporting,
        "download_button",
        lambda _, label, make, *__, **___: made.update({label: make}),
    )
    checks = driver.open_app(SCOPE, analysis=analysis("hard_panel"))
    # With what the filter changes, which is computed for the answer.
    driver.until(checks, lambda: "Leaving them out " in "".join(driver.htmls(checks, "jp-text")))
    sentence = driver.answer_of(checks)
    assert sentence.startswith("Safe to use, with 2 reservations. The first: ")
    app = driver.until_done(driver.open_app(panel, analysis=analysis("hard_panel")))
    assert sentence.partition(" The first")[0] in driver.htmls(app, "jp-result")
    assert "Scope: all checks" in driver.links(app)
    file = json.loads(made["Download panel.json"]())
    outcomes = {check["code"]: check["outcome"] for check in file["checks"]}
    assert list(outcomes) == ["P0", "P1", "P2", "P3"]
    assert load_panel(json.dumps(file)).content["checks"] == file["checks"]
