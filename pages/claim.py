"""The claim: does the paper's reversal hold here?"""

from judgepanel.present.registry import CLAIM_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import claim

context = page_frame(CLAIM_PAGE)
claim.page(guard(context, "This page shows the paper's protocol beside an honest one."))
