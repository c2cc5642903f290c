"""Coverage: did we read what the judges wrote?"""

from judgepanel.present.pages import COVERAGE_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import coverage

draw_page(COVERAGE_PAGE, coverage.page, "This page shows what was read from the judges' outputs.")
