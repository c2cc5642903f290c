"""Robustness: what would break it?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import robustness

shown = frame("Robustness", "What would break it?")
robustness.page(
    guard(shown, "This page shows how a panel fares on other items and on damaged votes.")
)
