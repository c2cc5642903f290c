"""Overview: what do we do?"""

from judgepanel.present.pages import OVERVIEW_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import overview

draw_page(
    OVERVIEW_PAGE,
    overview.page,
    "This page has the decision, whether it can be trusted, and the numbers behind it.",
)
