"""Start: labels from another file; rename, delete, a dead link, two analyses in one address."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes
from tests.browser.conftest import Guard, Server
from tests.browser.driver import (
    LABELS_FILE,
    address,
    analysis_in,
    answer,
    as_upload,
    downloaded,
    finished_comparison,
    finished_overview,
    idle,
    refused,
    say_pairs,
    upload,
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(own_server: Server) -> Server:
    return own_server


@pytest.fixture(scope="module")
def analyses(server: Server) -> dict[str, str]:
    """Three analyses by name, the last one made last."""
    loaded = load_votes(sample_bytes("clean_pairwise"), name="clean_pairwise_votes.csv")
    few = loaded.votes.judges[:4]
    with closing(SqlWorkspace(home=server.home)) as space:
        return {
            name: space.create(loaded, settings, name).id
            for name, settings in (
                ("four judges", Settings(splits=4, judges=few)),
                ("eight judges", Settings(splits=4, judges=loaded.votes.judges[:8])),
            )
        }


def test_files_and_labels_of_another_file_stay_while_the_visitor_looks_at_another_page(
    page: Page, server: Server, guard: Guard
) -> None:
    scripts: list[str] = []
    page.on("request", lambda request: scripts.append(request.url))
    page.goto(server.url)
    page.get_by_role("heading", name="What a file looks like").wait_for()
    wide, long, labels, judges = (
        downloaded(page, title)
        for title in ("One row per item", "One row per vote", "Labels only", "Judge table")
    )
    for template in (wide, long):
        loaded = load_votes(template, name="t.csv", judge_table=judges, need_labels=False)
        assert loaded.votes.item_ids == ("q1", "q2", "q3")
        assert loaded.votes.labels.tolist() == [1, 0, -1]
    unlabelled = b"\n".join(line.rpartition(b",")[0] for line in long.splitlines())
    joined = load_votes(unlabelled, name="t.csv", labels=labels, need_labels=False)
    assert joined.votes.labels.tolist() == [1, 0, -1]
    assert not [url for url in scripts if "plotly" in url.lower()]

    rows = "".join(f"q{item},{item % 2},{item // 30}\n" for item in range(60))
    gold = "".join(f"q{item},x,{'A' if item % 2 else 'B'}\n" for item in range(4, 66))
    upload(page, as_upload("votes.csv", "item_id,a,b\n" + rows))
    refused(page, "votes.csv", "there is no label column", "labels in another file")
    page.get_by_text("Labels in another file", exact=True).click()
    upload(page, as_upload("gold.csv", "item_id,note,gold\n" + gold), LABELS_FILE)
    expect(answer(page)).to_contain_text("60 items, 2 judges, 56 labelled")
    idle(page)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert [url for url in scripts if "plotly" in url.lower()]
    menu = page.get_by_test_id("stSidebar")
    menu.get_by_role("link", name="Judges").click()
    expect(page.get_by_text("No votes yet.")).to_be_visible()
    menu.get_by_role("link", name="Start").click()
    expect(page.get_by_text("votes.csv is still here from before.")).to_be_visible()
    expect(page.get_by_text("gold.csv is still here from before.")).to_be_visible()
    expect(answer(page)).to_contain_text("60 items, 2 judges, 56 labelled")
    idle(page)
    page.get_by_role("heading", name="Columns").wait_for()
    roles = tomllib.loads(downloaded(page, "Download these columns").decode())
    assert roles == {
        "task": "pairwise",
        "item_id": "item_id",
        "label": "gold",
        "judges": ["a", "b"],
    }
    say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/overview?analysis=*")
    finished_overview(page)
    page.get_by_text("How this was computed").first.click()
    expect(page.get_by_text("--labels=gold.csv --label-column=gold").first).to_be_visible()
    page.get_by_role("link", name="New analysis").click()
    page.get_by_role("heading", name="What a file looks like").wait_for()
    expect(answer(page)).to_have_count(0)
    guard.check()


def test_two_are_compared_and_the_address_opens_in_another_browser(
    page: Page,
    server: Server,
    analyses: dict[str, str],
    open_page: Callable[..., Page],
    guard: Guard,
) -> None:
    before, after = analyses["four judges"], analyses["eight judges"]
    page.goto(server.url)
    page.get_by_text("Compare two analyses").click()
    lists = page.get_by_role("combobox")
    expect(lists).to_have_count(2)
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page).to_have_url(re.compile(rf"analysis={before}&compare={after}$"))
    finished_comparison(page)
    expect(answer(page)).to_contain_text("from all 8 judges after in place of 4 before")
    sentence = answer(page).inner_text()

    other = open_page(page.url)
    finished_comparison(other)
    expect(answer(other)).to_have_text(sentence)
    expect(other.get_by_role("rowheader", name="judges (differs)")).to_be_visible()
    other.get_by_role("link", name="Close the comparison").click()
    expect(answer(other).filter(has_text="300 items, 24 judges")).to_be_visible()
    expect(other).to_have_url(address(server, "", before))

    other.get_by_role("link", name="New analysis").click()
    expect(other).to_have_url(f"{server.url}/")
    other.get_by_role("button", name="Every label is 1").click()
    expect(answer(other)).to_contain_text("every label is the same")
    expect(other).to_have_url(re.compile("analysis="))
    assert analysis_in(other) not in analyses.values()
    guard.check()
