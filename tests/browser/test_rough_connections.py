"""Browsers that refuse cookies, and interrupted uploads: one sentence, and nothing is lost."""

import urllib.request

from playwright.sync_api import Route, expect

from tests.browser.conftest import ROOT
from tests.browser.driver import answer, upload

VOTES = ROOT / "sample_data" / "one_class_votes.csv"


def test_an_upload_that_is_cut_off_is_said_and_can_be_sent_again(page, server, guard):
    def cut_off(route: Route) -> None:
        route.abort("connectionreset")

    page.goto(server.url)
    page.get_by_text("What a file looks like").wait_for()
    expect(page.get_by_text("refuses the cookies")).to_have_count(0)
    page.route("**/_stcore/upload_file/**", cut_off)
    upload(page, VOTES)
    uploader = page.get_by_test_id("stFileUploader").first
    uploader.get_by_text("Error").wait_for()
    expect(page.get_by_role("button", name="Analyse")).to_have_count(0)
    page.unroute("**/_stcore/upload_file/**", cut_off)
    # A chooser that opens before the browser has agreed to hand it over is lost.
    with page.expect_file_chooser() as choosing:
        uploader.get_by_role("button", name="Remove one_class_votes.csv").click()
        uploader.get_by_role("button", name="Upload", exact=True).click()
    choosing.value.set_files(VOTES)
    answer(page).wait_for()
    expect(page.get_by_role("button", name="Analyse")).to_be_visible()
    guard.excuse()


def without_cookies(route: Route) -> None:
    """Answer as the server does, but for the cookie that it sets."""
    with urllib.request.urlopen(route.request.url) as response:  # noqa: S310
        del response.headers["Set-Cookie"]
        headers = dict(response.headers.items())
        route.fulfill(status=response.status, headers=headers, body=response.read())


def test_a_browser_that_refuses_cookies_is_told_before_it_uploads(page, server):
    page.route("**/_stcore/health", without_cookies)  # Where Streamlit gives its only cookie.
    page.goto(server.url)
    page.get_by_text("refuses the cookies of this site, so no file can be uploaded").wait_for()
    page.get_by_role("button", name="Every label is 1").click()
    answer(page).wait_for()
    assert page.context.cookies() == []
