"""A server that is killed during its work, and one that starts again on its data."""

import re
import sqlite3
from contextlib import closing

from playwright.sync_api import expect

from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from judgepanel.words.tables import csv_text
from tests.browser.conftest import PATIENCE
from tests.browser.driver import CURVE, address, downloaded, finished_curve
from tests.browser.service import prepared

SPLITS = 100


def under_way(page):
    """Wait until some of the work is done."""
    bar = page.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", re.compile("[1-9]"))


def test_after_kill_9_in_the_middle_of_work_it_goes_on_to_the_same_bits(
    browser, open_page, start_server
):
    killed = start_server()
    analysis = prepared(killed.home, "hard_panel", SPLITS)
    with closing(browser.new_page()) as page:  # Not watched: it asks in vain for the dead server.
        page.set_default_timeout(PATIENCE)
        page.goto(address(killed, CURVE, analysis))
        under_way(page)
        killed.process.kill()
        killed.process.wait()
    with closing(sqlite3.connect(killed.home / "judgepanel.db")) as rows:
        asked = "SELECT state, (SELECT count(*) FROM partials) FROM jobs"
        ((state, remaining),) = rows.execute(asked).fetchall()
        assert state == "running"
        assert remaining > 0
        rows.execute("UPDATE jobs SET lease_end = lease_end - 3600")  # The server is long dead.
        rows.commit()

    after = open_page(address(start_server(killed.home), CURVE, analysis))
    finished_curve(after)
    votes, settings = load_votes(sample_bytes("hard_panel")).votes, Settings(splits=SPLITS)
    whole = run(PANEL_CURVE, votes, PanelCurveSpec(settings), jobs=2)
    assert downloaded(after, "Download CSV").decode() == csv_text(whole.frame())
