"""Links for readers: created, opened by someone else, revoked, expired, wrong."""

import re
from contextlib import closing

import pytest
from playwright.sync_api import expect

from judgepanel.service.sql import SqlWorkspace
from tests.browser.conftest import Server
from tests.browser.driver import (
    CURVE,
    RECOMMENDED,
    address,
    answer,
    downloaded,
    finished_curve,
    finished_panel,
    idle,
)
from tests.browser.service import prepared

NOTHING = "This link does not work: it is incomplete, has expired, or was revoked."


@pytest.fixture(scope="module")
def analysis(server):
    return prepared(server.home, "one_class")


def shared(server: Server, analysis: str, seconds: float | None = None) -> str:
    """A token, made without a page."""
    with closing(SqlWorkspace(home=server.home)) as space:
        return space.share(analysis, seconds)


def test_a_link_is_made_opened_by_another_and_revoked(page, server, analysis, open_page):
    page.goto(address(server, CURVE, analysis, metric="Brier"))
    finished_curve(page)
    sentence = answer(page).inner_text()
    page.get_by_role("button", name="Share").click()
    inside = page.get_by_test_id("stPopoverBody")
    inside.get_by_role("button", name="Create a link for others").click()
    link = inside.locator("code", has_text="share=")
    expect(link).to_have_text(re.compile(rf"^{server.url}/panel_curve\?share=[\w-]{{43}}&metric="))
    expect(inside.locator("code")).to_have_count(1)  # One's own address is no link for others.
    url = link.inner_text()
    token = re.findall("share=([^&]+)", url)[0]

    reader = open_page(url)
    finished_curve(reader)
    expect(answer(reader)).to_have_text(sentence)
    expect(reader.get_by_text("read-only")).to_be_visible()
    for control in ("Share", "New analysis", "Cancel"):
        expect(reader.get_by_role("button", name=control)).to_have_count(0)
        expect(reader.get_by_role("link", name=control)).to_have_count(0)
    idle(reader)
    expect(reader.locator("a[href*='?']").nth(9)).to_be_attached()
    links = reader.locator("a[href*='?']").evaluate_all("e => e.map(a => a.search)")
    assert set(links) == {f"?share={token}"}
    assert analysis not in reader.content()

    reader.goto(address(server, RECOMMENDED, share=token))
    finished_panel(reader)
    idle(reader)
    assert b'"version"' in downloaded(reader, "Download panel.json")
    expect(reader.get_by_role("button", name="Open as a new analysis")).to_have_count(0)
    assert analysis not in reader.content()
    reader.get_by_role("link", name="Start", exact=True).click()
    expect(reader).to_have_url(f"{server.url}/?share={token}")
    answer(reader).wait_for()
    idle(reader)
    for owners in ("Settings of this analysis", "Your votes", "Recent analyses", "Or a sample"):
        expect(reader.get_by_text(owners)).to_have_count(0)
    assert analysis not in reader.content()

    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
    reader.reload()
    reader.get_by_text(NOTHING).wait_for()
    expect(answer(reader)).to_have_count(0)
    assert token not in server.log.read_text(encoding="utf-8")


def test_a_wrong_or_expired_link_and_one_of_a_deleted_analysis_say_the_same(page, server):
    gone = prepared(server.home, "one_class", splits=2)
    deleted, expired = shared(server, gone), shared(server, gone, 0.0)
    with closing(SqlWorkspace(home=server.home)) as space:
        space.delete(gone)
    for token in (deleted, expired, "x" * 43, "%3Cb%3E", ""):
        page.goto(address(server, CURVE, gone, share=token))
        page.get_by_text(NOTHING).wait_for()
        idle(page)
        expect(answer(page)).to_have_count(0)
        expect(page.get_by_role("link", name="New analysis")).to_have_count(0)
