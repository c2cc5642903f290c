"""The Label budget page in a real browser: from the menu, other views, the link, the download."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    BUDGET,
    address,
    answer,
    choose,
    finished_budget,
    unfold,
)
from tests.browser.service import prepared

pytestmark = pytest.mark.browser


def test_views_are_in_the_address_and_a_link_shows_them_again(
    page: Page, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    analysis = prepared(server.home, "one_class")
    page.goto(address(server, BUDGET, analysis, aggregator="one-coin"))
    finished_budget(page)
    unfold(page)
    choose(page, page.get_by_role("radio", name="top-3"), "panel=top-3")
    choose(page, page.get_by_role("radio", name="temperature"), "calibrator=temperature")
    mine = page.get_by_role("spinbutton", name="Your number of labels")
    mine.fill("900")
    mine.press("Enter")
    expect(page.get_by_text("You have 900 labels: the next 100")).to_be_visible()
    expect(page).to_have_url(re.compile("labels=900"))
    page.reload()
    finished_budget(page)
    sentence = answer(page).inner_text()
    narrow = open_page(width=390, height=844)
    narrow.goto(page.url)
    finished_budget(narrow)
    expect(narrow.get_by_role("heading", name="top-3 against all 16")).to_be_visible()
    expect(answer(narrow)).to_have_text(sentence)
    assert sentence.endswith("You have 900.")
    wide = narrow.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    guard.check()
