"""Recommended panel: which judges, which pipeline?"""

from judgepanel.ui.pages.recommended import page

page()
