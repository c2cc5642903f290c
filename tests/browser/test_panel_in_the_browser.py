"""The recommended panel: downloaded as a file, and new votes scored on the page as elsewhere."""

import json
import os
import re
import shlex
import subprocess
import sys

from playwright.sync_api import expect

from judgepanel.decision.panel_file import load_panel
from judgepanel.decision.score import score
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from judgepanel.words.tables import csv_text
from tests.browser import driver
from tests.browser.conftest import ROOT
from tests.browser.service import prepared

WHAT_IF = {"what-if": "true"}


def new_votes():
    """The sample's items in another order, without labels, one judge gone and one unknown."""
    header, *rows = sample_bytes("hard_panel").decode().splitlines()
    names = header.split(",")
    label, gone = names.index("label"), next(i for i, n in enumerate(names) if "judge" in n)
    remaining = [i for i in range(len(names)) if i not in (label, gone)]
    lines = [[*(names[i] for i in remaining), "someone-new"]]
    lines += [[*(row.split(",")[i] for i in remaining), "1"] for row in reversed(rows)]
    return "\n".join(",".join(line) for line in lines).encode()


def test_the_panel_file_is_valid_and_scores_as_the_page_does_bit_for_bit(page, server):
    analysis = prepared(server.home, "hard_panel")
    page.goto(driver.address(server, driver.RECOMMENDED, analysis))
    driver.finished_panel(page)
    expect(driver.answer(page)).to_contain_text("expected NLL 0.")
    exported = driver.downloaded(page, "Download panel.json").decode()
    panel = load_panel(exported)
    assert json.loads(exported)["format"] == "judgepanel/panel"
    assert str(len(panel.model.judges)) in driver.answer(page).inner_text()

    judges = driver.downloaded(page, "Download weights (CSV)").decode().splitlines()
    assert judges[0].startswith("decision,judge,share,weight")
    assert len(judges) == 1 + 30

    term = driver.answer(page).get_by_text("expected NLL", exact=True)
    explained = "term => getComputedStyle(term, '::after').content"
    assert term.evaluate(explained) == "none"
    term.hover()
    assert "The NLL to expect on new items" in term.evaluate(explained)
    term.click()
    page.mouse.move(0, 0)
    assert "The NLL to expect on new items" in term.evaluate(explained)

    page.get_by_role("link", name="Score new votes").click()
    votes = new_votes()
    driver.upload(page, driver.as_upload("new.csv", votes), driver.NEW_VOTES)
    button = "Download all 400 scores (scored.csv)"
    page.get_by_role("button", name=button).wait_for()
    expected = score(panel, load_votes(votes, name="new.csv", need_labels=False).votes)
    assert driver.downloaded(page, button).decode() == csv_text(expected.frame())
    for warning in expected.warnings:
        expect(page.locator(".jp-note").filter(has_text=warning)).to_have_count(1)

    driver.upload(page, driver.as_upload("worse.csv", "item_id,x,y\na,1,0.3\n"), driver.NEW_VOTES)
    driver.refused(page, "worse.csv, row 2, column 'y'")
    driver.refused(page, "say where labels are cut with --label-threshold")
    expect(page.locator("code").filter(has_text="score panel.json worse.csv")).to_have_count(1)
    driver.settled(page)


def shown_text(page, text):
    """A section's answer that holds this."""
    return page.locator(".jp-text").filter(has_text=text)


def made_by(command, folder):
    """The panel file that a command writes beside the sample's votes."""
    words = shlex.split(command)
    file = next(word for word in words if word.endswith(".csv"))
    (folder / file).write_bytes(sample_bytes("hard_panel"))
    arguments = [sys.executable, "-m", "judgepanel", *words[2:]]  # In place of ./run cli.
    root = {"PYTHONPATH": str(ROOT)}
    subprocess.run(arguments, cwd=folder, env=os.environ | root, check=True, capture_output=True)
    return (folder / "panel.json").read_text(encoding="utf-8")


def test_judges_are_ticked_off_and_the_rest_is_shared_exported_and_analysed(page, server, tmp_path):
    analysis = prepared(server.home, "hard_panel")
    page.goto(driver.address(server, driver.RECOMMENDED, analysis, **WHAT_IF))
    driver.finished_panel(page)
    driver.idle(page)
    expect(page.get_by_text("This is the recommended panel itself")).to_have_count(1)
    grid = page.get_by_test_id("stDataFrame").nth(1)  # The first one lists the judges.
    grid.scroll_into_view_if_needed()

    def tick_off():
        grid.click(position={"x": 40.0, "y": 53.0})
        page.keyboard.press("Space")

    driver.repeat(page, tick_off, "without=1")
    expect(shown_text(page, re.compile("these 29 judges", re.IGNORECASE))).to_have_count(1)
    expect(page).to_have_url(re.compile("without=1(&|$)"))
    other = page.context.new_page()
    other.goto(page.url)
    expect(shown_text(other, re.compile("these 29 judges", re.IGNORECASE))).to_have_count(1)
    other.get_by_text("Export this panel").click()
    exported = driver.downloaded(other, "Download this panel (panel.json)").decode()
    command = other.locator("code").filter(has_text="--judge").inner_text()
    assert exported == made_by(command, tmp_path)
    assert len(load_panel(exported).model.judges) == 29
    page.get_by_role("button", name="Open as a new analysis").click()
    expect(page).not_to_have_url(re.compile(analysis))
    expect(driver.answer(page)).to_contain_text("29 judges")
