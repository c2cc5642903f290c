"""Start: what did you bring?"""

from judgepanel.ui.frame import frame
from judgepanel.ui.pages import compare, start

if compare.is_asked():
    shown = frame("Two analyses", "What changed, and what did it do to the answer?")
else:
    shown = frame("Start", "What did you bring?")
if shown is None:
    start.fresh()
elif compare.is_asked():
    compare.page(shown)
else:
    start.existing(shown)
