"""The claim: does the paper's reversal hold here?"""

from judgepanel.present.pages import CLAIM_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import claim

draw_page(CLAIM_PAGE, claim.page, "This page shows the paper's protocol beside an honest one.")
