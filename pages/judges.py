"""Judges: who adds what?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import judges

shown = frame("Judges", "Who adds what?")
judges.page(guard(shown, "This page shows which judges repeat each other."))
