"""Overview: what do we do?"""

from judgepanel.ui.pages.overview import page

page()
