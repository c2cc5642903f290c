"""From an upload to the curve: partial at first, final, cancelled, resumed, shared."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import (
    CURVE,
    address,
    analysis_in,
    answer,
    finished_curve,
    idle,
    say_pairs,
    unfold,
    upload,
)
from tests.browser.service import prepared_votes

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


def drawn(page: Page):
    return page.locator(".js-plotly-plot .scatterlayer")


def _saved_as_svg(page: Page) -> None:
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
    finished_curve(page)


def test_real_votes_become_a_curve_with_intervals_that_anyone_can_open(
    page, server, open_page, real_votes
):
    page.goto(server.url)
    upload(page, real_votes("llmbar_votes.csv"))
    expect(answer(page)).to_have_text("419 items, 65 judges, all labelled, balanced: ready.")
    say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/overview?analysis=*")
    page.goto(address(server, CURVE, analysis_in(page)))
    finished_curve(page)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(answer(page)).to_have_text(re.compile(r"top-5.*NLL \[.*\]"))
    expect(page.get_by_text("95 % interval")).to_be_visible()
    page.locator(".js-plotly-plot").first.hover()
    with page.expect_download() as picture:
        page.locator('[data-title="Download plot as a PNG"]').first.click()
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")
    _saved_as_svg(page)
    sentence, analysis = answer(page).inner_text(), analysis_in(page)

    page.reload()
    expect(answer(page)).to_have_text(sentence)
    assert analysis_in(page) == analysis

    unfold(page)
    page.locator("label, button").get_by_text("temperature", exact=True).click()
    expect(page).to_have_url(re.compile("calibrator=temperature"))
    page.get_by_text("Brier", exact=True).first.click()
    expect(page).to_have_url(re.compile("metric=Brier"))
    page.locator(".ytitle", has_text="Brier score").first.wait_for()
    other = answer(page).inner_text()
    url = page.url

    visitor = open_page(url)
    visitor.locator(".ytitle", has_text="Brier score").first.wait_for()
    expect(answer(visitor)).to_have_text(other)
    visitor.goto(address(server, CURVE, analysis))
    expect(answer(visitor)).to_have_text(sentence)


@pytest.mark.real_votes
def test_a_coarse_curve_grows_without_flicker_is_cancelled_and_run_again(
    page, fresh_server, real_votes
):
    votes = real_votes("rewardbench_votes.csv")
    # More splits than are ever awaited: the work goes on until it is called off.
    analysis = prepared_votes(fresh_server.home, votes.read_bytes(), votes.name, splits=1_000)
    page.goto(address(fresh_server, CURVE, analysis))
    drawn(page).wait_for()
    bar = page.get_by_role("progressbar")
    stopped = page.get_by_text("only those are used")
    page.evaluate(WATCH_FRAMES)
    before, so_far = bar.get_attribute("aria-valuenow") or "", answer(page).inner_text()
    expect(bar).not_to_have_attribute("aria-valuenow", before)
    expect(answer(page)).not_to_have_text(so_far)  # The page was drawn again.
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.evaluate("cancelAnimationFrame(window.frame)")
    assert page.evaluate("window.flicker") == []

    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopping after the current parts").or_(stopped).first.wait_for()
    again = page.get_by_role("button", name="Run again")
    again.wait_for()
    idle(page)  # Until then the page may show the figure twice, as it was and as it is.
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
