"""Scope: is the recommendation safe here?"""

from judgepanel.ui.pages.scope import page

page()
