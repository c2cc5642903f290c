"""The pages of the dashboard, in the order of its menu."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard: its name, its menu title, and the question it answers."""

    name: str
    title: str
    question: str
    group: str

    @property
    def file(self) -> str:
        """The file that draws it."""
        return f"pages/{self.name}.py"


OVERVIEW_PAGE = Page("overview", "Overview", "What do we do?", "Decide")
CURVE_PAGE = Page("panel_curve", "Panel curve", "Keep all judges, or the top k?", "Decide")
RECOMMENDED_PAGE = Page("recommended_panel", "Recommended panel", "Which judges?", "Decide")
ESTIMATE_PAGE = Page("estimate", "Estimate", "How good are the systems?", "Decide")
NEW_VOTES_PAGE = Page("new_votes", "New votes", "Is the panel still right?", "Decide")
CONFIDENCE_PAGE = Page("confidence", "Confidence", "Can the probabilities be believed?", "Trust")
BUDGET_PAGE = Page("label_budget", "Label budget", "How many labels do we need?", "Trust")
SCOPE_PAGE = Page("scope", "Scope", "Is the recommendation safe here?", "Trust")
ROBUSTNESS_PAGE = Page("robustness", "Robustness", "What would break it?", "Trust")
COVERAGE_PAGE = Page("coverage", "Coverage", "Did we read what the judges wrote?", "Understand")
JUDGES_PAGE = Page("judges", "Judges", "Who adds what?", "Understand")
METHODS_PAGE = Page("methods", "Methods", "Which aggregator, and which calibrator?", "Understand")
PAPER_PAGE = Page("claim", "The paper", "Do the paper's results hold here?", "Understand")
_DECIDE = (OVERVIEW_PAGE, CURVE_PAGE, RECOMMENDED_PAGE, ESTIMATE_PAGE, NEW_VOTES_PAGE)
_TRUST = (CONFIDENCE_PAGE, BUDGET_PAGE, SCOPE_PAGE, ROBUSTNESS_PAGE)
_UNDERSTAND = (COVERAGE_PAGE, JUDGES_PAGE, METHODS_PAGE, PAPER_PAGE)
PAGES = (*_DECIDE, *_TRUST, *_UNDERSTAND)
"""Pages in menu order; Start precedes them. Overview, New votes and Coverage have no study
of their own."""
SUMMARIZED = (SCOPE_PAGE, CONFIDENCE_PAGE, CURVE_PAGE, BUDGET_PAGE, ESTIMATE_PAGE)
"""Pages whose first answers stand on Overview, and on the first page of a report."""
