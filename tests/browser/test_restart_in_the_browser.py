"""A server that restarts, is killed during its work, or shares its database."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from judgepanel.words.tables import csv_text
from tests.browser.conftest import PATIENCE, Guard, ServerFactory
from tests.browser.driver import (
    CURVE,
    address,
    answer,
    as_upload,
    downloaded,
    finished_curve,
)
from tests.browser.service import prepared
from tests.service.postgres import programs, running

pytestmark = pytest.mark.browser

SPLITS = 100


def few_votes() -> dict[str, Any]:
    """The first judges on the first items of a sample: what is asked here rests on no votes."""
    lines = sample_bytes("one_class").decode().splitlines()[:121]
    width = lines[0].split(",").index("label") + 7
    cut = "\n".join(",".join(line.split(",")[:width]) for line in lines)
    return as_upload("few_votes.csv", cut)


def under_way(page: Page) -> None:
    """Wait until some of the work is done."""
    bar = page.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", re.compile("[1-9]"))


@pytest.fixture
def database() -> Iterator[str]:
    """The address of a PostgreSQL that nobody has used."""
    result = programs()
    if result is None:
        pytest.skip("no PostgreSQL here; `./run test` installs one as root")
    with running(result) as url:
        yield url


def test_after_kill_9_in_the_middle_of_work_it_goes_on_to_the_same_bits(
    browser: Browser,
    open_page: Callable[..., Page],
    start_server: ServerFactory,
    guard: Guard,
) -> None:
    killed = start_server()
    analysis = prepared(killed.home, "hard_panel", SPLITS)
    with closing(browser.new_page()) as page:  # Not watched: it asks in vain for the dead server.
        page.set_default_timeout(PATIENCE)
        page.goto(address(killed, CURVE, analysis))
        under_way(page)
        killed.process.kill()
        killed.process.wait()
    with closing(sqlite3.connect(killed.home / "judgepanel.db")) as rows:
        ((state, remaining),) = rows.execute(
            "SELECT state, (SELECT count(*) FROM partials) FROM jobs"
        ).fetchall()
        assert state == "running"
        assert remaining > 0
        rows.execute("UPDATE jobs SET lease_end = lease_end - 3600")  # The server is long dead.
        rows.commit()

    after = open_page(address(start_server(killed.home), CURVE, analysis))
    finished_curve(after)
    votes, settings = load_votes(sample_bytes("hard_panel")).votes, Settings(splits=SPLITS)
    whole = run(PANEL_CURVE, votes, PanelCurveSpec(settings), jobs=2)
    assert downloaded(after, "Download CSV").decode() == csv_text(whole.frame())
    guard.check()


def test_two_servers_on_one_postgresql_show_each_others_work(
    open_page: Callable[..., Page], database: str, start_server: ServerFactory, guard: Guard
) -> None:
    first, other = (start_server(env={"JUDGEPANEL_DATABASE_URL": database}) for _ in range(2))
    with closing(SqlWorkspace(database)) as space:
        loaded = load_votes(sample_bytes("one_class"), name="votes.csv")
        analysis = space.create(loaded, Settings(splits=4), "votes.csv").id
    page = open_page(address(first, CURVE, analysis))
    beside = open_page(address(other, CURVE, analysis))
    for seen in (page, beside):
        finished_curve(seen)
    expect(answer(beside)).to_have_text(answer(page).inner_text())
    assert downloaded(beside, "Download CSV") == downloaded(page, "Download CSV")
    guard.check()
