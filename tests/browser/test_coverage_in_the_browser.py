"""From what judges wrote to a panel curve, and what was read of it, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    address,
    analysis_in,
    answer,
    as_upload,
    downloaded,
    finished_curve,
    finished_judges,
    idle,
    upload,
)
from tests.browser.test_accessibility import RULES, SIDEWAYS
from tests.helpers import transcripts

pytestmark = pytest.mark.browser


def test_outputs_of_llmbar_become_a_panel_curve(
    page: Page, server: Server, guard: Guard, real_votes: Path
) -> None:
    page.goto(server.url)
    upload(page, real_votes / "llmbar_transcripts.jsonl")
    expect(answer(page)).to_contain_text("419 items, 58 judges, all labelled")
    expect(page.get_by_text("97.5 % of 5,345 outputs are read as a verdict")).to_be_visible()
    expect(page.get_by_text("322 outputs are left out")).to_be_visible()
    page.get_by_role("button", name="Analyse", exact=True).click()
    finished_curve(page)
    expect(answer(page)).to_contain_text("58")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Coverage").click()
    expect(answer(page)).to_contain_text("PaLM2/Vanilla_NoRules the least, 83 %")
    assert downloaded(page, "Table as CSV").decode().startswith("judge,outputs,read,rate,bracket")
    guard.check()


def test_what_was_read_and_both_orders_narrow_in_the_dark_with_hostile_outputs(
    open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    page = open_page()
    page.goto(server.url)
    upload(page, as_upload("said.jsonl", transcripts()))
    page.get_by_role("button", name="Analyse", exact=True).click()
    finished_curve(page)
    analysis = analysis_in(page)
    for size in ({}, {"width": 390, "height": 844, "dark": True}):
        looked = open_page(**size)
        looked.goto(address(server, "coverage", analysis))
        expect(answer(looked)).to_contain_text("mute the least, 67 %")
        idle(looked)
        violations = Axe().run(looked, options=RULES).response["violations"]
        assert [(one["id"], [n["html"] for n in one["nodes"]]) for one in violations] == []
        assert not looked.evaluate(SIDEWAYS)
        assert looked.locator("img[src=x]").count() == 0
        looked.goto(address(server, "judges", analysis))
        finished_judges(looked)
        expect(looked.get_by_role("heading", name="In both orders")).to_be_visible()
        idle(looked)
        violations = Axe().run(looked, options=RULES).response["violations"]
        assert [(one["id"], [n["html"] for n in one["nodes"]]) for one in violations] == []
        assert not looked.evaluate(SIDEWAYS)
    guard.check()
