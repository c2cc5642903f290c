"""From an upload to the curve, its tables and its pipeline: partial, cancelled, on a phone."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Position, expect

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.studies.trust.selective import SELECTIVE
from tests.browser import driver
from tests.browser.service import prepared, prepared_votes

# In every painted frame: are the answer and the figure there, does the page keep its height?
WATCH_FRAMES = """() => {
  const main = document.querySelector('[data-testid=stMain]'), tall = main.scrollHeight;
  window.flicker = [];
  const look = () => {
    const answers = main.querySelectorAll('.jp-answer').length;
    const plots = main.querySelectorAll('.js-plotly-plot .scatterlayer').length;
    if (!answers || !plots || main.scrollHeight < 0.9 * tall)
      window.flicker.push([answers, plots, main.scrollHeight, tall]);
    window.frame = requestAnimationFrame(look);
  };
  look();
}"""


def drawn(page):
    return page.locator(".js-plotly-plot .scatterlayer")


def _saved_as_svg(page):
    """The toolbars of this page's figures, and of the next page's, save SVG once it is chosen."""
    page.get_by_role("button", name="Report").click()
    page.get_by_text("SVG", exact=True).click()
    page.keyboard.press("Escape")
    camera = page.locator('[data-title="Download plot"]').first
    camera.wait_for(state="attached")
    page.locator(".js-plotly-plot").first.hover()
    with page.expect_download() as picture:
        camera.click()
    assert Path(picture.value.path()).read_bytes().startswith(b"<svg")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Judges", exact=True).click()
    page.wait_for_url("**/judges?analysis=*")
    camera.wait_for(state="attached")
    page.go_back()
    driver.finished_curve(page)


def test_real_votes_become_a_curve_with_intervals_that_anyone_can_open(
    page, server, open_page, real_votes
):
    page.goto(server.url)
    driver.upload(page, real_votes("llmbar_votes.csv"))
    expect(driver.answer(page)).to_have_text("419 items, 65 judges, all labelled, balanced: ready.")
    driver.say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/overview?analysis=*")
    page.goto(driver.address(server, driver.CURVE, driver.analysis_in(page)))
    driver.finished_curve(page)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(driver.answer(page)).to_have_text(re.compile(r"top-5.*NLL \[.*\]"))
    expect(page.get_by_text("95 % interval")).to_be_visible()
    page.locator(".js-plotly-plot").first.hover()
    with page.expect_download() as picture:
        page.locator('[data-title="Download plot as a PNG"]').first.click()
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")
    _saved_as_svg(page)
    sentence, analysis = driver.answer(page).inner_text(), driver.analysis_in(page)

    page.reload()
    expect(driver.answer(page)).to_have_text(sentence)
    assert driver.analysis_in(page) == analysis

    driver.unfold(page)
    page.locator("label, button").get_by_text("temperature", exact=True).click()
    expect(page).to_have_url(re.compile("calibrator=temperature"))
    page.get_by_text("Brier", exact=True).first.click()
    expect(page).to_have_url(re.compile("metric=Brier"))
    page.locator(".ytitle", has_text="Brier score").first.wait_for()
    other = driver.answer(page).inner_text()
    visitor = open_page(page.url)
    visitor.locator(".ytitle", has_text="Brier score").first.wait_for()
    expect(driver.answer(visitor)).to_have_text(other)
    visitor.goto(driver.address(server, driver.CURVE, analysis))
    expect(driver.answer(visitor)).to_have_text(sentence)


@pytest.mark.real_votes
def test_a_coarse_curve_grows_without_flicker_is_cancelled_and_run_again(
    page, fresh_server, real_votes
):
    votes = real_votes("rewardbench_votes.csv")
    # More splits than are ever awaited: the work goes on until it is called off.
    analysis = prepared_votes(fresh_server.home, votes.read_bytes(), votes.name, splits=1_000)
    page.goto(driver.address(fresh_server, driver.CURVE, analysis))
    drawn(page).wait_for()
    bar = page.get_by_role("progressbar")
    stopped = page.get_by_text("only those are used")
    page.evaluate(WATCH_FRAMES)
    before, so_far = bar.get_attribute("aria-valuenow") or "", driver.answer(page).inner_text()
    expect(bar).not_to_have_attribute("aria-valuenow", before)
    expect(driver.answer(page)).not_to_have_text(so_far)  # The page was drawn again.
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.evaluate("cancelAnimationFrame(window.frame)")
    assert page.evaluate("window.flicker") == []

    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopping after the current parts").or_(stopped).first.wait_for()
    again = page.get_by_role("button", name="Run again")
    again.wait_for()
    driver.idle(page)  # Until then the page may show the figure twice, as it was and as it is.
    expect(stopped).to_be_visible()
    expect(drawn(page)).to_be_visible()
    assert page.get_by_role("button", name="Download CSV").count() == 0
    page.reload()
    expect(again).to_be_visible()
    again.click()
    page.get_by_role("button", name="Cancel").wait_for()
    expect(stopped).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    again.wait_for()


def test_on_a_phone_the_sidebar_opens_leads_on_and_closes(open_page, server):
    page = open_page(server.url, width=390, height=844)
    sidebar = page.get_by_test_id("stSidebar")
    expect(page.get_by_role("button", name="A clean pairwise panel")).to_be_visible()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    sidebar.get_by_role("link", name="Panel curve").click()
    expect(page.get_by_text("No votes yet.")).to_be_visible()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    page.get_by_role("button", name="Collapse sidebar").click()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    page.get_by_role("link", name="Go to Start").click()
    expect(page.get_by_role("heading", name="Your votes")).to_be_visible()


STEP = 40
"""Pixels: no column is narrower."""
_ROWS = """e => [...e.querySelectorAll('table[role=grid] tr')].map(
    row => [...row.children].map(cell => cell.textContent))"""

_ALL_TOLD = """() => {
    const lines = [...document.querySelectorAll('.jp-further')];
    const told = line => line.getBoundingClientRect().height > 0;
    const wide = line => parseFloat(line.style.getPropertyValue('--table'))
        > line.parentElement.clientWidth;
    return lines.some(told) && lines.every(line => told(line) === wide(line)); }"""


def rows(grid):
    """What a table tells a screen reader: its heads and then its cells, by rows."""
    cells: list[list[str]] = grid.evaluate(_ROWS)
    return cells


def sort_by(grid, heading):
    """Click along the heads of the columns until this one sorts the rows upwards.

    Return where that is: another click there sorts them downwards.
    """
    heads = grid.locator("table[role=grid] tr").first
    scroller = grid.locator(".dvn-scroller")
    box = scroller.bounding_box()
    for x in range(STEP // 2, int(box["width"]), STEP):
        place: Position = {"x": x, "y": 15}
        scroller.click(position=place)
        try:
            expect(heads).to_contain_text(f"↑ {heading}", timeout=1_000)
        except AssertionError:  # Another column, or the line between two.
            continue
        return place
    raise AssertionError(f"no column {heading} in sight")


def column(grid, heading):
    """The numbers of a column from top to bottom, as far as rows are drawn."""
    heads, *body = rows(grid)
    place = [head.lstrip("↑↓ ") for head in heads].index(heading)
    return [float(row[place].replace("Infinity", "inf")) for row in body]


def test_estimates_sort_by_number_and_there_is_no_raw_csv(page, server):
    page.goto(driver.address(server, driver.CURVE, prepared(server.home, "hard_panel")))
    driver.finished_curve(page)
    heading = "NLL 95 %"
    grid = page.get_by_test_id("stDataFrame").filter(has_text=heading).first
    grid.scroll_into_view_if_needed()
    place = sort_by(grid, heading)
    upwards = column(grid, heading)
    assert upwards == sorted(upwards)
    grid.locator(".dvn-scroller").click(position=place)
    expect(grid.locator("table[role=grid] tr").first).to_contain_text(f"↓ {heading}")
    downwards = column(grid, heading)
    assert downwards == sorted(downwards, reverse=True)
    assert downwards != upwards
    grid.hover()
    toolbar = page.get_by_test_id("stElementToolbar").filter(has=page.get_by_label("Search"))
    expect(toolbar.get_by_label("Fullscreen").first).to_be_visible()
    expect(page.get_by_label("Download as CSV")).to_have_count(0)
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    driver.finished_curve(page)
    driver.idle(page)
    page.wait_for_function(_ALL_TOLD)


def test_a_pipeline_that_is_chosen_comes_along_and_an_open_section_is_in_the_address(
    page, open_page, server
):
    menu = page.get_by_test_id("stSidebar")
    page.goto(driver.address(server, driver.CURVE, prepared(server.home, "clean_pairwise")))
    driver.finished_curve(page)
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    driver.settled(page)
    menu.get_by_role("link", name="Scope").click()
    driver.finished_table(page)
    average = "This page shows the recommended panel: all 24 judges."
    expect(page.get_by_text(average)).to_be_visible()
    page.locator("summary").filter(has_text="Another pipeline").click()
    page.get_by_role("button", name="Show one-coin + beta").click()
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    driver.finished_table(page)
    menu.get_by_role("link", name="Confidence").click()
    expect(page.get_by_role("heading", name="Confidence", exact=True)).to_be_visible()
    expect(page.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()
    driver.finished_table(page)
    page.locator("summary").filter(has_text=SELECTIVE.title).click()
    expect(page).to_have_url(re.compile("selective=true"))
    driver.finished_table(page, 2)
    visitor = open_page(page.url)
    driver.finished_table(visitor, 2)
    expect(visitor.get_by_text("This page shows one-coin + beta, which is not")).to_be_visible()


SPLITS = 4


@pytest.fixture(scope="module")
def analysis(server):
    return prepared(server.home, "clean_pairwise", SPLITS)


def chart(page, study):
    """The figure of a study."""
    return page.locator(f"[class*='st-key-{study}-'] .js-plotly-plot")


def test_on_a_phone_the_grid_is_a_table_that_scrolls_by_itself(open_page, server, analysis):
    page = open_page(driver.address(server, driver.METHODS, analysis), width=390, height=844)
    driver.finished_table(page)
    expect(chart(page, "method_grid")).to_be_hidden()
    frame = page.get_by_role("region", name=re.compile("^Figure: NLL .*of every aggregator"))
    expect(frame.locator("tbody tr")).to_have_count(len(AGGREGATORS))
    expect(frame.locator("td.jp-best")).to_have_count(1)
    assert frame.evaluate("e => e.scrollWidth > e.clientWidth")
    frame.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.jp-scroll').scrollLeft > 0")
    head = frame.locator("tbody th").first.bounding_box()
    assert head["x"] >= 0, "row heads stay in sight"
    page.set_viewport_size({"width": 1200, "height": 844})
    expect(chart(page, "method_grid")).to_be_visible()
    expect(frame).to_be_hidden()
