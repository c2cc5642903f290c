"""What a panel costs: the frontier of NLL against cost, and asking all judges only in doubt."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.decide.cost import cost_spec
from judgepanel.present.decide.escalation import escalation_spec
from judgepanel.present.registry import ENTRIES
from judgepanel.studies.cost.cost import COST
from judgepanel.studies.cost.escalation import ESCALATION
from judgepanel.ui.frame import PageContext
from judgepanel.ui.pages.recommended_options import known_of
from judgepanel.ui.render import Caveats, show_study


def costs(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> bool:
    """The section, or what it needs; whether its work has ended."""
    frontier, doubt = ENTRIES[COST.name], ENTRIES[ESCALATION.name]
    st.header(frontier.study.title)
    if known_of(context).costs is None:
        st.caption(
            "The votes come without costs. A judge table with a column `cost` (per item, for "
            "every judge) brings the price of better panels and of asking all judges only in "
            "doubt."
        )
        return True
    if recommendation.n_judges < 2:
        st.caption("There is one judge only, so there is nothing to save.")
        return True
    wanted = st.toggle(
        "Find out what better panels cost",
        key="prices",
        bind="query-params",
        help="Finds the best panel under each of a few budgets, and asks a cheap one first: about "
        "a minute for 65 judges.",
    )
    if not wanted:
        return True
    if not show_study(frontier, context, cost_spec(spec, recommendation), caveats=caveats):
        return False
    st.header(doubt.study.title)
    return show_study(doubt, context, escalation_spec(spec, recommendation), caveats=caveats)
