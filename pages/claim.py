"""The claim: does the paper's reversal hold here?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import claim

shown = frame("The claim", "Does the paper's reversal hold here?")
claim.page(guard(shown, "This page shows the paper's protocol beside an honest one."))
