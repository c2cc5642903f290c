"""Scope: is the recommendation safe here?"""

from judgepanel.present.pages import SCOPE_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import scope

draw_page(
    SCOPE_PAGE, scope.page, "This page checks whether keeping all judges is safe on your votes."
)
