"""Panel curve: keep all judges, or the top k?"""

from judgepanel.ui.pages.curve import page

page()
