"""Recommended panel: which judges, which pipeline?"""

from judgepanel.present.pages import RECOMMENDED_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import recommended

draw_page(
    RECOMMENDED_PAGE,
    recommended.page,
    "This page chooses a panel that holds up on items it has not seen.",
)
