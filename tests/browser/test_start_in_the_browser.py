"""Start: files, labels, thresholds, connections that break, and labels that come back."""

import re
import tomllib
import urllib.request
from io import BytesIO, StringIO

import pandas as pd
from playwright.sync_api import expect

from judgepanel.votes import load_votes
from judgepanel.votes.errors import SAMPLE_FOLDER
from tests.browser import driver
from tests.browser.conftest import ROOT


def test_files_and_labels_of_another_file_stay_while_the_visitor_looks_at_another_page(
    page, server
):
    scripts: list[str] = []
    page.on("request", lambda request: scripts.append(request.url))
    page.goto(server.url)
    page.get_by_role("heading", name="What a file looks like").wait_for()
    titles = ("One row per item", "One row per vote", "Labels only", "Judge table")
    wide, long, labels, judges = (driver.downloaded(page, title) for title in titles)
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
    driver.upload(page, driver.as_upload("votes.csv", "item_id,a,b\n" + rows))
    driver.refused(page, "votes.csv", "there is no label column", "labels in another file")
    page.get_by_text("Labels in another file", exact=True).click()
    labelled = driver.as_upload("gold.csv", "item_id,note,gold\n" + gold)
    driver.upload(page, labelled, driver.LABELS_FILE)
    expect(driver.answer(page)).to_contain_text("60 items, 2 judges, 56 labelled")
    driver.idle(page)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert [url for url in scripts if "plotly" in url.lower()]
    menu = page.get_by_test_id("stSidebar")
    menu.get_by_role("link", name="Judges").click()
    expect(page.get_by_text("No votes yet.")).to_be_visible()
    menu.get_by_role("link", name="Start").click()
    expect(page.get_by_text("votes.csv is still here from before.")).to_be_visible()
    expect(page.get_by_text("gold.csv is still here from before.")).to_be_visible()
    expect(driver.answer(page)).to_contain_text("60 items, 2 judges, 56 labelled")
    driver.idle(page)
    page.get_by_role("heading", name="Columns").wait_for()
    roles = tomllib.loads(driver.downloaded(page, "Download these columns").decode())
    known = {"task": "pairwise", "item_id": "item_id", "label": "gold"}
    assert roles == {**known, "judges": ["a", "b"]}
    driver.say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/overview?analysis=*")
    page.goto(driver.address(server, "", driver.analysis_in(page)))
    page.get_by_text("How this was computed").first.click()
    expect(page.get_by_text("--labels=gold.csv --label-column=gold").first).to_be_visible()
    page.get_by_role("link", name="New analysis").click()
    page.get_by_role("heading", name="What a file looks like").wait_for()
    expect(driver.answer(page)).to_have_count(0)


SCORES = "item_id,label,ann,bob\n" + "".join(
    f"q{n},{n % 2},{n % 5},{(3 * n + n % 2) % 7}\n" for n in range(40)
)
ROW = 35


def type_threshold(page, row, number):
    """Type a number into the second column of the table of judges that give grades."""
    grid = page.get_by_test_id("stDataFrame").filter(visible=True).first
    width = (grid.bounding_box() or {})["width"]
    place = {"x": width / 2, "y": ROW * (row + 1) + ROW // 2}
    grid.locator(".dvn-scroller").click(position=place)
    clicked = grid.get_by_test_id(f"glide-cell-1-{row}")
    expect(clicked).to_have_attribute("aria-selected", "true")  # Before, keys are not heard.
    page.keyboard.press("Enter")
    cell = page.locator("#portal input")
    cell.fill(number)
    cell.press("Enter")


def test_a_threshold_for_one_judge_stays_with_the_analysis(page, server):
    page.goto(server.url)
    driver.upload(page, driver.as_upload("scores.csv", SCORES))
    driver.refused(page, "under Grades")
    for_all = page.get_by_role("spinbutton", name="Threshold of all grades")
    for_all.fill("2")
    for_all.press("Enter")
    driver.answer(page).wait_for()
    driver.idle(page)
    type_threshold(page, 1, "3.5")
    expect(page.get_by_text("Read as scores cut at 3.5")).to_be_visible()
    driver.say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/overview*")
    page.goto(driver.address(server, "", driver.analysis_in(page)))
    page.get_by_text("How this was computed").click()
    command = page.locator("code").filter(has_text="--threshold=2.0")
    expect(command).to_contain_text("--threshold=bob=3.5")


ONE_CLASS = ROOT / "sample_data" / "one_class_votes.csv"


def test_an_upload_that_is_cut_off_is_said_and_can_be_sent_again(page, server, guard):
    def cut_off(route):
        route.abort("connectionreset")

    page.goto(server.url)
    page.get_by_text("What a file looks like").wait_for()
    expect(page.get_by_text("refuses the cookies")).to_have_count(0)
    page.route("**/_stcore/upload_file/**", cut_off)
    driver.upload(page, ONE_CLASS)
    uploader = page.get_by_test_id("stFileUploader").first
    uploader.get_by_text("Error").wait_for()
    expect(page.get_by_role("button", name="Analyse")).to_have_count(0)
    page.unroute("**/_stcore/upload_file/**", cut_off)
    # A chooser that opens before the browser has agreed to hand it over is lost.
    with page.expect_file_chooser() as choosing:
        uploader.get_by_role("button", name="Remove one_class_votes.csv").click()
        uploader.get_by_role("button", name="Upload", exact=True).click()
    choosing.value.set_files(ONE_CLASS)
    driver.answer(page).wait_for()
    expect(page.get_by_role("button", name="Analyse")).to_be_visible()
    guard.excuse()


def without_cookies(route):
    """Answer as the server does, but for the cookie that it sets."""
    with urllib.request.urlopen(route.request.url) as response:  # noqa: S310
        del response.headers["Set-Cookie"]
        headers = dict(response.headers.items())
        route.fulfill(status=response.status, headers=headers, body=response.read())


def test_a_browser_that_refuses_cookies_is_told_before_it_uploads(page, server):
    page.route("**/_stcore/health", without_cookies)  # Where Streamlit gives its only cookie.
    page.goto(server.url)
    page.get_by_text("refuses the cookies of this site, so no file can be uploaded").wait_for()
    page.get_by_role("button", name="Every label is 1").click()
    driver.answer(page).wait_for()
    assert page.context.cookies() == []


LEAD = re.compile(r"v2 beats v1 by [\d.]+ \[(-?[\d.]+), (-?[\d.]+)\] points")
VOTES, LABELS = "two_systems_votes.csv", "two_systems_labels.csv"


def asked(votes):
    """What was asked of the systems: a text that the server does not keep."""
    return "What does the user mean by the words of " + votes["item_id"] + "?"


def estimated(page, labelled):
    """Analyse what was uploaded, and return the width of the interval on the page Estimate."""
    expect(driver.answer(page)).to_contain_text(f"800 items, 12 judges, {labelled} labelled")
    driver.settled(page)
    page.get_by_role("button", name="Analyse", exact=True).click()
    page.wait_for_url("**/overview?analysis=*")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Estimate").click()
    page.wait_for_url("**/estimate?analysis=*")
    expect(driver.answer(page)).to_contain_text(LEAD)
    driver.finished_table(page)
    lead = LEAD.search(driver.answer(page).inner_text())
    low, high = map(float, lead.groups())
    return high - low


def test_drawn_items_come_back_labelled_and_narrow_the_interval(page, server):
    votes = pd.read_csv(SAMPLE_FOLDER / VOTES, dtype=str)
    file = driver.as_upload(VOTES, votes.assign(question=asked(votes)).to_csv(index=False))
    page.goto(server.url)
    page.get_by_role("heading", name="What a file looks like").wait_for()
    driver.upload(page, file)
    before = estimated(page, 100)

    drawn = driver.downloaded(page, "Draw items to label (CSV)")
    items = pd.read_csv(BytesIO(drawn), dtype=str)
    assert list(items.columns) == ["id", "question", "system", "label"]
    assert items["question"].tolist() == asked(items.rename(columns={"id": "item_id"})).tolist()
    known = pd.read_csv(SAMPLE_FOLDER / LABELS, dtype=str).set_index("id")["label"]
    filled = StringIO()
    items.assign(label=items["id"].map(known)).to_csv(filled, index=False)

    page.get_by_role("link", name="New analysis").click()
    page.get_by_role("heading", name="What a file looks like").wait_for()
    driver.upload(page, file)
    page.get_by_text("Labels in another file", exact=True).click()
    labelled = driver.as_upload("items_to_label.csv", filled.getvalue())
    driver.upload(page, labelled, driver.LABELS_FILE)
    assert estimated(page, 150) < before
    expect(page.get_by_text("150 labels and the panel are worth ")).to_be_visible()
