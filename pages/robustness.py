"""Robustness: what would break it?"""

from judgepanel.present.pages import ROBUSTNESS_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import robustness

draw_page(
    ROBUSTNESS_PAGE,
    robustness.page,
    "This page shows how a panel fares on other items and on damaged votes.",
)
