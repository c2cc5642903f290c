"""Tables in a real browser: they sort by number, offer no raw CSV, and say where they go on."""

from playwright.sync_api import Locator, Position, expect

from tests.browser.driver import CURVE, address, finished_curve, idle
from tests.browser.service import prepared

STEP = 40
"""Pixels: no column is narrower."""
_ROWS = """e => [...e.querySelectorAll('table[role=grid] tr')].map(
    row => [...row.children].map(cell => cell.textContent))"""

_ALL_TOLD = """() => {
    const lines = [...document.querySelectorAll('.jp-further')];
    const told = line => line.getBoundingClientRect().height > 0;
    const wide = line => parseFloat(line.style.getPropertyValue('--table'))
        > line.parentElement.clientWidth;
    return lines.some(told) && lines.every(line => told(line) === wide(line)); }"""


def rows(grid: Locator) -> list[list[str]]:
    """What a table tells a screen reader: its heads and then its cells, by rows."""
    cells: list[list[str]] = grid.evaluate(_ROWS)
    return cells


def sort_by(grid: Locator, heading: str) -> Position:
    """Click along the heads of the columns until this one sorts the rows upwards.

    Return where that is: another click there sorts them downwards.
    """
    heads = grid.locator("table[role=grid] tr").first
    scroller = grid.locator(".dvn-scroller")
    box = scroller.bounding_box()
    for x in range(STEP // 2, int(box["width"]), STEP):
        place: Position = {"x": x, "y": 15}
        scroller.click(position=place)
        try:
            expect(heads).to_contain_text(f"↑ {heading}", timeout=1_000)
        except AssertionError:  # Another column, or the line between two.
            continue
        return place
    raise AssertionError(f"no column {heading} in sight")


def column(grid: Locator, heading: str) -> list[float]:
    """The numbers of a column from top to bottom, as far as rows are drawn."""
    heads, *body = rows(grid)
    place = [head.lstrip("↑↓ ") for head in heads].index(heading)
    return [float(row[place].replace("Infinity", "inf")) for row in body]


def test_estimates_sort_by_number_and_there_is_no_raw_csv(page, server):
    page.goto(address(server, CURVE, prepared(server.home, "hard_panel")))
    finished_curve(page)
    heading = "NLL 95 %"
    grid = page.get_by_test_id("stDataFrame").filter(has_text=heading).first
    grid.scroll_into_view_if_needed()
    place = sort_by(grid, heading)
    upwards = column(grid, heading)
    assert upwards == sorted(upwards)
    grid.locator(".dvn-scroller").click(position=place)
    expect(grid.locator("table[role=grid] tr").first).to_contain_text(f"↓ {heading}")
    downwards = column(grid, heading)
    assert downwards == sorted(downwards, reverse=True)
    assert downwards != upwards
    grid.hover()
    toolbar = page.get_by_test_id("stElementToolbar").filter(has=page.get_by_label("Search"))
    expect(toolbar.get_by_label("Fullscreen").first).to_be_visible()
    expect(page.get_by_label("Download as CSV")).to_have_count(0)
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    finished_curve(page)
    idle(page)
    page.wait_for_function(_ALL_TOLD)
