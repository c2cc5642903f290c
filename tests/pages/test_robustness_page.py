"""The Robustness page: the worst first, the matrix, slices, permuted labels, nothing flattering."""

from __future__ import annotations

import re
from functools import cache

from streamlit.testing.v1 import AppTest

from tests.pages.driver import answer_of, displayed, htmls, links, open_app, prepared, until

ROBUSTNESS = "pages/robustness.py"
OWN = ["Easy and hard items", "Slices left out", "Permuted labels"]


@cache
def analysis(name: str) -> str:
    return prepared(name, splits=4 if name == "hard_panel" else 2)


def headers(app: AppTest) -> list[str]:
    return [header.value for header in app.main.get("header")]


def finished(name: str, **parameters: str) -> AppTest:
    """The page once its first three sections are done."""
    default = {"aggregator": "one-coin", "calibrator": "beta"}
    app = open_app(ROBUSTNESS, analysis=analysis(name), **default, **parameters)
    return until(app, lambda: len(headers(app)) > len(OWN))


def test_without_votes_the_page_says_what_it_shows_and_leads_to_start() -> None:
    app = open_app(ROBUSTNESS)
    assert app.info[0].value.startswith("No votes yet. This page shows how a panel fares on other")
    assert links(app) == ["Go to Start"]


def test_sections_come_one_after_the_other_and_the_banner_is_the_worst_of_them() -> None:
    app = finished("hard_panel")
    assert headers(app)[:3] == OWN
    sentence = htmls(app, "jp-text")
    assert "cost NLL on the others" in answer_of(app)
    assert answer_of(app) not in sentence
    assert any(
        "permuted labels the pipeline falls back to the base rate" in text for text in sentence
    )
    commands = [code.value for code in app.code if " study " in code.value]
    for study in ("difficulty_transfer", "slice_transfer", "permutation"):
        assert any(f" study {study} " in command for command in commands)
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
    assert any("Every label is 1" in text for text in htmls(app, "Note:"))
    assert any("no item features" in text for text in htmls(app, "jp-text"))
    matrix = displayed(app.dataframe[0])
    assert (matrix["base rate"].round(3) == 0.693).all()
    assert (matrix["constant score"].round(3) == 0.693).all()
    own = [text for text in htmls(app, "jp-text") if "falls back" in text]
    levels = [float(text) for text in re.findall(r"NLL (\d\.\d+)", " ".join(own))]
    assert levels
    assert min(levels) > 0.1
