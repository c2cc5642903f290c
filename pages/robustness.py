"""Robustness: what would break it?"""

from judgepanel.ui.pages.robustness import page

page()
