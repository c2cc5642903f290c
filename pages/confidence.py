"""Confidence: can the probabilities be believed?"""

from judgepanel.present.pages import CONFIDENCE_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import confidence

draw_page(
    CONFIDENCE_PAGE,
    confidence.page,
    "This page shows how often the panel is right when it says it is.",
)
