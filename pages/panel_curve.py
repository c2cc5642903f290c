"""Panel curve: keep all judges, or the top k?"""

from judgepanel.present.pages import CURVE_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import curve

draw_page(CURVE_PAGE, curve.page, "This page compares all judges with the most accurate few.")
