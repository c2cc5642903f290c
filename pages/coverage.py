"""Coverage: did we read what the judges wrote?"""

from judgepanel.present.registry import COVERAGE_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import coverage

context = page_frame(COVERAGE_PAGE)
coverage.page(guard(context, "This page shows what was read of the judges' outputs."))
