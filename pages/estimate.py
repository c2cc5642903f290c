"""Estimate: how good are the systems, from many votes and few labels?"""

from judgepanel.present.pages import ESTIMATE_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import estimate

draw_page(
    ESTIMATE_PAGE,
    estimate.page,
    "This page estimates rates of all items and of groups, from all votes and the labels you have.",
)
