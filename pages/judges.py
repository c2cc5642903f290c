"""Judges: who adds what?"""

from judgepanel.present.registry import JUDGES_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import judges

context = page_frame(JUDGES_PAGE)
judges.page(guard(context, "This page shows which judges repeat each other."))
