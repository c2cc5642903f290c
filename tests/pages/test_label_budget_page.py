"""The Label budget page: the answer, both figures, the price of more labels, nothing flattering."""

from __future__ import annotations

import re
from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.driver import answer_of, htmls, links, open_app, prepared, text_of, until

BUDGET = "pages/label_budget.py"


@cache
def analysis(name: str) -> str:
    return prepared(name, splits=4)


def finished(name: str = "clean_pairwise", **parameters: str) -> AppTest:
    app = open_app(BUDGET, analysis=analysis(name), **parameters)
    return until(app, lambda: len(app.get("download_button")) == 2)


def test_without_votes_the_page_says_what_it_shows_and_leads_to_start() -> None:
    app = open_app(BUDGET)
    assert app.info[0].value.startswith("No votes yet. This page shows the NLL against the number")
    assert links(app) == ["Go to Start"]


def test_the_answer_the_price_the_tables_and_the_command_are_there() -> None:
    app = finished()
    assert re.search(r"reach within 5 % of what 150 labels give \(NLL 0\.\d", answer_of(app))
    headers = [header.value for header in app.main.get("header")]
    assert headers == ["top-5 against all 24", "Every budget", "Labels needed"]
    said = htmls(app, "jp-said")
    assert any(text.startswith("You have 300 labels: the next 100 buy you") for text in said)
    assert any("joint p" in text for text in said)
    (command,) = [code.value for code in app.code if " study label_budget " in code.value]
    assert "--panels=3,5,10" in command
    assert links(app) == ["Next: keep all judges, or the top k?"]


def test_the_table_has_nine_budgets_and_the_base_rate_beside_every_level() -> None:
    table = finished().dataframe[0].value
    assert len(table) == 9
    assert (table["base rate"] > 0.69).all()
    assert table["labels"].tolist()[0] == 20


def test_another_panel_is_shown_without_new_work() -> None:
    finished()
    app = open_app(BUDGET, analysis=analysis("clean_pairwise"), panel="top-10")
    assert "top-10 against all 24" in [header.value for header in app.main.get("header")]
    assert not app.get("progress")


def test_one_class_votes_get_a_notice_and_no_flattering_number() -> None:
    app = finished("one_class")
    assert any("Every label is 1" in text for text in htmls(app, "Note:"))
    levels = [float(text) for text in re.findall(r"NLL (\d\.\d+)", text_of(app))]
    assert levels
    assert min(levels) > 0.1
    for name in ("NLL, all 16", "NLL, top-5"):
        table = app.dataframe[0].value
        assert min(float(str(value).split()[0]) for value in table[name]) > 0.1
    assert (app.dataframe[0].value["base rate"].round(3) == 0.693).all()


@pytest.mark.parametrize("name", ["hard_panel", "sparse_humans"])
def test_other_samples_are_shown_too(name: str) -> None:
    assert "you have" in answer_of(finished(name)) or "base rate" in answer_of(finished(name))
