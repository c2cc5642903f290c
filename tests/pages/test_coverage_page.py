"""The Coverage page, and what other pages say about judges' outputs."""

from functools import cache

from judgepanel.studies.contract import Settings
from judgepanel.ui.session import workspace
from tests.helpers import transcripts
from tests.pages import driver

COVERAGE = "pages/coverage.py"


@cache
def analysis():
    return driver.created(transcripts(), 10, "said.jsonl")


def menu(app):
    return [link.proto.label for link in app.sidebar.get("page_link")]


def test_the_page_says_what_was_read_and_shows_what_was_not():
    app = driver.open_app(COVERAGE, analysis=analysis())
    answer = "88.9 % of 360 outputs are read as a verdict; mute the least, 67 %."
    assert driver.answer_of(app) == answer
    cards = [text for text in driver.htmls(app) if text.startswith("P1 Parse rate of the outputs")]
    assert [card[:36] for card in cards] == ["P1 Parse rate of the outputs: fails."]
    (judges,) = (driver.displayed(frame) for frame in app.dataframe)
    assert judges["judge"].tolist() == ["mute", "steady", "first"]
    assert judges["[[A]]"].tolist() == [0, 120, 0]
    assert judges["no verdict"].tolist() == [40, 0, 0]
    assert "bare last letter" not in judges
    assert any("(row 3, no verdict): <img src=x" in text for text in driver.htmls(app))
    assert driver.downloads_of(app) == ["Download CSV"]
    assert any("inspect said.jsonl" in code.value for code in app.code)
    assert driver.links(app) == ["Next: who adds what?"]


def test_untrusted_outputs_reach_the_page_escaped():
    app = driver.open_app(COVERAGE, analysis=analysis())
    bodies = [element.proto.body for element in app.get("html")]
    assert not any("<img" in body for body in bodies)
    assert any("&lt;img" in body for body in bodies)


def test_the_page_is_in_the_menu_of_outputs_alone_and_says_so_elsewhere():
    assert "Coverage" in menu(driver.open_app(COVERAGE, analysis=analysis()))
    votes = driver.open_app(COVERAGE, analysis=driver.prepared("one_class"))
    assert "Coverage" not in menu(votes)
    assert driver.answer_of(votes) == "The file holds votes, so there are no outputs to read."
    nothing = driver.open_app(COVERAGE)
    assert nothing.info[0].value.startswith("No votes yet. This page shows what was read")


def test_start_leads_to_the_page_and_readers_see_it():
    start = driver.open_app(analysis=analysis())
    assert "See what was read from the outputs" in driver.links(start)
    assert "88.9 % of 360 outputs" in driver.text_of(start)
    reader = driver.open_app(COVERAGE, share=workspace().share(analysis()))
    assert driver.answer_of(reader).startswith("88.9 % of 360 outputs")


def test_judges_show_who_changes_when_the_order_is_turned_round():
    app = driver.until_done(driver.open_app(driver.JUDGES, analysis=analysis()))
    assert "In both orders" in [header.value for header in app.main.get("header")]
    sentence = next(text for text in driver.htmls(app, "jp-text") if "in both orders" in text)
    least = "The least consistent by the upper limit, first, says the same in both on 0 %"
    assert least in sentence
    assert sentence.endswith("1 judge prefers what is shown first.")


def test_other_settings_keep_what_was_read():
    space = workspace()
    opened = space.open(analysis())
    changed = space.with_settings(opened, Settings(splits=11))
    assert changed.coverage == opened.coverage
    assert space.open(changed.id).coverage == opened.coverage
    assert space.rename(changed.id, "other").coverage == opened.coverage
