"""Judges: who adds what?"""

from judgepanel.ui import judges_page
from judgepanel.ui.frame import frame, guard

shown = frame("Judges", "Who adds what?")
judges_page.page(guard(shown, "This page shows which judges repeat each other."))
