"""The claim page: both protocols, marked boxes, samples, the paper's tables, the command."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.present.paper.claim import JOINT_TITLE
from judgepanel.ui.pages import claim
from judgepanel.ui.session import workspace
from tests.pages.driver import (
    answer_of,
    displayed,
    downloads_of,
    htmls,
    links,
    open_app,
    prepared,
    until,
)

CLAIM = "pages/claim.py"


@cache
def analysis(name: str) -> str:
    return prepared(name, splits=2)


def finished(name: str = "one_class", **parameters: str) -> AppTest:
    app = open_app(CLAIM, analysis=analysis(name), **parameters)
    return until(app, lambda: len(downloads_of(app)) == 2)


def test_without_votes_the_page_says_what_it_shows_and_leads_to_start() -> None:
    app = open_app(CLAIM)
    assert app.info[0].value.startswith("No votes yet. This page shows the paper's protocol")
    assert links(app) == ["Go to Start"]


def test_the_answer_the_sections_the_tables_and_the_command_are_there() -> None:
    app = finished()
    match = re.match(
        r"With one-class coding NLL (\S+), which measures the coding, not the judges; with "
        r"honest labels (\S+) \[",
        answer_of(app),
    )
    assert match
    assert float(match[1]) < 0.05
    assert float(match[2]) > 0.2
    assert [header.value for header in app.main.get("header")] == ["The paper's claim"]
    assert [header.value for header in app.main.get("subheader")] == ["Votes seen jointly"]
    heads = htmls(app, "<h3>")
    assert heads == ["No judge at all", "Step by step", "The paper's tables", "Sources"]
    coded, honest, published, joint = (displayed(frame) for frame in app.dataframe)
    assert set(coded["measures"]) == {"measures the coding, not the judges"}
    assert min(float(value) for value in honest["NLL, all"]) > 0.2
    assert len(published) == 9
    assert joint["step"].tolist()[1] == "joint in place of one-coin"
    assert any("study claim " in code.value for code in app.code)
    assert links(app) == ["Next: which judges, and which pipeline?"]


def test_boxes_of_one_class_coding_say_what_they_measure_and_no_other_text_flatters() -> None:
    app = finished()
    boxes = htmls(app, "Everything in this box measures the coding, not the judges.")
    assert len(boxes) == 4
    sentence = htmls(app, "jp-text")
    assert any("No judge is needed: a score that says one half" in text for text in sentence)
    assert any("arXiv 2310.07641" in text for text in sentence)


def test_a_sample_goes_through_the_same_study_in_place_of_the_votes() -> None:
    app = finished("one_class", votes="A clean pairwise panel")
    assert any("sample_data/clean_pairwise_votes.csv" in code.value for code in app.code)
    own = answer_of(finished("clean_pairwise"))
    assert answer_of(app) == f"Sample 'A clean pairwise panel': {own}"


def test_a_sample_that_was_never_uploaded_is_there_for_owners_and_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path))
    mine = prepared("one_class", splits=2)
    for who, chosen in (
        ({"analysis": mine}, "A clean pairwise panel"),
        ({"share": workspace().share(mine)}, "A hard panel"),
    ):
        app = open_app(CLAIM, votes=chosen, **who)
        until(app, lambda app=app: len(downloads_of(app)) == 2)
        assert any("sample_data/" in code.value for code in app.code)


def test_another_benchmark_can_stand_beside() -> None:
    app = finished("one_class", paper="LLMBar")
    assert "the paper, 53 judges" in displayed(app.dataframe[2])


def test_work_that_ends_while_its_progress_is_drawn_is_followed_up_at_the_next_drawing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = analysis("clean_pairwise")
    monkeypatch.setattr(claim, "show_result", lambda *_: False)
    monkeypatch.setattr(claim, "stored_result", lambda *_: object())
    monkeypatch.setattr(claim, "show_study", pytest.fail)
    assert JOINT_TITLE not in [title.value for title in open_app(CLAIM, analysis=name).subheader]
