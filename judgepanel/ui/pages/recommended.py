"""Recommended panel: which judges, which pipeline; why; what it costs; take it away."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.panel_file import load_panel
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.judges.judges import kept_judges
from judgepanel.report.absence import absence_table, absence_words
from judgepanel.report.commands import recommend_command
from judgepanel.report.recommendation import (
    beats_null,
    certainty_sentence,
    curating_is_safe,
    explained_by_position,
    recommendation_sentence,
    reservations,
    rival_sentence,
    statuses_sentence,
    tied_sentence,
    way_sentence,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES
from judgepanel.report.tables import candidate_table
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.pages.recommended_cost import costs
from judgepanel.ui.pages.recommended_curators import curators
from judgepanel.ui.pages.recommended_knobs import recommend_spec
from judgepanel.ui.pages.recommended_take import exports, panel_text, scoring
from judgepanel.ui.pages.recommended_value import known_statuses, value
from judgepanel.ui.pages.recommended_what_if import what_if
from judgepanel.ui.parts import how, said, table
from judgepanel.ui.session import judges_of
from judgepanel.ui.work import show_result, stored_result


def page(shown: Shown) -> None:
    """The recommendation as it grows; then what rests on it, one section after the other."""
    spec = recommend_spec(shown)
    if show_result(RECOMMEND, shown, spec, lambda found: _draw(shown, spec, found)):
        found = stored_result(RECOMMEND, shown, spec)
        if found is not None and not found.partial:
            _sections(shown, spec, found)
    next_step("pages/panel_curve.py", "the curve behind it", shown.analysis)


def _draw(shown: Shown, spec: RecommendSpec, found: Recommendation) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    status = () if found.partial else known_statuses(shown, spec, found)
    answer(so_far + recommendation_sentence(found), _tone(found))
    for sentence in (
        way_sentence(found),
        statuses_sentence(status),
        certainty_sentence(found),
        rival_sentence(found),
        tied_sentence(found),
    ):
        if sentence:
            said(sentence)
    notes(found.warnings)
    if not status:
        st.plotly_chart(
            kept_judges(judges_of(shown.votes), found.model.judges, found.set_aside),
            key="kept",
            alt="Accuracy of every judge with its interval; kept and left out are told apart.",
            config={"displayModeBar": False},
        )
    if found.partial:
        st.caption("The panel can be exported when all splits are done.")
        _candidates(shown, spec, found)


def _sections(shown: Shown, spec: RecommendSpec, found: Recommendation) -> None:
    exports(shown, spec, found)
    what_if(shown, spec, found)
    if value(shown, spec, found) and costs(shown, spec, found):
        curators(shown, spec)
    _absences(found)
    scoring(shown, load_panel(panel_text(shown, spec, found)))
    _candidates(shown, spec, found)


def _absences(found: Recommendation) -> None:
    if found.absence is None:
        return
    st.header("When judges are absent")
    for sentence in absence_words(found):
        said(sentence)
    table(absence_table(found), key="absences", height=320)


def _candidates(shown: Shown, spec: RecommendSpec, found: Recommendation) -> None:
    st.header("All candidates")
    candidates = candidate_table(found).replace(
        {"aggregator": AGGREGATOR_NAMES, "calibrator": CALIBRATOR_NAMES}
    )
    table(candidates, key="candidates")
    how(
        f"In each of {found.n_splits} splits (seed {found.seed}) every candidate is "
        f"cross-validated on the {found.n_calibration:,.0f} calibration items alone "
        f"({spec.folds} folds, ranking and calibration inside), one is taken as in the end and "
        f"scored on the other {found.n_evaluation:,.0f}: that mean is the expected NLL above, "
        "selection included. A candidate's own figures do not allow for having been picked among "
        f"many. The panel in the file repeats the choice on all {found.n_items:,} labelled items. "
        "The reference is the paper's default: all judges, one-coin, beta.",
        recommend_command(
            shown.analysis.file, spec, task=shown.votes.task, columns=shown.analysis.columns
        ),
    )


def _tone(found: Recommendation) -> str:
    if not beats_null(found) or reservations(found) or explained_by_position(found):
        return "open"
    if len(found.model.judges) == found.n_judges:
        return "keep"
    return "curate" if curating_is_safe(found) else "open"
