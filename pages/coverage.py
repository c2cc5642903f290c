"""Coverage: did we read what the judges wrote?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import coverage

shown = frame("Coverage", "Did we read what the judges wrote?")
coverage.page(guard(shown, "This page shows what was read of the judges' outputs."))
