"""The pages of the dashboard, in the order of its menu."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard: its file, its menu title, and the question it answers."""

    file: str
    title: str
    question: str
    group: str


OVERVIEW_PAGE = Page("pages/overview.py", "Overview", "What do we do?", "Decide")
CURVE_PAGE = Page("pages/panel_curve.py", "Panel curve", "Keep all judges, or the top k?", "Decide")
RECOMMENDED_PAGE = Page(
    "pages/recommended_panel.py",
    "Recommended panel",
    "Which judges?",
    "Decide",
)
ESTIMATE_PAGE = Page("pages/estimate.py", "Estimate", "How good are the systems?", "Decide")
NEW_VOTES_PAGE = Page("pages/new_votes.py", "New votes", "Is the panel still right?", "Decide")
CONFIDENCE_PAGE = Page(
    "pages/confidence.py", "Confidence", "Can the probabilities be believed?", "Trust"
)
BUDGET_PAGE = Page("pages/label_budget.py", "Label budget", "How many labels do we need?", "Trust")
SCOPE_PAGE = Page("pages/scope.py", "Scope", "Is the recommendation safe here?", "Trust")
ROBUSTNESS_PAGE = Page("pages/robustness.py", "Robustness", "What would break it?", "Trust")
COVERAGE_PAGE = Page(
    "pages/coverage.py", "Coverage", "Did we read what the judges wrote?", "Understand"
)
JUDGES_PAGE = Page("pages/judges.py", "Judges", "Who adds what?", "Understand")
METHODS_PAGE = Page(
    "pages/methods.py", "Methods", "Which aggregator, and which calibrator?", "Understand"
)
PAPER_PAGE = Page("pages/claim.py", "The paper", "Do the paper's results hold here?", "Understand")
PAGES = (
    OVERVIEW_PAGE,
    CURVE_PAGE,
    RECOMMENDED_PAGE,
    ESTIMATE_PAGE,
    NEW_VOTES_PAGE,
    CONFIDENCE_PAGE,
    BUDGET_PAGE,
    SCOPE_PAGE,
    ROBUSTNESS_PAGE,
    COVERAGE_PAGE,
    JUDGES_PAGE,
    METHODS_PAGE,
    PAPER_PAGE,
)
"""Pages in menu order; Start precedes them. Overview, New votes and Coverage have no study
of their own."""
SUMMARIZED = (SCOPE_PAGE, CONFIDENCE_PAGE, CURVE_PAGE, BUDGET_PAGE, ESTIMATE_PAGE)
"""Pages whose first answers stand on Overview, and on the first page of a report."""
