"""The Methods page in a real browser: the grid, its download, views, a small screen."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGridSpec
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from judgepanel.words.tables import csv_text
from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    METHODS,
    address,
    answer,
    choose,
    downloaded,
    finished_methods,
    idle,
    unfold,
)
from tests.browser.service import prepared

pytestmark = pytest.mark.browser

SPLITS = 4


@pytest.fixture(scope="module")
def server(own_server: Server) -> Server:
    return own_server


@pytest.fixture(scope="module")
def analysis(server: Server) -> str:
    return prepared(server.home, "clean_pairwise", SPLITS)


def chart(page: Page, study: str) -> Locator:
    """The figure of a study."""
    return page.locator(f"[class*='st-key-{study}-'] .js-plotly-plot")


def choice(page: Page, label: str) -> Locator:
    """An option of a segmented control."""
    return page.get_by_test_id("stButtonGroup").get_by_text(label, exact=True)


def written(page: Page) -> Locator:
    """What is written in the cells of the heat map."""
    return chart(page, "method_grid").locator(".annotation-text")


def values(page: Page) -> list[str]:
    """What is written in the cells of the heat map, once it is drawn."""
    cells = written(page)
    cells.first.wait_for(state="attached")
    return cells.all_text_contents()


def test_the_grid_is_downloaded_and_its_views_reach_another_visitor(
    page: Page, server: Server, analysis: str, open_page: Callable[..., Page], guard: Guard
) -> None:
    page.goto(address(server, METHODS, analysis))
    finished_methods(page)
    sentence, cells = answer(page).inner_text(), values(page)
    assert "(base rate: 0.69" in sentence
    assert len(cells) == len(AGGREGATORS) * 9
    expect(chart(page, "method_grid").get_by_text("not told apart from it")).to_be_visible()
    votes, settings = load_votes(sample_bytes("clean_pairwise")).votes, Settings(splits=SPLITS)
    grid = run(METHOD_GRID, votes, MethodGridSpec(settings), jobs=1)
    assert downloaded(page, "Download CSV").decode() == csv_text(grid.frame())
    content = json.loads(downloaded(page, "Download JSON"))
    assert content["summary"]["chosen_nll"] == grid.chosen_nll.value

    unfold(page)
    choose(page, choice(page, "Brier"), "score=Brier")
    expect(page.get_by_text("the darkest cell is the best")).to_be_visible()
    idle(page)
    assert values(page) != cells
    expect(answer(page)).to_have_text(sentence)
    choose(page, choice(page, "Nested"), "form=Nested")
    page.get_by_text("Nested form:").wait_for()
    idle(page)  # Until the script has run, the grid before the change stays.
    finished_methods(page)

    url, other, nested = page.url, answer(page).inner_text(), values(page)
    page.reload()
    visitor = open_page(url)
    for seen in (page, visitor):
        finished_methods(seen)
        expect(answer(seen)).to_have_text(other)
        expect(written(seen)).to_have_text(nested)
    guard.check()


def test_on_a_phone_the_grid_is_a_table_that_scrolls_by_itself(
    open_page: Callable[..., Page], server: Server, analysis: str, guard: Guard
) -> None:
    page = open_page(address(server, METHODS, analysis), width=390, height=844)
    finished_methods(page)
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
    assert head is not None
    assert head["x"] >= 0, "row heads stay in sight"
    page.set_viewport_size({"width": 1200, "height": 844})
    expect(chart(page, "method_grid")).to_be_visible()
    expect(frame).to_be_hidden()
    guard.check()
