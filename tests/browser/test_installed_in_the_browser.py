"""The installed wheel serves the dashboard: from votes to the exported panel, without a mouse."""

import pytest
from playwright.sync_api import expect

from judgepanel.decision.panel_file import load_panel
from tests.browser.conftest import free_port, started
from tests.browser.driver import answer, as_upload, finished_panel, refused, settled, upload
from tests.setup.environment import empty_workbook, installed

FOCUSED = "() => document.activeElement.ariaLabel || document.activeElement.innerText || ''"
FARTHEST = 60
"""Stops of Tab within which a control is reached."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def server(environment):
    port, home = free_port(), environment.work / "data"
    command = environment.command("judgepanel", "app", f"--port={port}", f"--home={home}")
    with started(command, environment.work, environment.environ(), home, port) as running:
        yield running


def tab_to(page, name):
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


def test_votes_become_a_panel_file_by_the_keyboard_that_the_installed_command_scores_with(
    page, server, environment
):
    """Three judges of a shipped sample on 60 items; fewer take less time."""
    rows = environment.sample("clean_pairwise_votes.csv").read_text("utf-8").splitlines()[:61]
    votes = "\n".join(",".join(row.split(",")[:5]) for row in rows)
    (environment.work / "votes.csv").write_text(votes, encoding="utf-8")
    page.goto(server.url)
    page.get_by_role("heading", name="Your votes").wait_for()
    upload(page, as_upload("votes.xlsx", empty_workbook()))
    refused(page, "judgepanel[excel]")
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
    page.wait_for_url("**/overview?analysis=*")
    answer(page).wait_for()
    tab_to(page, "Recommended panel")
    page.keyboard.press("Enter")
    page.wait_for_url("**/recommended_panel?analysis=*")
    finished_panel(page)
    tab_to(page, "Download panel.json")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    exported = download.value.path().read_text("utf-8")
    assert load_panel(exported).model.judges
    (environment.work / "panel.json").write_text(exported, encoding="utf-8")
    scored = environment.output("judgepanel", "score", "panel.json", "votes.csv", "--out", "s.csv")
    assert "60 items scored" in scored
