"""Sections below the panel: what judges are worth, what panels cost, whether choosing pays."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.recommend_spec import RecommendSpec
from judgepanel.decision.statuses import JudgeStatus, statuses_of
from judgepanel.present.decide.cost import cost_spec
from judgepanel.present.decide.decision import other_pipeline
from judgepanel.present.decide.escalation import escalation_spec
from judgepanel.present.decide.value import ValueView, value_spec
from judgepanel.present.entry import Entry
from judgepanel.present.pipeline import pipeline_of
from judgepanel.present.registry import ENTRIES
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.contract import Spec
from judgepanel.studies.cost.cost import COST
from judgepanel.studies.cost.escalation import ESCALATION
from judgepanel.studies.panel.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.studies.value.value import VALUE
from judgepanel.studies.value.value_result import Value
from judgepanel.ui.frame import PageContext, caption
from judgepanel.ui.pages.recommended_options import known_of
from judgepanel.ui.render import Caveats, draw_study, show_study
from judgepanel.ui.work import show_result, stored_result

WORTH = (VALUE.name, COST.name, ESCALATION.name, CURATORS_STUDY.name)
"""The studies of these sections."""


def value(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> bool:
    """Draw the section, computed once the panel is known; return whether the work has ended."""
    entry, asked = ENTRIES[VALUE.name], value_spec(spec, recommendation)
    st.header(entry.study.title)
    _name_pipeline(entry, asked, recommendation)

    def draw(result: Value) -> None:
        view = ValueView(statuses_of(context.votes, asked, result))
        draw_study(entry, context, asked, result, view, caveats=caveats)

    return show_result(VALUE, context, asked, draw)


def known_statuses(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation
) -> tuple[JudgeStatus, ...]:
    """Statuses of the judges if their value has been computed, else none."""
    worth = known_value(context, spec, recommendation)
    if worth is None:
        return ()
    return statuses_of(context.votes, value_spec(spec, recommendation), worth)


def known_value(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation
) -> Value | None:
    """The value of the judges if it has been computed, else None."""
    worth: Value | None = stored_result(VALUE, context, value_spec(spec, recommendation))
    return worth


def costs(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> bool:
    """Draw the section, or say what it needs; return whether the work has ended."""
    frontier, doubt = ENTRIES[COST.name], ENTRIES[ESCALATION.name]
    st.header(frontier.study.title)
    if known_of(context).costs is None:
        st.caption(
            "These votes have no costs. A judge table with a column `cost` (per item, for every "
            "judge) adds the price of better panels and of asking all judges only when in doubt."
        )
        return True
    if recommendation.n_judges < 2:
        st.caption("There is only one judge, so there is nothing to save.")
        return True
    wanted = st.toggle(
        "Compute what better panels cost",
        key="prices",
        bind="query-params",
        help="Finds the best panel under each of a few budgets, and asks a cheap one first: about "
        "a minute for 65 judges.",
    )
    if not wanted:
        return True
    priced = cost_spec(spec, recommendation)
    escalated = escalation_spec(spec, recommendation)
    _name_pipeline(frontier, priced, recommendation)
    if not show_study(frontier, context, priced, caveats=caveats):
        return False
    st.header(doubt.study.title)
    _name_pipeline(doubt, escalated, recommendation)
    return show_study(doubt, context, escalated, caveats=caveats)


def curators(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> bool:
    """Draw the section, computed only when the user asks; return whether the work has ended."""
    entry = ENTRIES[CURATORS_STUDY.name]
    st.header(entry.study.title)
    wanted = st.toggle(
        "Compare ways of choosing judges",
        key="curators",
        bind="query-params",
        help="Each way chooses judges on the calibration items of a split, is refitted, and is "
        "compared with all judges on the other items.",
    )
    if not wanted:
        return True
    asked = CuratorsSpec(settings=spec.settings)
    _name_pipeline(entry, asked, recommendation)
    return show_study(entry, context, asked, caveats=caveats)


def _name_pipeline(entry: Entry, spec: Spec, recommendation: Recommendation) -> None:
    """Say which pipeline a section shows, if it is not the panel above, and why."""
    average = recommendation.chosen.panel == AVERAGE
    pipeline = replace(pipeline_of(recommendation), recommended=average)
    if another := other_pipeline(spec, pipeline, entry.single):
        caption(f"This section shows {another}.")
