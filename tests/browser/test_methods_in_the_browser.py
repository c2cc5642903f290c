"""The Methods page in a real browser: the grid, its download, views, a small screen."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from judgepanel.kernels.aggregation import AGGREGATORS
from tests.browser.driver import METHODS, address, finished_table
from tests.browser.service import prepared

SPLITS = 4


@pytest.fixture(scope="module")
def analysis(server):
    return prepared(server.home, "clean_pairwise", SPLITS)


def chart(page: Page, study: str) -> Locator:
    """The figure of a study."""
    return page.locator(f"[class*='st-key-{study}-'] .js-plotly-plot")


def test_on_a_phone_the_grid_is_a_table_that_scrolls_by_itself(open_page, server, analysis):
    page = open_page(address(server, METHODS, analysis), width=390, height=844)
    finished_table(page)
    expect(chart(page, "method_grid")).to_be_hidden()
    frame = page.get_by_role("region", name=re.compile("^Figure: NLL .*of every aggregator"))
    expect(frame.locator("tbody tr")).to_have_count(len(AGGREGATORS))
    expect(frame.locator("td.jp-best")).to_have_count(1)
    assert frame.evaluate("e => e.scrollWidth > e.clientWidth")
    frame.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.jp-scroll').scrollLeft > 0")
    head = frame.locator("tbody th").first.bounding_box()
    assert head["x"] >= 0, "row heads stay in sight"
    page.set_viewport_size({"width": 1200, "height": 844})
    expect(chart(page, "method_grid")).to_be_visible()
    expect(frame).to_be_hidden()
