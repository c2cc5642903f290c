"""Recommended panel: which judges, which pipeline?"""

from judgepanel.present.registry import RECOMMENDED_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import recommended

context = page_frame(RECOMMENDED_PAGE)
recommended.page(
    guard(context, "This page chooses a panel that holds up on items it has not seen.")
)
