"""The claim: does the paper's reversal hold here?"""

from judgepanel.present.registry import CLAIM_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import claim

shown = page_frame(CLAIM_PAGE)
claim.page(guard(shown, "This page shows the paper's protocol beside an honest one."))
