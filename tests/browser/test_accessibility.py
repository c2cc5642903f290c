"""Every page, empty and filled, light and dark, wide and narrow: axe, and no sideways scroll."""

import pytest
from playwright.sync_api import expect

from tests.browser import driver
from tests.browser.axe import looks, problems
from tests.browser.service import prepared, prepared_votes
from tests.helpers import transcripts


@pytest.fixture(scope="module")
def server(own_server):
    return own_server


@pytest.fixture(scope="module")
def analysis(server):
    return prepared(server.home, "one_class", splits=2)


def states(page, server, analysis):
    """Bring the page into one state after the other."""
    page.goto(server.url)
    page.get_by_role("button", name="A hard panel").wait_for()
    yield "start, empty"
    yield from of_home(page, server, analysis)
    page.goto(driver.address(server, driver.CURVE))
    page.get_by_text("No votes yet.").wait_for()
    yield "curve, empty"
    page.goto(driver.address(server, "", "x" * 22))
    page.get_by_text("There is no analysis behind this link").wait_for()
    yield "unknown link"
    page.goto(driver.address(server, "", analysis))
    driver.answer(page).wait_for()
    page.locator(".js-plotly-plot .barlayer").first.wait_for()
    yield "start, filled"
    page.get_by_text("Settings of this analysis").click()
    page.get_by_role("button", name="Apply as a new analysis").wait_for()
    yield "start, settings"
    page.goto(driver.address(server, driver.OVERVIEW, analysis))
    driver.finished_overview(page)
    yield "overview, filled"
    page.goto(driver.address(server, driver.CURVE, analysis))
    driver.finished_curve(page)
    page.get_by_text("How this was computed").click()
    yield "curve, filled"
    page.get_by_role("button", name="Share").click()
    page.get_by_test_id("stPopoverBody").wait_for()
    yield "curve, share"
    yield from of_studies(page, server, analysis)
    outputs = prepared_votes(server.home, transcripts(), "said.jsonl", splits=2)
    page.goto(driver.address(server, "coverage", outputs))
    expect(driver.answer(page)).to_contain_text("mute the least, 67 %")
    driver.settled(page)
    yield "coverage of outputs"
    page.goto(driver.address(server, driver.JUDGES, outputs))
    driver.finished_table(page)
    expect(page.get_by_role("heading", name="In both orders")).to_be_visible()
    yield "judges in both orders"


STUDIES = {
    driver.JUDGES: (),
    driver.METHODS: (),
    driver.PAPER: ("calibrator_design", "jury"),
    "robustness": ("slice_transfer", "corruption"),
    "scope": (),
    driver.BUDGET: (),
    driver.CONFIDENCE: ("selective", "conformal", "items"),
}
"""Pages of studies and the sections that are opened, each with its table."""


def of_studies(page, server, analysis):
    """Pages of studies with all that they show unasked."""
    opened = dict.fromkeys(("ways", "why-this-panel", "what-if"), "true")
    page.goto(driver.address(server, driver.RECOMMENDED, analysis, **opened))
    driver.finished_panel(page)
    yield "panel, filled"
    for name, sections in STUDIES.items():
        page.goto(driver.address(server, name, analysis, **dict.fromkeys(sections, "true")))
        driver.finished_table(page, 1 + len(sections))
        if name == driver.METHODS:
            page.get_by_text("How this was computed").first.click()
        yield f"{name}, filled"


def of_home(page, server, analysis):
    """The list with its popovers open, and two analyses side by side."""
    other = prepared(server.home, "clean_pairwise", splits=2)
    page.goto(server.url)
    page.get_by_text("Compare two analyses").click()
    page.get_by_role("combobox", name="After").wait_for()
    for name in ("Rename", "Delete"):
        page.get_by_role("button", name=name).first.click()
        page.get_by_test_id("stPopoverBody").get_by_role("button").wait_for()
        yield f"home, {name}"
        page.keyboard.press("Escape")
    page.goto(driver.address(server, "", analysis, compare=other))
    driver.finished_comparison(page)
    yield "comparison"


def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(page, server, analysis):
    result: list[str] = []
    for state in states(page, server, analysis):
        for look in looks(page):
            result += [f"{state}, {look}: {problem}" for problem in problems(page)]
    assert not result, "\n".join(result)


FIRST_SCREEN = 900
MOST_WORDS = 120
WORDS = """(height) => {
  const main = document.querySelector('[data-testid=stMainBlockContainer]');
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  const apart = '.js-plotly-plot, script, style, canvas, .jp-strip, [data-testid=stPopover]';
  let n = 0;
  while (texts.nextNode()) {
    const text = texts.currentNode, holder = text.parentElement;
    if (holder.closest(apart) || !holder.checkVisibility()) continue;
    if (getComputedStyle(holder).fontFamily.includes('Material')) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    if (box.height && box.width > 1 && box.top < height)
      n += text.textContent.split(/\\s+/).filter(word => /[A-Za-z]/.test(word)).length;
  }
  return n;
}"""
"""Words that are visible above a height, without those of figures, icons and closed sections."""


def test_the_first_screen_of_a_page_that_people_decide_with_is_short(page, server):
    analysis = prepared(server.home, "clean_pairwise", splits=10)
    page.set_viewport_size({"width": 1440, "height": FIRST_SCREEN})
    finished = {
        driver.OVERVIEW: driver.finished_overview,
        driver.RECOMMENDED: driver.finished_panel,
        "scope": driver.finished_table,
        driver.BUDGET: driver.finished_table,
    }
    n_words = {}
    for name, wait in finished.items():
        page.goto(driver.address(server, name, analysis))
        wait(page)
        driver.settled(page)
        n_words[name] = page.evaluate(WORDS, FIRST_SCREEN)
    assert all(10 < n <= MOST_WORDS for n in n_words.values()), sorted(n_words.items())
