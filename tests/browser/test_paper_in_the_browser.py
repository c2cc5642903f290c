"""The paper's page in a real browser: a sample and open sections in the address, axe."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.claim import CLAIM, ClaimSpec
from judgepanel.studies.runner import run
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from judgepanel.words.tables import csv_text
from tests.browser.axe import problems
from tests.browser.conftest import Guard, Server
from tests.browser.driver import PAPER, address, answer, downloaded, finished_paper, idle, pick
from tests.browser.service import prepared

pytestmark = pytest.mark.browser


def test_from_the_menu_to_a_sample_and_back_by_its_address(
    open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    page = open_page()
    page.goto(address(server, "", prepared(server.home, "one_class", splits=2)))
    page.get_by_test_id("stSidebar").get_by_role("link", name="The paper").click()
    finished_paper(page)
    expect(answer(page)).to_contain_text("which measures the coding, not the judges; with honest")
    votes = load_votes(sample_bytes("one_class")).votes
    wanted = run(CLAIM, votes, ClaimSpec(Settings(splits=2)), jobs=1)
    assert downloaded(page, "Download CSV").decode() == csv_text(wanted.frame())
    own = answer(page).inner_text()
    idle(page)  # The download runs the page again, which may take a choice made meanwhile back.
    pick(page, "Votes", "A clean pairwise panel")
    expect(answer(page)).not_to_have_text(own)
    finished_paper(page)
    expect(page).to_have_url(re.compile("votes=A"))
    sentence = answer(page).inner_text()
    narrow = open_page(width=390, height=844, dark=True)
    narrow.goto(page.url)
    finished_paper(narrow)
    expect(answer(narrow)).to_have_text(sentence)
    idle(narrow)
    assert problems(narrow) == []
    guard.check()


def test_a_section_is_computed_when_it_is_opened_and_stays_open_in_the_address(
    page: Page, open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    analysis = prepared(server.home, "clean_pairwise", splits=2)
    page.goto(address(server, PAPER, analysis))
    finished_paper(page)
    title = page.locator("summary").filter(has_text="What calibrators do")
    expect(page.get_by_text("Calibrators drawn")).to_have_count(0)
    title.click()
    finished_paper(page, sections=1)
    expect(page).to_have_url(re.compile("calibrator_design=true"))
    shapes = page.locator("[class*='st-key-calibrator_design-'] .js-plotly-plot .legendtext")
    names = ["uncalibrated", "temperature", "Platt", "beta", "isotonic"]
    expect(shapes).to_have_text(names)
    pick(page, "Aggregator", "majority vote")
    expect(page).to_have_url(re.compile("aggregator=majority"))
    text = page.locator(".jp-text").filter(has_text="with majority vote")
    expect(text).to_be_visible()
    visitor = open_page(page.url)
    finished_paper(visitor, sections=1)
    expect(visitor.locator(".jp-text").filter(has_text="with majority vote")).to_be_visible()
    title.click()
    expect(page.get_by_text("Calibrators drawn")).to_have_count(0)
    guard.check()
