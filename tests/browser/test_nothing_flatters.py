"""One-class votes under the default protocol: no page of the menu shows a flattering figure."""

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import expect

from judgepanel.present.pages import PAGES as MENU
from judgepanel.present.pages import PAPER_PAGE
from judgepanel.present.registry import entries_of
from judgepanel.studies.paper.claim import CLAIM
from judgepanel.ui.frame import START
from tests.browser.driver import address, answer, finished_comparison
from tests.browser.flattery import MARK, figures_of, flattering, in_sentence, in_table, in_trace
from tests.browser.service import prepared_votes

PAGES = (START, *(page.file for page in MENU))
PAPER = PAPER_PAGE.file
SECTIONS = {entry.name: "true" for entry in entries_of(PAPER_PAGE) if entry.name != CLAIM.name}
OPENED = ("ways", "why-this-panel", "what-if", "value", "cost")
ASKED_FOR = {"pages/recommended_panel.py": dict.fromkeys(OPENED, "true"), PAPER: SECTIONS}
"""Sections that are computed when asked for are read as well."""
LEVELS = ("pages/panel_curve.py", "pages/label_budget.py", "pages/methods.py", PAPER)
N_ITEMS, N_JUDGES = 120, 14
# Idle, no progress bar, no skeleton, for ten looks in a row: studies follow each other on a page.
SETTLED = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  const rests = app.getAttribute('data-test-script-state') === 'notRunning'
    && !document.querySelector('[data-testid=stProgress], [data-testid=stSkeleton], '
      + '[data-testid=stStatusWidget], [data-stale=true]')
    && document.querySelector('.jp-answer') !== null;
  window.rested = rests ? (window.rested || 0) + 1 : 0;
  return window.rested >= 10;
}"""
UNMARK = f"""() => {{
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {{
    const node = walker.currentNode;
    node.textContent = node.textContent.replaceAll('{MARK}', 'measures');
  }}
}}"""


@pytest.fixture(scope="module")
def server(own_server):
    return own_server


def part_of(path):
    """Some judges on harder items of the file, as CSV; all labels are 1, one judge is a broken run.

    Harder items, so that no judge is right on all of so few: what flatters is then the coding.
    """
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    label = head.index("label")
    rows = sorted(rows, key=lambda row: row[label + 1 :].count("1"))[: len(rows) // 3]
    rows = rows[:: len(rows) // N_ITEMS][:N_ITEMS]
    judges = [i for i, name in enumerate(head) if i > label and not name.startswith("feat_")]
    broken = [i for i in judges if {row[i] for row in rows} <= {"0", ""}]
    remaining = sorted({*range(label + 1), *broken, *judges[:: len(judges) // N_JUDGES][:N_JUDGES]})
    assert {row[label] for row in rows} == {"1"}
    assert broken
    out = io.StringIO()
    csv.writer(out).writerows([row[i] for i in remaining] for row in (head, *rows))
    return out.getvalue().encode()


@pytest.fixture(scope="module")
def votes(real_votes):
    return part_of(real_votes("rewardbench_correctness_votes.csv"))


@pytest.fixture(scope="module")
def analysis(server, votes):
    return analysed(server, votes)


def analysed(server, votes, **settings):
    return prepared_votes(server.home, votes, "one_class_votes.csv", splits=2, **settings)


def settled(page, url):
    """Open a page and wait until all it computes is there."""
    page.goto(url)
    answer(page).first.wait_for()
    page.wait_for_function(SETTLED, polling=50)


@pytest.mark.real_votes
def test_no_page_shows_a_flattering_figure_that_is_not_marked(open_page, server, votes, analysis):
    page = open_page(height=6000)
    by_name = {}
    for name in PAGES:
        path = "" if name == START else Path(name).stem
        settled(page, address(server, path, analysis, **ASKED_FOR.get(name, {})))
        by_name[name] = figures_of(page)
    other = analysed(server, votes, orientation="randomized")
    settled(page, address(server, "", analysis, compare=other))
    finished_comparison(page)
    by_name["comparison"] = figures_of(page)
    assert {
        name: flattering(all_of) for name, all_of in by_name.items() if flattering(all_of)
    } == {}
    for name in (*LEVELS, "comparison"):
        assert len([entry for entry in by_name[name] if entry.kind == "nll"]) > 5, name
    assert {name for name in PAGES if any(entry.marked for entry in by_name[name])} == {PAPER}


@pytest.mark.real_votes
def test_the_reader_finds_what_flatters_in_sentences_tables_and_figures(
    open_page, server, votes, analysis
):
    page = open_page(height=6000)
    settled(page, address(server, "claim", analysis))
    for title in ("No judge at all", "Step by step"):
        page.locator("summary").filter(has_text=title).first.click()
    expect(page.get_by_text("one half for every item gets NLL")).to_be_visible()
    steps = page.locator("table[role=grid]").filter(has_text="the paper")
    steps.first.wait_for(state="attached")
    assert flattering(figures_of(page)) == []
    marked = [figure for figure in figures_of(page) if figure.marked and figure.flatters]
    assert marked
    page.evaluate(UNMARK)
    expect(page.get_by_text(MARK)).to_have_count(0)
    where = " ".join(outcome.where for outcome in flattering(figures_of(page)))
    places = ("one half for every item gets NLL 0.02", 'NLL, top-3: ["the paper', "figure, NLL")
    for place in places:
        assert place in where
    settled(page, address(server, "panel_curve", analysed(server, votes, protocol="paper")))
    kinds = {outcome.where[:6] for outcome in flattering(figures_of(page))}
    assert "figure" in kinds


@pytest.mark.parametrize(
    "text",
    [
        "Keep 61, drop 2; expected NLL 0.012 [0.01, 0.02] on new items.",
        "The panel has NLL of .004.",
        "All judges: accuracy 99.6 %.",
        "Decisions are accurate in 100 % of cases.",
        "All judges: skill 97 %.",
    ],
)
def test_sentences_that_flatter(text):
    assert len(flattering(in_sentence(text))) == 1
    assert flattering(in_sentence(text, marked=True)) == []


@pytest.mark.parametrize(
    "text",
    [
        "All 65 beat the best 5: top-5 costs +0.01 NLL [0.005, 0.015].",
        "Top-5 changes NLL by -0.013 [-0.02, -0.01].",
        "Expected NLL 0.22 [0.20, 0.24] on new items.",
        "When it says 90 %, accuracy 99.5 %.",
        "The easiest third of the items has NLL 0.01.",
        "Accuracy 93 %, skill 60 %, margin 2 % of NLL.",
    ],
)
def test_sentences_that_do_not_flatter(text):
    assert flattering(in_sentence(text)) == []


def test_tables_and_figures_that_flatter_and_that_do_not():
    head = ["panel", "NLL", "NLL 95 %", "skill", "difference"]
    assert flattering(in_table([head, ["all", "0.211", "[0.01, 0.3]", "69 %", "+0.01"]])) == []
    assert len(flattering(in_table([head, ["all", "0.006", "[0.005, 0.007]", "99.1 %", ""]]))) == 2
    coded = ["paper's recipe", "0.006", "", "", f"{MARK}, not the judges"]
    assert flattering(in_table([head, coded])) == []
    assert flattering(in_table([head, ["easy items", "0.006", "", "", ""]])) == []
    line = {"xtitle": "judges kept", "ytitle": "NLL (nats per item)", "ztitle": ""}
    assert len(flattering(in_trace({**line, "x": [1, 2], "y": [0.3, 0.01], "z": []}))) == 1
    gap = {**line, "ytitle": "NLL difference"}
    assert in_trace({**gap, "x": [1, 2], "y": [0.3, 0.01], "z": []}) == []
