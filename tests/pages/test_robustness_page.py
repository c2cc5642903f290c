"""The Robustness page: the worst first, the matrix, slices, damaged votes, nothing flattering."""

from functools import cache

from tests.pages import driver

ROBUSTNESS = "pages/robustness.py"
STUDIES = ("difficulty_transfer", "slice_transfer", "corruption")


OPENED = dict.fromkeys(STUDIES[1:], "true")


@cache
def analysis(name):
    return driver.prepared(name, splits=4 if name == "hard_panel" else 2)


def finished(name, **parameters):
    """The page once its three sections are done."""
    given = {"aggregator": "one-coin", "calibrator": "beta", **OPENED, **parameters}
    return driver.with_downloads(ROBUSTNESS, 2 * len(STUDIES), analysis=analysis(name), **given)


def test_sections_come_one_after_the_other_and_the_banner_is_the_worst_of_them():
    app = finished("hard_panel")
    assert [header.value for header in app.main.get("header")] == ["Easy and hard items"]
    assert "cost NLL on the others" in driver.answer_of(app)
    assert driver.answer_of(app) not in driver.htmls(app, "jp-text")
    commands = [code.value for code in app.code if " study " in code.value]
    assert [command.split()[3] for command in commands] == list(STUDIES)
    assert "nan" not in driver.text_of(app)
    matrix = driver.displayed(app.dataframe[0])
    assert len(matrix) == 18
    assert (matrix["base rate"] > 0.6).all()
    assert driver.links(app) == ["Next: who adds what?"]


def test_views_are_kept_in_the_address_and_another_feature_is_sliced():
    finished("hard_panel")
    app = finished("hard_panel", method="stratified", slices="difficulty")
    (sliced,) = (box for box in app.main.get("selectbox") if box.label == "Slices by")
    assert sliced.value == "difficulty"
    assert any("'difficulty'" in code.value or "difficulty" in code.value for code in app.code)
    assert not any("slice 'code'" in text for text in driver.htmls(app, "jp-text"))


def test_another_scenario_is_in_the_address_and_needs_no_new_work():
    finished("one_class")
    app = finished("one_class", damage="Judges absent when scoring")
    assert "of the judges absent at scoring time" in driver.htmls(app, "jp-result")[-1]
    assert not app.get("progress")
