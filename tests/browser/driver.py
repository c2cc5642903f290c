"""Actions of the browser tests on the pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser.conftest import Server

OVERVIEW = "overview"
CURVE = "panel_curve"
RECOMMENDED = "recommended_panel"
JUDGES = "judges"
METHODS = "methods"
PAPER = "claim"
BUDGET = "label_budget"
CONFIDENCE = "confidence"
VOTES_FILE = "votes_file"
LABELS_FILE = "labels_file"
NEW_VOTES = "new_votes"


def address(server: Server, page: str = "", analysis: str | None = None, **state: str) -> str:
    """Where a page of an analysis is."""
    pairs = {} if analysis is None else {"analysis": analysis}
    query = "&".join(f"{key}={value}" for key, value in {**pairs, **state}.items())
    return f"{server.url}/{page}" + (f"?{query}" if query else "")


def analysis_in(page: Page) -> str:
    """The analysis in the URL."""
    return page.url.partition("analysis=")[2].partition("&")[0]


def answer(page: Page) -> Locator:
    """The banner with the page's answer."""
    return page.locator(".jp-answer")


def problem(page: Page) -> Locator:
    """The sentence that says what is wrong."""
    return page.locator(".jp-problem")


def refused(page: Page, *parts: str) -> None:
    """Wait for one problem that says all this; the one before it may stay for a moment."""
    for part in parts:
        expect(problem(page).filter(has_text=part)).to_have_count(1)
    expect(problem(page)).to_have_count(1)


def idle(page: Page) -> None:
    """Wait until the script has run and no widget waits for it."""
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)


def settled(page: Page) -> None:
    """Wait until no work is under way: a click in the middle of a redraw may be lost."""
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    idle(page)


def upload(page: Page, file: Path | dict[str, Any], place: str = VOTES_FILE) -> None:
    """Give a file to the uploader of this key; uploaders are not all drawn at once."""
    page.locator(f"[class*='st-key-{place}'] input[type=file]").set_input_files(file)


def say_pairs(page: Page) -> None:
    """Say what an item is, where the file does not."""
    page.get_by_text("Pairwise: which of two").click()
    expect(page.get_by_role("button", name="Analyse", exact=True)).to_be_enabled()
    settled(page)


def as_upload(name: str, content: str | bytes) -> dict[str, Any]:
    """A file that exists in memory only."""
    data = content.encode() if isinstance(content, str) else content
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def finished_overview(page: Page) -> None:
    """Wait for the command, which comes after all cards."""
    page.get_by_text("How this was computed").wait_for()
    settled(page)


def finished_curve(page: Page) -> None:
    """Wait for the final curve; what is recommended may still be made."""
    page.get_by_role("button", name="Download CSV").wait_for()
    idle(page)


def finished_panel(page: Page) -> None:
    """Wait for the final recommendation, and for the sections that are open."""
    page.get_by_role("button", name="Download panel.json").wait_for()
    settled(page)


def finished_table(page: Page, n: int = 1) -> None:
    """Wait for the tables of so many studies."""
    expect(page.get_by_role("button", name="Download CSV")).to_have_count(n)
    settled(page)


def finished_comparison(page: Page) -> None:
    """Wait for all four results of two analyses."""
    page.get_by_text("Panel in use (Best): ").nth(1).wait_for()
    expect(page.get_by_test_id("stProgress")).to_have_count(0)


def unfold(page: Page) -> None:
    """Open the controls that are folded away above the answer."""
    page.get_by_test_id("stExpander").first.locator("summary").click()


def choose(page: Page, option: Locator, state: str) -> None:
    """Click an option until the URL says so."""
    repeat(page, option.click, state)


def repeat(page: Page, action: Callable[[], None], state: str) -> None:
    """Do it until the URL says so; a click is lost if its control is just drawn again."""
    for _ in range(6):
        action()
        try:
            page.wait_for_url(f"**{state}**", timeout=30_000)
        except PlaywrightTimeout:
            continue
        return
    raise AssertionError(f"the URL does not say {state}")


def downloaded(page: Page, label: str, *, nth: int = 0) -> bytes:
    """The bytes behind a download button; a click is lost if its button is just drawn again."""
    for _ in range(6):
        settled(page)
        try:
            with page.expect_download(timeout=30_000) as started:
                page.get_by_role("button", name=label).nth(nth).click()
        except PlaywrightTimeout:
            continue
        return Path(started.value.path()).read_bytes()
    raise AssertionError(f"nothing is downloaded by {label}")
