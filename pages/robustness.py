"""Robustness: what would break it?"""

from judgepanel.present.registry import ROBUSTNESS_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import robustness

context = page_frame(ROBUSTNESS_PAGE)
robustness.page(
    guard(context, "This page shows how a panel fares on other items and on damaged votes.")
)
