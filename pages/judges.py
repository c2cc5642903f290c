"""Judges: who adds what?"""

from judgepanel.ui.pages.judges import page

page()
