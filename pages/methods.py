"""Methods: which aggregator and calibrator?"""

from judgepanel.present.registry import METHODS_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import methods

context = page_frame(METHODS_PAGE)
methods.page(guard(context, "This page holds every aggregator and calibrator side by side."))
