"""The Confidence page in a real browser: views in the address, sections one after the other."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import SIDEWAYS
from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    CONFIDENCE,
    address,
    answer,
    choose,
    finished_confidence,
    idle,
    pick,
    unfold,
)
from tests.browser.service import prepared

pytestmark = pytest.mark.browser


def test_controls_move_the_address_and_the_link_shows_the_same_again(
    page: Page, server: Server, guard: Guard
) -> None:
    page.goto(address(server, CONFIDENCE, prepared(server.home, "clean_pairwise")))
    finished_confidence(page)
    expect(answer(page)).to_contain_text("When it says")
    expect(page.get_by_text("This page shows the recommended panel.")).to_be_visible()
    unfold(page)
    pick(page, "Aggregator", "one-coin")
    choose(page, page.get_by_role("radio", name="top-5"), "panel=top-5")
    choose(page, page.get_by_role("radio", name="15", exact=True), "bins=15")
    choose(page, page.get_by_role("radio", name="most contested"), "list=most")
    finished_confidence(page)
    idle(page)
    sentence = answer(page).inner_text()
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    finished_confidence(page)
    expect(answer(page)).to_have_text(sentence)
    assert not page.evaluate(SIDEWAYS)
    guard.check()
