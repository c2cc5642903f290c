"""What each judge is worth: keep, drop or watch, with the evidence."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.statuses import JudgeStatus, statuses_of
from judgepanel.figures.value import removal
from judgepanel.figures.value import value as value_figure
from judgepanel.present.default_specs import value_spec
from judgepanel.report.value import (
    copies_sentence,
    droppable_sentence,
    removal_sentence,
    removal_table,
    roles_sentence,
    shapley_sentence,
    status_table,
    value_sentence,
)
from judgepanel.studies.value.value import VALUE, ValueSpec
from judgepanel.studies.value.value_result import Value
from judgepanel.ui.frame import Shown, notes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result, stored_result


def value(shown: Shown, spec: RecommendSpec, found: Recommendation) -> bool:
    """The section, when asked for or known; whether its work has ended."""
    st.header("What each judge is worth")
    asked = value_spec(spec, found)
    wanted = st.toggle(
        "Find out whom to keep, drop and watch",
        key="worth",
        bind="query-params",
        help="Fits panels anew without each judge: about half a minute for 65 judges.",
    )
    if not wanted and known_value(shown, spec, found) is None:
        return True
    return show_result(VALUE, shown, asked, lambda worth: _draw(shown, asked, worth))


def known_statuses(
    shown: Shown, spec: RecommendSpec, found: Recommendation
) -> tuple[JudgeStatus, ...]:
    """Keep, drop or watch, where their value has been computed; else nothing."""
    worth = known_value(shown, spec, found)
    return () if worth is None else statuses_of(shown.votes, value_spec(spec, found), worth)


def known_value(shown: Shown, spec: RecommendSpec, found: Recommendation) -> Value | None:
    """What judges are worth, where it has been computed."""
    worth: Value | None = stored_result(VALUE, shown, value_spec(spec, found))
    return worth


def _draw(shown: Shown, spec: ValueSpec, worth: Value) -> None:
    status = statuses_of(shown.votes, spec, worth)
    so_far = f"So far, {worth.n_splits} of {worth.planned_splits} splits: " * worth.partial
    said(so_far + value_sentence(worth))
    notes(worth.warnings)
    st.plotly_chart(
        value_figure(worth, status),
        key="value",
        alt="What NLL loses without each judge, with intervals; keep, drop and watch told apart.",
        config={"displayModeBar": False},
    )
    said(shapley_sentence(worth))
    table(status_table(worth, status), key="statuses", height=360)
    st.header("How many can go")
    said(removal_sentence(worth))
    said(droppable_sentence(worth))
    st.plotly_chart(
        removal(worth),
        key="removal",
        alt="NLL against the number of least valuable judges that are taken out.",
        config={"displayModeBar": False},
    )
    table(removal_table(worth), key="removal")
    said(roles_sentence(worth))
    said(copies_sentence(worth))
    if not worth.partial:
        downloads(shown, VALUE, spec, worth)
    how_study(
        shown,
        VALUE,
        spec,
        f"{worth.n_splits} random splits (seed {worth.seed}). Without a judge means that the panel "
        "is fitted anew without its votes on the calibration items, and scored on the other items "
        "against the panel with everybody. Who goes first is found on calibration items alone. "
        "Shapley values average what a judge adds over orders in which judges join.",
    )
