"""Start: what did you bring?"""

from judgepanel.ui import start
from judgepanel.ui.frame import frame

shown = frame("Start", "What did you bring?")
if shown is None:
    start.fresh()
else:
    start.existing(shown)
