"""Label budget: how many labels do we need?"""

from judgepanel.ui import label_budget_page
from judgepanel.ui.frame import frame, guard

shown = frame("Label budget", "How many labels do we need?")
label_budget_page.page(guard(shown, "This page shows the NLL against the number of labels."))
