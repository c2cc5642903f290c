"""The Label budget page in a real browser: from the menu, other views, the link, the download."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from judgepanel.report.tables import csv_text
from judgepanel.studies.budget.label_budget import LABEL_BUDGET, LabelBudgetSpec
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from judgepanel.votes import load_votes
from judgepanel.votes.samples import sample_bytes
from tests.browser.conftest import Guard, Server
from tests.browser.driver import LONG, address, answer, downloaded, idle
from tests.browser.service import prepared
from tests.browser.test_accessibility import LOOKS, RULES, SIDEWAYS

pytestmark = pytest.mark.browser

BUDGET = "label_budget"


def finished(page: Page) -> None:
    """Wait for the final curve."""
    page.get_by_role("button", name="Table as CSV").wait_for(timeout=LONG)


def test_the_page_is_in_the_menu_and_its_table_is_the_studys(
    page: Page, server: Server, guard: Guard
) -> None:
    page.goto(address(server, "", prepared(server.home, "clean_pairwise", splits=4)))
    page.get_by_test_id("stSidebar").get_by_role("link", name="Label budget").click()
    finished(page)
    expect(answer(page)).to_contain_text("of what 150 labels give (NLL 0.")
    expect(page.get_by_text("That is extrapolated")).to_be_visible()
    spec = LabelBudgetSpec(Settings(splits=4), panels=(3, 5, 10))
    wanted = run(LABEL_BUDGET, load_votes(sample_bytes("clean_pairwise")).votes, spec, jobs=1)
    assert downloaded(page, "Table as CSV").decode() == csv_text(wanted.frame())
    guard.check()


def test_views_are_in_the_address_and_a_link_shows_them_again(
    page: Page, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    page.goto(address(server, BUDGET, prepared(server.home, "one_class", splits=4)))
    finished(page)
    page.get_by_role("radio", name="top-3").click()
    page.get_by_role("radio", name="temperature").click()
    expect(page).to_have_url(re.compile("panel=top-3"))
    expect(page).to_have_url(re.compile("calibrator=temperature"))
    page.reload()
    finished(page)
    said = answer(page).inner_text()
    narrow = open_page(width=390, height=844)
    narrow.goto(page.url)
    finished(narrow)
    expect(narrow.get_by_role("heading", name="top-3 against all 16")).to_be_visible()
    expect(answer(narrow)).to_have_text(said)
    wide = narrow.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    guard.check()


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(
    look: str, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    width, dark = LOOKS[look]
    page = open_page(width=width, height=900, dark=dark)
    page.goto(address(server, BUDGET, prepared(server.home, "sparse_humans", splits=4)))
    finished(page)
    page.get_by_text("How this was computed").click()
    idle(page)
    violations = Axe().run(page, options=RULES).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in violations] == []
    assert not page.evaluate(SIDEWAYS)
    guard.check()
