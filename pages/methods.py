"""Methods: which aggregator and calibrator?"""

from judgepanel.ui.pages.methods import page

page()
