"""Label budget: how many labels do we need?"""

from judgepanel.present.registry import BUDGET_PAGE
from judgepanel.ui.frame import guard, page_frame
from judgepanel.ui.pages import label_budget

context = page_frame(BUDGET_PAGE)
label_budget.page(guard(context, "This page shows the NLL against the number of labels."))
