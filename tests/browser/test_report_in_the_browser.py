"""The report of an analysis: decisions, downloads, opened without a network, read by others."""

from contextlib import closing
from pathlib import Path

from playwright.sync_api import Page, expect

from judgepanel.service.sql import SqlWorkspace
from tests.browser.conftest import PATIENCE
from tests.browser.driver import CURVE, address, answer, finished_curve, idle
from tests.browser.service import prepared

WHAT, WHY = "Keep all <b>16</b> judges | for now", "Top-5 is not shown to be better."


def popover(page: Page):
    """The open Report."""
    page.get_by_role("button", name="Report", exact=True).click()
    return page.get_by_test_id("stPopoverBody")


def opened_without_network(page: Page, file: Path, problems: list[str]) -> Page:
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


def pictures_of(report: Page) -> list[bytes]:
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
    page.goto(address(server, CURVE, analysis))
    finished_curve(page)
    idle(page)
    inside = popover(page)
    inside.get_by_label("What was decided").fill(WHAT)
    inside.get_by_label("Why").fill(WHY)
    inside.get_by_role("button", name="Record the decision").click()
    inside.get_by_text("Who decided is missing").wait_for()
    inside.get_by_label("Who decided").fill("Ann")
    inside.get_by_role("button", name="Record the decision").click()
    # Its field holds the same words, so the list is what says that it has been recorded.
    expect(page.locator(".jp-note b").filter(has_text=WHAT)).to_have_count(1)
    idle(page)
    if not inside.is_visible():
        inside = popover(page)
    files = {}
    for form in ("HTML", "Markdown"):
        idle(page)  # A click while the page is redrawn asks for what is no longer there.
        with page.expect_download() as started:
            inside.get_by_role("button", name=f"Download report as {form}").click()
        files[form] = tmp_path / started.value.suggested_filename
        started.value.save_as(files[form])
    assert [file.suffix for file in files.values()] == [".html", ".md"]
    assert "# one&#95;class" in files["Markdown"].read_text("utf-8")

    problems: list[str] = []
    sentence = answer(page).inner_text()
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
    reader = open_page(address(server, CURVE, share=token))
    finished_curve(reader)
    idle(reader)
    inside = popover(reader)
    expect(inside.get_by_text(WHY)).to_be_visible()
    expect(inside.get_by_role("button", name="Download report as HTML")).to_be_visible()
    expect(inside.locator("textarea, input")).to_have_count(0)
    expect(inside.get_by_role("button", name="Record the decision")).to_have_count(0)
    with reader.expect_download() as started:
        inside.get_by_role("button", name="Download report as Markdown").click()
    assert analysis not in Path(started.value.path()).read_text("utf-8")
