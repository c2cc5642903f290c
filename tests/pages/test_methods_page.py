"""The Methods page: the grid, its controls, and nothing flattering."""

import re
import threading
from dataclasses import replace
from functools import cache

import pytest

from judgepanel.studies.understand.method_grid import METHOD_GRID
from tests.pages import driver

METHODS = "pages/methods.py"


@cache
def analysis():
    return driver.prepared("one_class", splits=4)


def finished(name=None, **parameters):
    """The page with its grid done."""
    return driver.with_downloads(METHODS, 2, analysis=name or analysis(), **parameters)


def test_the_grid_comes_with_a_table_downloads_and_its_command():
    app = finished()
    assert re.search(r"lowest NLL, \d\.\d+ \[.*\] \(base rate: 0\.693\)", driver.answer_of(app))
    assert [header.value for header in app.main.get("header")] == ["Method grid"]
    assert driver.downloads_of(app) == ["Download CSV", "Download JSON"]
    (command,) = [code.value for code in app.code if " study " in code.value]
    assert command.split()[3] == "method_grid"
    assert driver.links(app) == ["Next: do the paper's results hold here?"]


def test_the_nested_form_is_another_result():
    crossed, nested = finished(), finished(form="Nested")
    levels = [driver.displayed(app.dataframe[0])["NLL"].tolist() for app in (nested, crossed)]
    assert levels[0] != levels[1]
    assert "Nested form" in " ".join(driver.htmls(nested, "Note:"))
    assert "--form=nested" in driver.text_of(nested)


@pytest.mark.parametrize("junk", [{"form": "xyz"}, {"score": "<b>"}])
def test_view_state_that_nobody_offered_falls_back(junk):
    assert driver.answer_of(finished(**junk)) == driver.answer_of(finished())
    assert next(iter(junk.values())) not in driver.answer_of(finished(**junk))


def test_a_grid_called_off_keeps_what_there_is(monkeypatch):
    go_on = threading.Event()

    def waiting(votes, spec, chunk):
        assert chunk.first == 0 or go_on.wait(60)
        return METHOD_GRID.run_chunk(votes, spec, chunk)

    slow = replace(METHOD_GRID, run_chunk=waiting)
    monkeypatch.setattr("judgepanel.ui.pages.methods.METHOD_GRID", slow)
    app = driver.open_app(METHODS, analysis=driver.prepared("one_class", splits=11))
    driver.until(app, lambda: driver.htmls(app, "jp-answer"))
    driver.checked(app.button(key="cancel-method_grid").click().run())
    go_on.set()
    driver.until(app, lambda: [w for w in app.warning if w.value.startswith("Cancelled after ")])
    assert "lowest NLL" in driver.answer_of(app)


def test_a_dozen_items_and_three_judges_are_answered_with_their_warnings():
    rows = ["item_id,label,a,b,c"]
    for i in range(12):
        label = i % 2
        rows.append(f"i{i},{label},{label},{label if i % 3 else 1 - label},{i % 4 // 2}")
    app = finished(driver.created("\n".join(rows).encode(), splits=2))
    assert "Only 6 labels calibrate" in " ".join(driver.htmls(app, "Note:"))
    assert "nan" not in driver.text_of(app).lower().replace("dominan", "")
