"""The Scope page in a real browser: the cards, one click to compare, the link."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Guard, Server
from tests.browser.driver import CURVE, address, answer, choose, finished_curve, settled
from tests.browser.service import prepared

pytestmark = pytest.mark.browser

SCOPE = "scope"


def finished(page: Page, n: int = 1) -> None:
    """Wait for the checks, and for the comparison where n is 2."""
    expect(page.get_by_role("button", name="Download CSV")).to_have_count(n)
    settled(page)


def test_the_checks_are_read_compared_and_found_again_by_their_link(
    page: Page, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    page.goto(address(server, SCOPE, prepared(server.home, "hard_panel", splits=2)))
    finished(page, 2)  # What the filter drops is compared unasked: the recommendation keeps it.
    expect(answer(page)).to_contain_text("of 4 checks pass")
    expect(answer(page)).to_contain_text(
        "Safe to use, with 2 reservations: judge 'fam4-judge14' gives a verdict on 51 % of the "
        "items;"
    )
    expect(answer(page)).to_contain_text("without them NLL changes by ")
    expect(page.get_by_text("what the filter drops (2 judges)").first).to_be_visible()
    choose(page, page.get_by_role("radio", name="A cluster"), "group=")
    finished(page, 2)
    narrow = open_page(width=390, height=844, dark=True)
    narrow.goto(page.url)
    finished(narrow, 2)
    expect(narrow.get_by_role("radio", name="A cluster")).to_be_checked()
    before = page.url
    page.get_by_role("button", name="Apply the filter as a new analysis").click()
    expect(page).not_to_have_url(before)
    expect(page.get_by_text("The filter drops no judge.", exact=True)).to_be_visible()
    guard.check()


def test_what_the_curve_shows_by_default_is_no_choice_here_and_a_choice_comes_along(
    page: Page, server: Server, guard: Guard
) -> None:
    menu = page.get_by_test_id("stSidebar")
    page.goto(address(server, CURVE, prepared(server.home, "clean_pairwise")))
    finished_curve(page)
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    settled(page)
    menu.get_by_role("link", name="Scope").click()
    expect(page.get_by_text("This page shows the recommended panel.")).to_be_visible()
    finished(page)
    page.get_by_role("button", name="Show one-coin + beta").click()
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    finished(page)
    menu.get_by_role("link", name="Confidence").click()
    expect(page.get_by_role("heading", name="Confidence", exact=True)).to_be_visible()
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    guard.check()
