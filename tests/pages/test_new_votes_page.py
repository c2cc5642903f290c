"""New votes: an answer with and without labels, judges then and now, and fitting again."""

import io
import re
from functools import cache

import numpy as np
import pandas as pd

from judgepanel.ui.uploads import Upload
from judgepanel.votes.companions import votes_csv
from judgepanel.votes.simulate import SimulationSpec, sample_votes, simulate
from tests.pages import driver

NEW_VOTES = "pages/new_votes.py"


@cache
def analysis():
    """The sample's first 200 items."""
    first = sample_votes("clean_pairwise").with_items(np.arange(300) < 200)
    return driver.created(votes_csv(first), task="pairwise")


def given(votes):
    """The page with these new votes, once the panel is there."""
    app = driver.open_app(NEW_VOTES, analysis=analysis())
    driver.until(app, lambda: app.code)
    app.session_state[f"new_votes-{analysis()}-kept"] = Upload("new.csv", votes)
    return app.run()


def new(*, label=True, turned=""):
    """The other 100 items, perhaps without labels or with a judge turned around."""
    votes = sample_votes("clean_pairwise").with_items(np.arange(300) >= 200)
    frame = pd.read_csv(io.BytesIO(votes_csv(votes)))
    if turned:
        frame[turned] = 1 - frame[turned]
    return frame.drop(columns=[] if label else "label").to_csv(index=False).encode()


def test_votes_like_those_before_are_no_news_and_can_be_added_to_them():
    app = given(new())
    pattern = r"Yes: right on [\d.]+ % \[.*\] of 100 labelled new items"
    assert re.match(pattern, driver.answer_of(app))
    readings = driver.htmls(app, "jp-reading")
    assert any(text.startswith("On ") and "90 % sure" in text for text in readings)
    assert "Download all 100 scores (scored.csv)" in driver.downloads_of(app)
    app.button(key="refit").click().run()
    assert "I read 300 items and 24 judges" in driver.text_of(app)


def test_without_labels_the_judges_are_all_that_can_be_compared():
    app = given(new(label=False))
    answer = "Nothing speaks against it: no judge is shown to have moved, and no label came."
    assert driver.answer_of(app) == answer
    assert "Download the joined votes (CSV)" not in driver.downloads_of(app)


def test_a_judge_that_now_says_the_opposite_is_named():
    name = sample_votes("clean_pairwise").judges[0]
    app = given(new(turned=name))
    assert "1 judge of 24 moved" in driver.answer_of(app)
    moved = next(driver.displayed(frame) for frame in app.dataframe if "share of" in frame.value)
    assert moved["judge"][0] == name
    assert moved["share of"][0] == "agreement with the others"


def test_a_panel_that_is_no_longer_right_is_said():
    worse = simulate(SimulationSpec(n_items=300, n_judges=24, accuracies=(0.55,) * 24, seed=3))
    names = sample_votes("clean_pairwise").judges
    data = votes_csv(worse).decode().splitlines()
    head = data[0].split(",")
    for old, own in zip(worse.judges, names, strict=True):
        head[head.index(old)] = own
    app = given("\n".join([",".join(head), *data[1:]]).replace("\nitem", "\nnew").encode())
    assert driver.answer_of(app).startswith("No: right on ")


def test_votes_of_nobody_in_the_panel_are_refused():
    app = given(b"item_id,x,y\nq1,1,0\nq2,0,1\n")
    assert "none of the panel's judges is in this file" in driver.htmls(app, "jp-problem")[0]


def test_items_that_were_there_before_are_not_added_twice():
    app = given(votes_csv(sample_votes("clean_pairwise")))
    assert "200 items are in both files" in driver.htmls(app, "jp-problem")[0]
