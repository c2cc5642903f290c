"""The Robustness page: the worst first, the matrix, slices, damaged votes, nothing flattering."""

from __future__ import annotations

from functools import cache

from streamlit.testing.v1 import AppTest

from tests.pages.driver import (
    answer_of,
    displayed,
    downloads_of,
    htmls,
    links,
    open_app,
    prepared,
    text_of,
    until,
)

ROBUSTNESS = "pages/robustness.py"
STUDIES = ("difficulty_transfer", "slice_transfer", "corruption")


@cache
def analysis(name: str) -> str:
    return prepared(name, splits=4 if name == "hard_panel" else 2)


def finished(name: str, **parameters: str) -> AppTest:
    """The page once its three sections are done."""
    default = {"aggregator": "one-coin", "calibrator": "beta"}
    app = open_app(ROBUSTNESS, analysis=analysis(name), **default, **parameters)
    return until(app, lambda: len(downloads_of(app)) == 2 * len(STUDIES))


def test_without_votes_the_page_says_what_it_shows_and_leads_to_start() -> None:
    app = open_app(ROBUSTNESS)
    assert app.info[0].value.startswith("No votes yet. This page shows how a panel fares on other")
    assert links(app) == ["Go to Start"]


def test_sections_come_one_after_the_other_and_the_banner_is_the_worst_of_them() -> None:
    app = finished("hard_panel")
    headers = [header.value for header in app.main.get("header")]
    assert headers == ["Easy and hard items", "Slices left out", "Corrupted votes"]
    assert "cost NLL on the others" in answer_of(app)
    assert answer_of(app) not in htmls(app, "jp-text")
    commands = [code.value for code in app.code if " study " in code.value]
    assert [command.split()[3] for command in commands] == list(STUDIES)
    assert "nan" not in text_of(app)
    matrix = displayed(app.dataframe[0])
    assert len(matrix) == 18
    assert (matrix["base rate"] > 0.6).all()
    assert links(app) == ["Next: who adds what?"]


def test_views_are_kept_in_the_address_and_another_feature_is_sliced() -> None:
    finished("hard_panel")
    app = finished("hard_panel", method="stratified", slices="difficulty")
    (sliced,) = (
        selectbox for selectbox in app.main.get("selectbox") if selectbox.label == "Slices by"
    )
    assert sliced.value == "difficulty"
    assert any("'difficulty'" in code.value or "difficulty" in code.value for code in app.code)
    assert not any("slice 'code'" in text for text in htmls(app, "jp-text"))


def test_one_class_votes_without_features_get_a_notice_and_no_flattering_number() -> None:
    app = finished("one_class")
    assert sum("Every label is 1" in text for text in htmls(app, "Note:")) == 1
    assert any("no item features" in text for text in htmls(app, "jp-text"))
    matrix = displayed(app.dataframe[0])
    assert (matrix["base rate"].round(3) == 0.693).all()
    assert (matrix["constant score"].round(3) == 0.693).all()
    damaged = displayed(app.dataframe[-1])
    levels = [column for column in damaged if column.startswith("NLL")]
    assert levels
    for name in levels:
        assert min(float(str(value).split()[0]) for value in damaged[name]) > 0.1, name


def test_another_scenario_is_in_the_address_and_needs_no_new_work() -> None:
    finished("one_class")
    app = finished("one_class", damage="Judges absent when scoring")
    assert "of the judges absent at scoring time" in htmls(app, "jp-result")[-1]
    assert not app.get("progress")
