"""Panel curve: keep all judges, or the top k?"""

from judgepanel.present.registry import CURVE_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import curve

context = page_frame(CURVE_PAGE)
curve.page(guard(context, "This page compares all judges with the most accurate few."))
