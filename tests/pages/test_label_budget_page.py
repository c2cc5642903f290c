"""The Label budget page: the answer, the figure, the price of more labels, nothing flattering."""

import html
import re
from functools import cache

import pytest

from tests.pages import driver

BUDGET = "pages/label_budget.py"


@cache
def analysis():
    return driver.prepared("clean_pairwise", splits=4)


PIPELINE = {"aggregator": "one-coin", "calibrator": "beta"}
"""The paper's default, which needs no recommendation first."""


def budget(**parameters):
    return driver.open_app(BUDGET, analysis=analysis(), **PIPELINE, **parameters)


def finished(**parameters):
    return driver.with_downloads(BUDGET, 2, analysis=analysis(), **PIPELINE, **parameters)


def sections(app):
    """The titles of what can be opened."""
    return [html.unescape(section.label) for section in app.expander]


def test_the_answer_the_price_the_tables_and_the_command_are_there():
    app = finished()
    end = " bring all 24 within 5 % of what 150 labels give. You have 300: enough."
    assert driver.answer_of(app).endswith(end)
    opened = {"top-5 against all 24", "Labels needed, and the test of all budgets together"}
    assert opened < set(sections(app))
    assert {"Labels needed.", "Every budget."} < set(driver.htmls(app, "jp-reading"))
    assert "The joint test, and the paper's (invalid)" in sections(app)
    sentence = driver.htmls(app, "jp-text")
    assert any(text.startswith("You have 300 labels: the next 100") for text in sentence)
    assert any("joint p" in text for text in sentence)
    (command,) = [code.value for code in app.code if " study label_budget " in code.value]
    assert "--panels=3,5,10" in command
    assert driver.links(app) == ["Next: is the recommendation safe here?"]


def test_another_panel_is_shown_without_new_work():
    finished()
    app = budget(panel="top-10")
    assert "top-10 against all 24" in sections(app)
    assert not app.get("progress")


def test_goals_are_read_without_new_work_and_in_the_command():
    finished()
    app = budget(labels="1000", target="0.5", within="20")
    assert not app.get("progress")
    assert "within 20 % of what 150 labels give" in driver.answer_of(app)
    assert driver.answer_of(app).endswith("You have 1,000: enough.")
    sentence = driver.htmls(app, "jp-text")
    assert any(text.startswith("You have 1,000 labels: the next 100") for text in sentence)
    assert any("bring all 24 to NLL 0.5" in text for text in sentence)
    (command,) = [code.value for code in app.code if " study label_budget " in code.value]
    assert {"--have=1000", "--target=0.5", "--within=0.2"} <= set(command.split())


@pytest.mark.parametrize(
    "state", [{"labels": "-5"}, {"labels": "x"}, {"target": "-1"}, {"within": "900"}]
)
def test_goals_out_of_bounds_in_the_address_are_those_by_default(state):
    finished()
    app = budget(**state)
    assert driver.answer_of(app) == driver.answer_of(finished())
    (command,) = [code.value for code in app.code if " study label_budget " in code.value]
    assert not re.search("--(have|target|within)", command)


def test_a_second_aggregator_gets_a_section_of_its_own():
    app = finished(beside="majority vote")
    compared = [label for label in sections(app) if " against " in label]
    assert compared == ["top-5 against all 24", "all 24 by majority against all 24 by one-coin"]
    tables = [driver.displayed(frame) for frame in app.dataframe if "verdict" in frame.value]
    assert "NLL, all 24 by majority" in tables[1]
    assert not tables[1]["verdict"].str.contains("keep|curat").any()
