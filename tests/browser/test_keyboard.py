"""The main job by the keyboard alone: from votes to the exported panel."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from judgepanel.decision.panel_file import load_panel
from judgepanel.votes.simulate import sample_bytes
from tests.browser.conftest import Guard, Server
from tests.browser.driver import answer, as_upload, finished_panel, settled

pytestmark = pytest.mark.browser

FOCUSED = "() => document.activeElement.ariaLabel || document.activeElement.innerText || ''"
FARTHEST = 60
"""Stops of Tab within which a control is reached."""


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the control of this name has the focus; an icon may precede the name.

    Not before the page is complete: a redraw takes the focus away.
    """
    settled(page)
    passed = []
    while len(passed) < FARTHEST:
        page.keyboard.press("Tab")
        passed.append(page.evaluate(FOCUSED).strip().rpartition("\n")[2])
        if passed[-1] == name:
            return
    raise AssertionError(f"Tab does not reach {name!r}: {passed}")


def test_votes_become_a_panel_file_without_a_mouse(
    page: Page, server: Server, guard: Guard
) -> None:
    rows = sample_bytes("clean_pairwise").decode().splitlines()[:61]
    votes = "\n".join(",".join(row.split(",")[:5]) for row in rows)
    # A chooser that opens before the browser has agreed to hand it over is lost.
    with page.expect_file_chooser() as chooser:
        page.goto(server.url)
        page.get_by_role("heading", name="Your votes").wait_for()
        tab_to(page, "Upload")
        page.keyboard.press("Enter")
    chooser.value.set_files(as_upload("votes.csv", votes))
    expect(answer(page)).to_contain_text("60 items, 3 judges")
    tab_to(page, "Help for What is an item?")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Analyse", exact=True)).to_be_enabled()
    tab_to(page, "Analyse")
    page.keyboard.press("Enter")
    page.wait_for_url("**/panel_curve?analysis=*")
    answer(page).wait_for()
    tab_to(page, "Recommended panel")
    page.keyboard.press("Enter")
    page.wait_for_url("**/recommended_panel?analysis=*")
    finished_panel(page)
    tab_to(page, "Download panel.json")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert load_panel(download.value.path().read_text("utf-8")).model.judges
    guard.check()
