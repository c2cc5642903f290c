"""What a panel costs: the frontier of NLL against cost, and asking all judges only in doubt."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.cost import cost as cost_figure
from judgepanel.figures.cost import escalation as escalation_figure
from judgepanel.present.default_specs import cost_spec, escalation_spec
from judgepanel.report.cost import READING, cost_sentence, cost_table, panels_table, price_sentence
from judgepanel.report.escalation import (
    cheap_sentence,
    escalation_sentence,
    escalation_table,
    promise_sentence,
)
from judgepanel.studies.cost.cost import COST, CostSpec
from judgepanel.studies.cost.cost_result import Cost
from judgepanel.studies.cost.escalation import ESCALATION, EscalationSpec
from judgepanel.studies.cost.escalation_result import Escalation
from judgepanel.ui.frame import Shown, notes
from judgepanel.ui.pages.recommended_knobs import known_of
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result


def costs(shown: Shown, spec: RecommendSpec, found: Recommendation) -> bool:
    """The section, or what it needs; whether its work has ended."""
    st.header("What it costs")
    if known_of(shown).costs is None:
        st.caption(
            "The votes come without costs. A judge table with a column `cost` (per item, for "
            "every judge) brings the price of better panels and of asking all judges only in "
            "doubt."
        )
        return True
    if found.n_judges < 2:
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
    priced = cost_spec(spec, found)
    if not show_result(COST, shown, priced, lambda worth: _frontier(shown, priced, worth)):
        return False
    st.header("All judges only in doubt")
    doubt = escalation_spec(spec, found)
    return show_result(ESCALATION, shown, doubt, lambda asked: _doubt(shown, doubt, asked))


def _frontier(shown: Shown, spec: CostSpec, found: Cost) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    said(so_far + cost_sentence(found))
    said(price_sentence(found))
    notes(found.warnings)
    st.plotly_chart(
        cost_figure(found),
        key="cost-figure",
        alt="NLL of the best panel found under every budget against what it costs an item.",
        config={"displayModeBar": False},
    )
    table(cost_table(found), key="cost")
    with st.expander("Who is in these panels"):
        table(panels_table(found), key="cost-panels")
    if not found.partial:
        downloads(shown, COST, spec, found)
    how_study(shown, COST, spec, READING)


def _doubt(shown: Shown, spec: EscalationSpec, found: Escalation) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    said(so_far + escalation_sentence(found))
    said(promise_sentence(found))
    notes(found.warnings)
    st.plotly_chart(
        escalation_figure(found),
        key="escalation-figure",
        alt="NLL against what an item costs, for every threshold of confidence.",
        config={"displayModeBar": False},
    )
    table(escalation_table(found), key="escalation")
    if not found.partial:
        downloads(shown, ESCALATION, spec, found)
    how_study(
        shown,
        ESCALATION,
        spec,
        f"{cheap_sentence(found)} Thresholds were fixed in advance; in every split the "
        "recommended one is chosen on the calibration items.",
    )
