"""Label budget: how many labels do we need?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import label_budget

shown = frame("Label budget", "How many labels do we need?")
label_budget.page(guard(shown, "This page shows the NLL against the number of labels."))
