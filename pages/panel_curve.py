"""Panel curve: keep all judges, or the top k?"""

from judgepanel.ui import curve
from judgepanel.ui.frame import frame, guard

shown = frame("Panel curve", "Keep all judges, or the top k?")
curve.page(guard(shown, "This page compares all judges with the most accurate few."))
