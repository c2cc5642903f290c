"""Links for readers, frames on other sites, and reports that are read by others."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from judgepanel.service.sql import SqlWorkspace
from tests.browser import driver
from tests.browser.conftest import PATIENCE
from tests.browser.service import prepared
from tests.cli.conftest import web_server

NOTHING = "This link does not work: it is incomplete, has expired, or was revoked."


@pytest.fixture(scope="module")
def analysis(server):
    return prepared(server.home, "one_class")


def test_a_link_is_made_opened_by_another_and_revoked(page, server, analysis, open_page):
    page.goto(driver.address(server, driver.CURVE, analysis, metric="Brier"))
    driver.finished_curve(page)
    sentence = driver.answer(page).inner_text()
    page.get_by_role("button", name="Share").click()
    inside = page.get_by_test_id("stPopoverBody")
    inside.get_by_role("button", name="Create a link for others").click()
    link = inside.locator("code", has_text="share=")
    expect(link).to_have_text(re.compile(rf"^{server.url}/panel_curve\?share=[\w-]{{43}}&metric="))
    expect(inside.locator("code")).to_have_count(1)  # One's own address is no link for others.
    url = link.inner_text()
    token = re.findall("share=([^&]+)", url)[0]

    reader = open_page(url)
    driver.finished_curve(reader)
    expect(driver.answer(reader)).to_have_text(sentence)
    expect(reader.get_by_text("read-only")).to_be_visible()
    for control in ("Share", "New analysis", "Cancel"):
        expect(reader.get_by_role("button", name=control)).to_have_count(0)
        expect(reader.get_by_role("link", name=control)).to_have_count(0)
    driver.idle(reader)
    expect(reader.locator("a[href*='?']").nth(9)).to_be_attached()
    links = reader.locator("a[href*='?']").evaluate_all("e => e.map(a => a.search)")
    assert set(links) == {f"?share={token}"}
    assert analysis not in reader.content()

    reader.goto(driver.address(server, driver.RECOMMENDED, share=token))
    driver.finished_panel(reader)
    driver.idle(reader)
    assert b'"version"' in driver.downloaded(reader, "Download panel.json")
    expect(reader.get_by_role("button", name="Open as a new analysis")).to_have_count(0)
    assert analysis not in reader.content()
    reader.get_by_role("link", name="Start", exact=True).click()
    expect(reader).to_have_url(f"{server.url}/?share={token}")
    driver.answer(reader).wait_for()
    driver.idle(reader)
    for owners in ("Settings of this analysis", "Your votes", "Recent analyses", "Or a sample"):
        expect(reader.get_by_text(owners)).to_have_count(0)
    assert analysis not in reader.content()

    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
    reader.reload()
    reader.get_by_text(NOTHING).wait_for()
    expect(driver.answer(reader)).to_have_count(0)
    assert token not in server.log.read_text(encoding="utf-8")


WHAT, WHY = "Keep all <b>16</b> judges | for now", "Top-5 is not shown to be better."


def popover(page):
    """The open Report."""
    page.get_by_role("button", name="Report", exact=True).click()
    return page.get_by_test_id("stPopoverBody")


def opened_without_network(page, file, problems):
    """A file in a visitor's browser that is cut off; what it asks for or complains of is kept."""
    context = page.context.browser.new_context(offline=True)  # type: ignore[union-attr]
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    opened.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda asked: problems.append(asked.url))
    opened.goto(file.as_uri())
    assert problems.pop(0) == file.as_uri()
    return opened


def pictures_of(report):
    """The first bytes of the first figure's downloads."""
    report.locator("[data-figure]").first.hover()
    starts = []
    for form in ("PNG", "SVG"):
        with report.expect_download() as started:
            report.locator(f'[data-title="Download as {form}"]').first.click()
        starts.append(Path(started.value.path()).read_bytes()[:4])
    return starts


def test_a_decision_is_in_the_report_which_opens_without_a_network(
    page, server, open_page, tmp_path
):
    analysis = prepared(server.home, "one_class")
    page.goto(driver.address(server, driver.CURVE, analysis))
    driver.finished_curve(page)
    driver.idle(page)
    inside = popover(page)
    inside.get_by_label("What was decided").fill(WHAT)
    inside.get_by_label("Why").fill(WHY)
    inside.get_by_role("button", name="Record the decision").click()
    inside.get_by_text("Who decided is missing").wait_for()
    inside.get_by_label("Who decided").fill("Ann")
    inside.get_by_role("button", name="Record the decision").click()
    # Its field holds the same words, so the list is what says that it has been recorded.
    expect(page.locator(".jp-note b").filter(has_text=WHAT)).to_have_count(1)
    driver.idle(page)
    if not inside.is_visible():
        inside = popover(page)
    files = {}
    for form in ("HTML", "Markdown"):
        driver.idle(page)  # A click while the page is redrawn asks for what is no longer there.
        with page.expect_download() as started:
            inside.get_by_role("button", name=f"Download report as {form}").click()
        files[form] = tmp_path / started.value.suggested_filename
        started.value.save_as(files[form])
    assert [file.suffix for file in files.values()] == [".html", ".md"]
    assert "# one&#95;class" in files["Markdown"].read_text("utf-8")

    problems: list[str] = []
    sentence = driver.answer(page).inner_text()
    opened = opened_without_network(page, files["HTML"], problems)
    expect(opened.locator(".answer").filter(has_text=sentence)).to_have_count(1)
    expect(opened.get_by_text(WHAT)).to_have_count(1)
    expect(opened.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    figures = opened.locator("[data-figure]")
    assert figures.count() >= 1
    for place in range(figures.count()):
        figures.nth(place).scroll_into_view_if_needed()
    expect(opened.locator(".js-plotly-plot")).to_have_count(figures.count())
    assert pictures_of(opened) == [b"\x89PNG", b"<svg"]
    assert [problem for problem in problems if not problem.startswith(("blob:", "data:"))] == []
    opened.context.close()

    with closing(SqlWorkspace(home=server.home)) as space:
        token = space.share(analysis)
    reader = open_page(driver.address(server, driver.CURVE, share=token))
    driver.finished_curve(reader)
    driver.idle(reader)
    inside = popover(reader)
    expect(inside.get_by_text(WHY)).to_be_visible()
    expect(inside.get_by_role("button", name="Download report as HTML")).to_be_visible()
    expect(inside.locator("textarea, input")).to_have_count(0)
    expect(inside.get_by_role("button", name="Record the decision")).to_have_count(0)
    with reader.expect_download() as started:
        inside.get_by_role("button", name="Download report as Markdown").click()
    assert analysis not in Path(started.value.path()).read_text("utf-8")


@pytest.fixture
def other_site():
    """Serves a page of another site with whatever stands in it: give the body, get its address."""
    content = {"body": ""}
    html = {"Content-Type": "text/html"}
    with web_server(lambda _: (200, html, content["body"].encode())) as port:

        def write(body):
            content["body"] = body
            return f"http://127.0.0.1:{port}/"

        yield write


def test_another_site_frames_what_was_shared_and_reads_nothing(
    server, open_page, other_site, guard
):
    analysis = prepared(server.home, "clean_pairwise")
    with closing(SqlWorkspace(home=server.home)) as space:
        token = space.share(analysis)
    frame = '<iframe src="{}" width="1200" height="800"></iframe>'
    page = open_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    for query in (f"analysis={analysis}&embed=true", f"share={token}", "embed=true"):
        refused.clear()
        with page.expect_event("console", lambda message: "frame" in message.text.lower()):
            page.goto(other_site(frame.format(f"{server.url}/?{query}")))
        assert page.frames[1].get_by_text("judgepanel").count() == 0
    embedded = driver.address(server, driver.CURVE, share=token, embed="true")
    page.goto(other_site(frame.format(embedded)))
    inside = page.frame_locator("iframe")
    inside.locator(".jp-answer").wait_for()
    expect(inside.get_by_text("read-only")).to_be_visible()

    page.goto(other_site("<p>elsewhere</p>"))
    opened = page.evaluate(
        """(url) => new Promise((resolve) => {
            const socket = new WebSocket(url, ["streamlit"]);
            socket.onopen = () => resolve(true);
            socket.onerror = () => resolve(false);
        })""",
        server.url.replace("http", "ws") + "/_stcore/stream",
    )
    assert not opened
    fetched = page.evaluate(
        """(url) => fetch(url, {mode: "no-cors"}).then(() => true, () => false)""",
        server.url + "/_stcore/health",
    )
    assert not fetched
    guard.excuse()
