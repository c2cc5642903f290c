"""From votes and few labels to what people label next, and back to a narrower interval."""

import re
from io import BytesIO, StringIO

import pandas as pd
from playwright.sync_api import Page, expect

from judgepanel.votes.errors import SAMPLE_FOLDER
from tests.browser.driver import (
    LABELS_FILE,
    answer,
    as_upload,
    downloaded,
    finished_table,
    settled,
    upload,
)

LEAD = re.compile(r"v2 beats v1 by [\d.]+ \[(-?[\d.]+), (-?[\d.]+)\] points")
VOTES, LABELS = "two_systems_votes.csv", "two_systems_labels.csv"


def asked(votes: pd.DataFrame) -> pd.Series:
    """What was asked of the systems: a text that the server does not keep."""
    return "What does the user mean by the words of " + votes["item_id"] + "?"


def estimated(page: Page, labelled: int) -> float:
    """Analyse what was uploaded, and return the width of the interval on the page Estimate."""
    expect(answer(page)).to_contain_text(f"800 items, 12 judges, {labelled} labelled")
    settled(page)
    page.get_by_role("button", name="Analyse", exact=True).click()
    page.wait_for_url("**/overview?analysis=*")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Estimate").click()
    page.wait_for_url("**/estimate?analysis=*")
    expect(answer(page)).to_contain_text(LEAD)
    finished_table(page)
    lead = LEAD.search(answer(page).inner_text())
    low, high = map(float, lead.groups())
    return high - low


def test_drawn_items_come_back_labelled_and_narrow_the_interval(page, server):
    votes = pd.read_csv(SAMPLE_FOLDER / VOTES, dtype=str)
    file = as_upload(VOTES, votes.assign(question=asked(votes)).to_csv(index=False))
    page.goto(server.url)
    page.get_by_role("heading", name="What a file looks like").wait_for()
    upload(page, file)
    before = estimated(page, 100)

    drawn = downloaded(page, "Draw items to label (CSV)")
    items = pd.read_csv(BytesIO(drawn), dtype=str)
    assert list(items.columns) == ["id", "question", "system", "label"]
    assert items["question"].tolist() == asked(items.rename(columns={"id": "item_id"})).tolist()
    known = pd.read_csv(SAMPLE_FOLDER / LABELS, dtype=str).set_index("id")["label"]
    filled = StringIO()
    items.assign(label=items["id"].map(known)).to_csv(filled, index=False)

    page.get_by_role("link", name="New analysis").click()
    page.get_by_role("heading", name="What a file looks like").wait_for()
    upload(page, file)
    page.get_by_text("Labels in another file", exact=True).click()
    upload(page, as_upload("items_to_label.csv", filled.getvalue()), LABELS_FILE)
    assert estimated(page, 150) < before
    expect(page.get_by_text("150 labels and the panel are worth ")).to_be_visible()
