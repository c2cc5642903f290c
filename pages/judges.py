"""Judges: who adds what?"""

from judgepanel.present.pages import JUDGES_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import judges

draw_page(JUDGES_PAGE, judges.page, "This page shows which judges repeat each other.")
