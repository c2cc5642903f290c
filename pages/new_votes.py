"""New votes: is the panel still right?"""

from judgepanel.ui.pages.new_votes import page

page()
