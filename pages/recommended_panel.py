"""Recommended panel: which judges, which pipeline?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import recommended

shown = frame("Recommended panel", "Which judges, and which pipeline?")
recommended.page(guard(shown, "This page chooses a panel that holds up on items it has not seen."))
