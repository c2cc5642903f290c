"""What each judge is worth: who helps, who could go, with the evidence."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.statuses import JudgeStatus, statuses_of
from judgepanel.present.decide.value import ValueView, value_spec
from judgepanel.present.registry import ENTRIES
from judgepanel.studies.value.value import VALUE
from judgepanel.studies.value.value_result import Value
from judgepanel.ui.frame import PageContext
from judgepanel.ui.render import Caveats, draw_study
from judgepanel.ui.work import show_result, stored_result


def value(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> bool:
    """The section, computed unasked once the panel is known; whether its work has ended."""
    entry, asked = ENTRIES[VALUE.name], value_spec(spec, recommendation)
    st.header(entry.study.title)

    def draw(result: Value) -> None:
        view = ValueView(statuses_of(context.votes, asked, result))
        draw_study(entry, context, asked, result, view, caveats=caveats)

    return show_result(VALUE, context, asked, draw)


def known_statuses(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation
) -> tuple[JudgeStatus, ...]:
    """What is known of each judge, where their value has been computed; else nothing."""
    worth = known_value(context, spec, recommendation)
    if worth is None:
        return ()
    return statuses_of(context.votes, value_spec(spec, recommendation), worth)


def known_value(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation
) -> Value | None:
    """What judges are worth, where it has been computed."""
    worth: Value | None = stored_result(VALUE, context, value_spec(spec, recommendation))
    return worth
