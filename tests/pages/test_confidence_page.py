"""The Confidence page: the answer, four sections, an item's votes, nothing flattering."""

import re
from functools import cache

from tests.pages import driver

OPENED = dict.fromkeys(("selective", "conformal", "items"), "true")


@cache
def analysis():
    return driver.prepared("clean_pairwise", splits=4)


def finished():
    return driver.with_downloads(driver.CONFIDENCE, 8, analysis=analysis(), **OPENED)


def test_the_answer_the_sections_the_commands_and_the_next_step_are_there():
    app = finished()
    assert re.match(r"When it says \d+ %( or more)?, it is right \d+ % \[", driver.answer_of(app))
    assert [header.value for header in app.main.get("header")] == ["Reliability"]
    sections = [section.label.partition("**")[2].partition("**")[0] for section in app.expander]
    wanted = ["Selective prediction", "Conformal sets", "Items and difficulty"]
    assert [name for name in sections if name] == wanted
    assert "Every bin." in driver.htmls(app, "jp-reading")
    commands = [code.value for code in app.code if " study " in code.value]
    for name in ("reliability", "selective", "conformal", "items"):
        assert any(f" study {name} " in command for command in commands)
    assert driver.links(app) == ["Next: how many labels do we need?"]


def test_other_bins_levels_strata_and_items_are_shown_without_new_work():
    app = finished()
    assert driver.displayed(app.dataframe[0])["says"].tolist()[-1] == "90-100 %"
    app = driver.open_app(driver.CONFIDENCE, analysis=analysis(), bins="15", **OPENED)
    assert driver.displayed(app.dataframe[0])["says"].tolist()[-1] == "93-100 %"
    assert not app.get("progress")
    app.selectbox(key="item-0").select_index(3).run()
    (votes,) = (frame for frame in app.dataframe if "against the label" in frame.value)
    against = driver.displayed(votes)["against the label"].tolist()
    assert len(against) == 24
    n_against = against.count("yes")
    assert any(f"{n_against} against the label" in text for text in driver.htmls(app, "jp-note"))
