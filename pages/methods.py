"""Methods: which aggregator and calibrator?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import methods

shown = frame("Methods", "Which aggregator, and which calibrator?")
methods.page(guard(shown, "This page holds every aggregator and calibrator side by side."))
