"""Judges: who adds what?"""

from judgepanel.present.registry import JUDGES_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import judges

shown = page_frame(JUDGES_PAGE)
judges.page(guard(shown, "This page shows which judges repeat each other."))
