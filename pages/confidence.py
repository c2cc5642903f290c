"""Confidence: can the probabilities be believed?"""

from judgepanel.present.registry import CONFIDENCE_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import confidence

context = page_frame(CONFIDENCE_PAGE)
confidence.page(guard(context, "This page shows how often the panel is right when it says it is."))
