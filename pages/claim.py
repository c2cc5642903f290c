"""The paper: do its results hold here? Links to the page's former name, the claim, open it."""

from judgepanel.present.pages import PAPER_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import paper

draw_page(PAPER_PAGE, paper.page, "This page shows the paper's protocol beside an honest one.")
