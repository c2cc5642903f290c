"""Estimate: how good are the systems, from many votes and few labels?"""

from judgepanel.ui.pages.estimate import page

page()
