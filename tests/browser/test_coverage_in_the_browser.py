"""From judges' outputs to a panel curve, and what was read of them, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import looks, problems
from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    address,
    analysis_in,
    answer,
    as_upload,
    downloaded,
    finished_judges,
    upload,
)
from tests.helpers import transcripts

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(own_server: Server) -> Server:
    return own_server


def test_what_was_read_and_both_orders_narrow_in_the_dark_with_hostile_outputs(
    open_page: Callable[..., Page], server: Server, guard: Guard
) -> None:
    page = open_page()
    page.goto(server.url)
    upload(page, as_upload("said.jsonl", transcripts()))
    page.get_by_role("button", name="Analyse", exact=True).click()
    page.wait_for_url("**/overview?analysis=*")
    analysis = analysis_in(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Coverage").click()
    expect(answer(page)).to_contain_text("mute the least, 67 %")
    assert downloaded(page, "Download CSV").decode().startswith("judge,outputs,read,rate,bracket")
    result = [problem for _ in looks(page) for problem in problems(page)]
    assert page.locator("img[src=x]").count() == 0
    page.goto(address(server, "judges", analysis))
    finished_judges(page)
    expect(page.get_by_role("heading", name="In both orders")).to_be_visible()
    result += [problem for _ in looks(page) for problem in problems(page)]
    assert result == []
    guard.check()
