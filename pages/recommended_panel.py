"""Recommended panel: which judges, which pipeline?"""

from judgepanel.ui import recommended
from judgepanel.ui.frame import frame, guard

shown = frame("Recommended panel", "Which judges, and which pipeline?")
recommended.page(guard(shown, "This page chooses a panel that holds up on items it has not seen."))
