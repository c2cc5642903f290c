"""Thresholds of grades on Start: typed into the table, and kept by the analysis."""

from playwright.sync_api import Page, expect

from tests.browser.driver import (
    address,
    analysis_in,
    answer,
    as_upload,
    idle,
    refused,
    say_pairs,
    upload,
)

SCORES = "item_id,label,ann,bob\n" + "".join(
    f"q{n},{n % 2},{n % 5},{(3 * n + n % 2) % 7}\n" for n in range(40)
)
ROW = 35


def type_threshold(page: Page, row: int, number: str) -> None:
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
    upload(page, as_upload("scores.csv", SCORES))
    refused(page, "under Grades")
    for_all = page.get_by_role("spinbutton", name="Threshold of all grades")
    for_all.fill("2")
    for_all.press("Enter")
    answer(page).wait_for()
    idle(page)
    type_threshold(page, 1, "3.5")
    expect(page.get_by_text("Read as scores cut at 3.5")).to_be_visible()
    say_pairs(page)
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_url("**/overview*")
    page.goto(address(server, "", analysis_in(page)))
    page.get_by_text("How this was computed").click()
    command = page.locator("code").filter(has_text="--threshold=2.0")
    expect(command).to_contain_text("--threshold=bob=3.5")
