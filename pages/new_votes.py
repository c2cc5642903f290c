"""New votes: is the panel still right?"""

from judgepanel.present.pages import NEW_VOTES_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import new_votes

draw_page(
    NEW_VOTES_PAGE,
    new_votes.page,
    "This page scores new votes with the panel, and says whether its judges have changed.",
)
