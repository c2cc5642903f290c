"""The Robustness page in a real browser: the matrix, other views, the link, a quiet console."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Guard, Server
from tests.browser.driver import address, answer, choose, idle, unfold
from tests.browser.service import prepared

pytestmark = pytest.mark.browser

ROBUSTNESS = "robustness"


def finished(page: Page) -> None:
    """Wait for the matrix and the slices."""
    expect(page.get_by_role("heading", name="Corrupted votes")).to_be_visible()


def test_the_matrix_is_shown_other_views_are_in_the_address_and_a_reload_keeps_them(
    page: Page, server: Server, guard: Guard
) -> None:
    analysis = prepared(server.home, "hard_panel")
    page.goto(address(server, ROBUSTNESS, analysis, aggregator="joint"))
    finished(page)
    expect(page.locator(".js-plotly-plot .annotation").first).to_contain_text("base rate 0.6")
    expect(answer(page)).to_contain_text("NLL")
    unfold(page)
    choose(page, page.get_by_role("radio", name="stratified"), "method=stratified")
    choose(page, page.get_by_role("radio", name="Platt"), "calibrator=Platt")
    idle(page)
    page.reload()
    finished(page)
    idle(page)
    unfold(page)
    expect(page.get_by_role("radio", name="Platt")).to_be_checked()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    guard.check()
