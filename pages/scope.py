"""Scope: is the default safe here?"""

from judgepanel.present.registry import SCOPE_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import scope

context = page_frame(SCOPE_PAGE)
scope.page(guard(context, "This page checks whether keeping all judges is safe on your votes."))
