"""Confidence: can the probabilities be believed?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import confidence

shown = frame("Confidence", "Can the probabilities be believed?")
confidence.page(guard(shown, "This page shows how often the panel is right when it says it is."))
