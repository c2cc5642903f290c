"""Coverage: did we read what the judges wrote?"""

from judgepanel.ui.pages.coverage import page

page()
