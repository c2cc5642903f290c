"""Start: what did you bring?"""

from judgepanel.ui.frame import frame
from judgepanel.ui.pages import start

shown = frame("Start", "What did you bring?")
if shown is None:
    start.fresh()
else:
    start.existing(shown)
