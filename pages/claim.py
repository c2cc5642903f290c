"""The paper: do its results hold here? Links to the page's former name, the claim, open it."""

from judgepanel.ui.pages.paper import page

page()
