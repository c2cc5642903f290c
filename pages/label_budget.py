"""Label budget: how many labels do we need?"""

from judgepanel.ui.pages.label_budget import page

page()
