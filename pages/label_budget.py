"""Label budget: how many labels do we need?"""

from judgepanel.present.pages import BUDGET_PAGE
from judgepanel.ui.frame import draw_page
from judgepanel.ui.pages import label_budget

draw_page(BUDGET_PAGE, label_budget.page, "This page shows the NLL against the number of labels.")
