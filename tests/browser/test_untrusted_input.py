"""Wrong files are refused beside the uploader; strange names stay text everywhere."""

import csv
import io
import random
from typing import Any

from playwright.sync_api import expect

from tests.browser import driver
from tests.browser.service import prepared_votes

"""One of each kind: no table, a cell that is wrong, something that is missing."""

SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
NAMES = (
    SCRIPT,
    "**bold** [link](https://evil.example) :smile: :material/home: $x^2$ https://evil.example",
    "=cmd()|' /C calc'!A0", "two\nlines\r\nof name", "n" * 300,
    "\N{ROBOT FACE} judge \N{SPARKLES}", "\u202eevil\u202c \u05e9\u05d5\u05e4\u05d8",
    "<b>bold</b> %{y} {{7*7}} ${7*7}",
)  # fmt: skip
FORMULA_START = ("=", "+", "-", "@", "\t", "\r")


def hostile_votes(names=NAMES, *, start="q"):
    """80 items whose ids, like the judges, are anything but names."""
    rng = random.Random(5)
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["item_id", "label", *names])
    for item in range(80):
        label = item % 2
        votes = [label if rng.random() < 0.75 else 1 - label for _ in names]
        writer.writerow([f"{names[item % len(names)]} {start}{item}", label, *votes])
    return stream.getvalue().encode()


def injected(page):
    """Elements that can only come from a name, and links that lead away."""
    result: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(
            '[onerror], [src="x"], script:not([src]):not([type]), .katex, a[href*="evil"]'
        )].map(e => e.outerHTML.slice(0, 200)).filter(h => h.includes('hacked') ||
            h.includes('evil') || h.includes('onerror') || h.includes('katex'))"""
    )
    return result


def judge_is_chosen(page):
    """Choose the last judge of the list, which the address keeps."""
    driver.finished_table(page)
    page.locator(".js-plotly-plot .heatmaplayer").first.wait_for()
    chooser = page.get_by_role("combobox", name="Judge", exact=True)
    first = chooser.input_value()
    chooser.click()
    expect(page.get_by_role("option")).to_have_count(len(NAMES))
    page.get_by_role("option").last.click()
    page.wait_for_url("**judge=**")
    driver.idle(page)
    chosen = chooser.input_value()
    assert chosen != first
    page.reload()
    driver.finished_table(page)
    expect(chooser).to_have_value(chosen)
    assert injected(page) == []


def test_hostile_names_stay_text_on_every_page_and_in_every_download(open_page, server):
    page = open_page(server.url)
    dialogs: list[Any] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.get_by_role("heading", name="Your votes").wait_for()
    name = "<img src=x onerror=window.hacked=1> **b**.csv"
    driver.upload(page, driver.as_upload(name, hostile_votes()))
    expect(driver.answer(page)).to_contain_text("80 items, 8 judges")
    assert injected(page) == []
    driver.say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    driver.finished_overview(page)
    analysis = driver.analysis_in(page)
    assert injected(page) == []
    page.get_by_text("How this was computed").click()

    few = prepared_votes(server.home, hostile_votes(), "v.csv")
    page.goto(driver.address(server, driver.RECOMMENDED, few))
    driver.finished_panel(page)
    decode = driver.downloaded(page, "Download weights (CSV)").decode()
    names = [row[1] for row in csv.reader(io.StringIO(decode, newline=""))][1:]
    assert sorted(name.removeprefix("'") for name in names) == sorted(NAMES)
    page.get_by_role("link", name="Score new votes").click()
    driver.upload(page, driver.as_upload("new.csv", hostile_votes(start="n")), driver.NEW_VOTES)
    page.get_by_role("button", name="All 80 scores").wait_for()
    scored = list(csv.reader(io.StringIO(driver.downloaded(page, "All 80 scores").decode())))
    for cells in (names, [row[0] for row in scored]):
        assert not [cell for cell in cells if cell.startswith(FORMULA_START)]
        assert [cell for cell in cells if cell.startswith("'=cmd()")]
    assert injected(page) == []

    bad = hostile_votes().replace(b",1,", b",<i>https://evil.example,", 1)
    driver.upload(page, driver.as_upload("bad.csv", bad), driver.NEW_VOTES)
    driver.refused(page, "https://evil.example")
    assert injected(page) == []

    pages = [driver.address(server, name, analysis) for name in ("", driver.CURVE)]
    for target in (*pages, server.url):
        page.goto(target)
        page.locator(".jp-answer, .st-key-sample-hard_panel").first.wait_for()
        assert injected(page) == []
    expect(page.get_by_role("link", name="<img src=x onerror=window").first).to_be_visible()
    page.goto(driver.address(server, driver.JUDGES, few))
    judge_is_chosen(page)
    assert page.evaluate("window.hacked") is None
    assert dialogs == []
