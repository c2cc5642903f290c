"""The Judges page in a real browser: sort, download the table, share one judge's card."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.judges import JUDGES as STUDY
from judgepanel.studies.understand.judges import JudgesSpec
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from judgepanel.words.tables import csv_text
from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    JUDGES,
    address,
    answer,
    downloaded,
    finished_judges,
    idle,
)
from tests.browser.service import prepared, prepared_votes
from tests.browser.test_untrusted_input import NAMES, hostile_votes, injected

pytestmark = pytest.mark.browser


def chooser(page: Page) -> Locator:
    """The list of judges."""
    return page.get_by_role("combobox", name="Judge", exact=True)


def card(page: Page, name: str) -> Locator:
    """The head of one judge's card."""
    return page.locator(".jp-note b").filter(has_text=name)


def test_the_table_downloads_as_the_study_gives_it_and_can_be_sorted(
    page: Page, server: Server, guard: Guard
) -> None:
    page.goto(address(server, JUDGES, prepared(server.home, "hard_panel")))
    finished_judges(page)
    expect(answer(page)).to_contain_text("30 judges are worth about")
    expected = run(
        STUDY, load_votes(sample_bytes("hard_panel")).votes, JudgesSpec(Settings(splits=4)), jobs=1
    )
    assert downloaded(page, "Download CSV").decode() == csv_text(expected.frame())

    table = page.get_by_test_id("stDataFrame").filter(has_text="errs with rest")
    first_cell = table.get_by_test_id("glide-cell-0-0")
    names = expected.frame()["judge"]
    expect(first_cell).to_have_text(names.iloc[0])
    table.scroll_into_view_if_needed()
    for wanted in (names.min(), names.max()):
        table.locator(".dvn-scroller").click(position={"x": 20, "y": 15})
        expect(first_cell).to_have_text(wanted)
    guard.check()


def test_the_judge_in_the_address_survives_a_reload_and_a_cold_link(
    page: Page, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    analysis = prepared(server.home, "clean_pairwise")
    page.goto(address(server, JUDGES, analysis))
    finished_judges(page)
    first = chooser(page).input_value()
    chooser(page).click()
    option = page.get_by_role("option").nth(4)
    other = option.inner_text().strip()
    option.click()
    expect(card(page, other)).to_be_visible()
    assert other != first
    assert f"judge={quote(other)}" in page.url
    page.reload()
    finished_judges(page)
    expect(chooser(page)).to_have_value(other)
    expect(card(page, other)).to_be_visible()
    cold = open_page(address(server, JUDGES, analysis, judge=quote(other)))
    finished_judges(cold)
    expect(card(cold, other)).to_be_visible()
    guard.check()


def test_hostile_judges_stay_text_on_map_card_and_tables(
    page: Page, server: Server, guard: Guard
) -> None:
    analysis = prepared_votes(server.home, hostile_votes(), "v.csv")
    page.goto(address(server, JUDGES, analysis))
    finished_judges(page)
    page.locator(".js-plotly-plot .heatmaplayer").first.wait_for()
    assert injected(page) == []
    chooser(page).click()
    options = page.get_by_role("option")
    expect(options).to_have_count(len(NAMES))
    for place in range(len(NAMES)):
        if place:
            chooser(page).click()
        options.nth(place).click()
        idle(page)
        assert injected(page) == []
    page.reload()
    finished_judges(page)
    assert injected(page) == []
    assert page.evaluate("window.hacked") is None
    guard.check()
