"""Panel curve: keep all judges, or the top k?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import curve

shown = frame("Panel curve", "Keep all judges, or the top k?")
curve.page(guard(shown, "This page compares all judges with the most accurate few."))
