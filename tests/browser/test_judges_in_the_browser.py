"""The Judges page in a real browser: one judge's card, whatever the judge is called."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    JUDGES,
    address,
    finished_judges,
    idle,
)
from tests.browser.service import prepared_votes
from tests.browser.test_untrusted_input import NAMES, hostile_votes, injected

pytestmark = pytest.mark.browser


def chooser(page: Page) -> Locator:
    """The list of judges."""
    return page.get_by_role("combobox", name="Judge", exact=True)


def test_a_judge_of_any_name_is_chosen_stays_text_and_is_found_again_by_its_link(
    page: Page, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    analysis = prepared_votes(server.home, hostile_votes(), "v.csv")
    page.goto(address(server, JUDGES, analysis))
    finished_judges(page)
    page.locator(".js-plotly-plot .heatmaplayer").first.wait_for()
    assert injected(page) == []
    first = chooser(page).input_value()
    chooser(page).click()
    options = page.get_by_role("option")
    expect(options).to_have_count(len(NAMES))
    for place in range(len(NAMES)):
        if place:
            chooser(page).click()
        options.nth(place).click()
        idle(page)
        assert injected(page) == []
    chosen = chooser(page).input_value()
    assert chosen != first
    assert "judge=" in page.url
    cold = open_page(page.url)
    page.reload()
    for seen in (page, cold):
        finished_judges(seen)
        expect(chooser(seen)).to_have_value(chosen)
        assert injected(seen) == []
        assert seen.evaluate("window.hacked") is None
    guard.check()
