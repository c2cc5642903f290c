"""The paper's page in a real browser: a sample and open sections in the address."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Guard, Server
from tests.browser.driver import address, answer, finished_paper, pick, repeat
from tests.browser.service import prepared

pytestmark = pytest.mark.browser


def test_samples_and_open_sections_are_in_the_address(
    page: Page, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    page.goto(address(server, "", prepared(server.home, "one_class", splits=2)))
    page.get_by_test_id("stSidebar").get_by_role("link", name="The paper").click()
    finished_paper(page)
    own = answer(page).inner_text()
    assert "which measures the coding, not the judges; with honest" in own
    pick(page, "Votes", "A clean pairwise panel")
    expect(answer(page)).not_to_have_text(own)
    finished_paper(page)
    expect(page).to_have_url(re.compile("votes=A"))
    sentence = answer(page).inner_text()
    title = page.locator("summary").filter(has_text="What calibrators do")
    expect(page.get_by_text("Calibrators drawn")).to_have_count(0)
    title.click()
    finished_paper(page, sections=1)
    expect(page).to_have_url(re.compile("calibrator_design=true"))
    shapes = page.locator("[class*='st-key-calibrator_design-'] .js-plotly-plot .legendtext")
    names = ["uncalibrated", "temperature", "Platt", "beta", "isotonic"]
    expect(shapes).to_have_text(names)
    repeat(page, lambda: pick(page, "Aggregator", "majority vote"), "aggregator=majority")
    text = page.locator(".jp-text").filter(has_text="with majority vote")
    expect(text).to_be_visible()
    visitor = open_page(page.url)
    finished_paper(visitor, sections=1)
    expect(answer(visitor)).to_have_text(sentence)
    expect(visitor.locator(".jp-text").filter(has_text="with majority vote")).to_be_visible()
    title.click()
    expect(page.get_by_text("Calibrators drawn")).to_have_count(0)
    guard.check()
