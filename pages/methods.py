"""Methods: which aggregator and calibrator?"""

from judgepanel.present.pages import METHODS_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import methods

draw_page(
    METHODS_PAGE, methods.page, "This page holds every aggregator and calibrator side by side."
)
