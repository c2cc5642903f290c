"""The decision sheet: the printed first page of a report fits A4 and Letter."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from playwright.sync_api import expect

from judgepanel.decision import recommend, recommend_result
from judgepanel.present.recommendation_report import recommendation_report
from judgepanel.render.html import html_text
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.votes import VoteMatrix
from tests.helpers import make_votes, with_judges

Case = Callable[[], tuple[VoteMatrix, recommend_result.Recommendation]]
MARGIN = 12.0
PAPER = {"A4": (210.0, 297.0), "Letter": (215.9, 279.4)}
"""Width and height in millimetres."""
SPEC = recommend.RecommendSpec(Settings(splits=2), folds=3)
MANY = tuple(f"some-provider/model-{n:03d}" for n in range(250))
COMMAND = "./run cli recommend votes.csv " + " ".join(f"--option-{n}=value" for n in range(22))


@cache
def computed(n_judges, *, one_class=False):
    votes = make_votes(3, 80, n_judges, one_class=one_class)
    return votes, run(recommend.RECOMMEND, votes, SPEC, jobs=1)


def small():
    return computed(3)


def crowded():
    """Hundreds of judges, some with long names, an answer with a reservation, many caveats."""
    votes, result = computed(6, one_class=True)
    long = tuple(f"{name}/with-a-system-prompt-that-goes-on-and-on" for name in MANY[:50])
    caveats = tuple(f"Caveat {n} says in a sentence what limits these figures." for n in range(30))
    caveats = (*result.warnings, *caveats)
    votes = with_judges(votes, (*MANY, *long))
    return votes, replace(result, left_out=MANY, set_aside=long, warnings=caveats)


def opened(browser, file, paper, case):
    """The report as it is printed on this paper, in a browser without a network."""
    votes, result = case()
    document = recommendation_report("A panel " * 12, votes, SPEC, result, command=COMMAND)
    file.write_text(html_text(document), "utf-8")
    width, height = (round((side - 2 * MARGIN) / 25.4 * 96) for side in PAPER[paper])
    size = {"width": width, "height": height}
    page = browser.new_context(offline=True, color_scheme="dark", viewport=size).new_page()
    page.goto(file.as_uri())
    page.emulate_media(media="print")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    return page


@pytest.mark.parametrize("paper", PAPER)
def test_the_sheet_fits_the_page_and_nothing_sticks_out(browser, tmp_path, paper):
    for case in (small, crowded):
        page = opened(browser, tmp_path / "report.html", paper, case)
        size, sheet = page.viewport_size, page.locator(".sheet").bounding_box()
        assert sheet["height"] <= size["height"]
        for part in page.locator(".sheet > :not(script)").all():
            box = part.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= size["width"]
            assert box["y"] + box["height"] <= sheet["y"] + sheet["height"] + 0.5
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        page.context.close()


def test_print_is_light_and_has_the_sheet_alone_on_its_first_page(browser, tmp_path):
    """One page more than without the sheet: it neither spills over nor shares its page."""
    page = opened(browser, tmp_path / "report.html", "A4", crowded)

    def style(selector, name):
        code = "(part, name) => getComputedStyle(part).getPropertyValue(name)"
        return str(page.locator(selector).first.evaluate(code, name))

    assert style("body", "background-color") == "rgb(255, 255, 255)"
    assert style(".sheet", "break-after") == "page"
    assert style("figure", "break-inside") == style(".wide", "break-inside") == "avoid"
    expect(page.locator(".sheet ~ h2").first).to_have_text("The evidence")
    whole = pages(page.pdf(format="A4"))
    page.emulate_media(media="screen")
    assert style("body", "background-color") != "rgb(255, 255, 255)"
    page.emulate_media(media="print")
    page.evaluate("document.querySelector('.sheet').remove()")
    assert whole == pages(page.pdf(format="A4")) + 1
    page.context.close()


def pages(pdf):
    """How many pages a PDF has."""
    return pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page/")
