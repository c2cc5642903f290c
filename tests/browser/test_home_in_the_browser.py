"""Start: templates, labels from another file, and files that stay while one looks elsewhere."""

import tomllib

from playwright.sync_api import expect

from judgepanel.votes import load_votes
from tests.browser.driver import (
    LABELS_FILE,
    address,
    analysis_in,
    answer,
    as_upload,
    downloaded,
    idle,
    refused,
    say_pairs,
    upload,
)


def test_files_and_labels_of_another_file_stay_while_the_visitor_looks_at_another_page(
    page, server
):
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
    page.goto(address(server, "", analysis_in(page)))
    page.get_by_text("How this was computed").first.click()
    expect(page.get_by_text("--labels=gold.csv --label-column=gold").first).to_be_visible()
    page.get_by_role("link", name="New analysis").click()
    page.get_by_role("heading", name="What a file looks like").wait_for()
    expect(answer(page)).to_have_count(0)
