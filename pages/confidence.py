"""Confidence: can the probabilities be believed?"""

from judgepanel.ui.pages.confidence import page

page()
