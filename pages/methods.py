"""Methods: which aggregator and calibrator?"""

from judgepanel.ui import methods_page
from judgepanel.ui.frame import frame, guard

shown = frame("Methods", "Which aggregator, and which calibrator?")
methods_page.page(guard(shown, "This page holds every aggregator and calibrator side by side."))
