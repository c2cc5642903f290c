"""A choice of pipeline comes along from page to page, and open sections are in the address."""

import re

from playwright.sync_api import Page, expect

from judgepanel.studies.trust.selective import SELECTIVE
from tests.browser.driver import CURVE, address, finished_curve, settled
from tests.browser.service import prepared


def finished(page: Page, n: int = 1) -> None:
    """Wait for the checks, and for the comparison where n is 2."""
    expect(page.get_by_role("button", name="Download CSV")).to_have_count(n)
    settled(page)


def test_a_pipeline_that_is_chosen_comes_along_and_an_open_section_is_in_the_address(
    page, open_page, server
):
    menu = page.get_by_test_id("stSidebar")
    page.goto(address(server, CURVE, prepared(server.home, "clean_pairwise")))
    finished_curve(page)
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    settled(page)
    menu.get_by_role("link", name="Scope").click()
    finished(page)
    page.locator("summary").filter(has_text="Another pipeline").click()
    expect(page.get_by_text("This page shows the recommended panel.")).to_be_visible()
    page.get_by_role("button", name="Show one-coin + beta").click()
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    finished(page)
    menu.get_by_role("link", name="Confidence").click()
    expect(page.get_by_role("heading", name="Confidence", exact=True)).to_be_visible()
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    finished(page)
    page.locator("summary").filter(has_text=SELECTIVE.title).click()
    expect(page).to_have_url(re.compile("selective=true"))
    finished(page, 2)
    visitor = open_page(page.url)
    finished(visitor, 2)
    expect(visitor.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
