"""Accessibility violations that axe finds on a page, wide and narrow, light and dark."""

from collections.abc import Iterator
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.driver import idle

LOOKS: dict[str, tuple[int, Literal["light", "dark"]]] = {
    "wide light": (1440, "light"),
    "narrow dark": (390, "dark"),
}
"""Contrast depends on the colours and layout on the width: two looks show all of both."""
_AT_ONCE = (
    "*, *::before, *::after { transition: none !important; }"
    "[data-stale=true], [data-testid=stExpander] summary, [data-testid=stExpander] summary * "
    "{ opacity: 1 !important; }"
)
"""Colours that still change to those of the other scheme are of neither; without its transition,
what a new scheme draws again would be pale at once: elements, and the heads of expanders."""
_OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "resultTypes": ["violations"],
}
SIDEWAYS = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
  .some(e => e.scrollWidth > e.clientWidth + 1)"""


def looks(page: Page) -> Iterator[str]:
    """Show the page in the look that it has, then in the other one, in which it is left."""
    size = page.viewport_size
    page.add_style_tag(content=_AT_ONCE)
    for look, (width, scheme) in sorted(LOOKS.items(), key=lambda it: it[1][0] != size["width"]):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", scheme)
        idle(page)
        yield look


def problems(page: Page) -> list[str]:
    """What axe finds on the page as it looks now, and whether it scrolls sideways."""
    violations = Axe().run(page, options=_OPTIONS).response["violations"]
    result = [
        f"{violation['id']}: {node['target']} {node['html'][:160]} "
        f"{node.get('failureSummary', '')[:200]}"
        for violation in violations
        for node in violation["nodes"]
    ]
    return [*result, "scrolls sideways"] if page.evaluate(SIDEWAYS) else result
