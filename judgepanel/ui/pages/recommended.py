"""Recommended panel: which judges, which pipeline, why, at what cost; its files."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.decision.reading import as_asked
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.recommend_spec import shared_run
from judgepanel.present.blocks import Block, opening
from judgepanel.present.decide.panel_judges import RecommendationView
from judgepanel.present.decide.recommend import (
    beats_null,
    curating_is_safe,
    explained_by_position,
    open_questions,
    recommendation_sentence,
    reservations,
)
from judgepanel.present.pages import RECOMMENDED_PAGE
from judgepanel.present.registry import ENTRIES
from judgepanel.studies.panel.what_if import WHAT_IF
from judgepanel.ui.frame import PageContext, answer, caption, problem
from judgepanel.ui.pages.recommended_options import recommend_spec, with_candidate
from judgepanel.ui.pages.recommended_take import exports, scoring
from judgepanel.ui.pages.recommended_what_if import what_if
from judgepanel.ui.pages.recommended_worth import (
    WORTH,
    costs,
    curators,
    known_statuses,
    known_value,
    value,
)
from judgepanel.ui.render import Caveats, draw_blocks, draw_how, page_blocks, show_others
from judgepanel.ui.work import show_result, stored_result
from judgepanel.votes import InputError
from judgepanel.words.sentences import so_far


def page(context: PageContext) -> None:
    """Draw the recommendation as it grows; then what rests on it, one section after the other.

    One run serves all preferences and candidates: another choice is read from its result.
    """
    caveats, asked = Caveats(), recommend_spec(context)
    verdict = st.container()
    try:
        spec = with_candidate(context, asked)
        _recommendation(context, spec, verdict, caveats)
    except InputError as error:  # The costs or the budget allow no panel.
        with verdict:
            problem(str(error))


def _recommendation(
    context: PageContext, spec: RecommendSpec, place: DeltaGenerator, caveats: Caveats
) -> None:
    run = shared_run(spec)
    evidence, how = list[Block](), list[Block]()

    def draw(general: Recommendation) -> None:
        result = as_asked(context.votes, spec, general)
        view = _view(context, spec, result)
        blocks, how[:] = page_blocks(
            ENTRIES[RECOMMEND.name], context, spec, result, view, caveats=caveats
        )
        verdict, evidence[:] = opening(blocks)
        _verdict(result, verdict)
        if result.partial:
            st.caption("The panel can be exported when all splits are done.")
            _evidence(evidence, how)

    with place:
        ended = show_result(RECOMMEND, context, run, draw)
    general = stored_result(RECOMMEND, context, run) if ended else None
    if general is not None and not general.partial:
        result = as_asked(context.votes, spec, general)
        exports(context, spec, result)
        what_if(context, spec, result)
        scoring(context, spec, result)
        _evidence(evidence, how)
        _worth(context, spec, result, caveats)


def _view(context: PageContext, spec: RecommendSpec, result: Recommendation) -> RecommendationView:
    if result.partial:
        return RecommendationView(context.votes)
    value = known_value(context, spec, result)
    worth = (
        {} if value is None else {judge.judge: float(judge.value.value) for judge in value.judges}
    )
    return RecommendationView(context.votes, known_statuses(context, spec, result), worth)


def _verdict(result: Recommendation, blocks: list[Block]) -> None:
    """Draw the banner, and what comes before the first heading."""
    sentence = so_far(result) + recommendation_sentence(result)
    answer(sentence, _tone(result))
    if result.prefer != "nll" or result.instead_of is not None:
        caption("The other pages show the panel that is recommended for the lowest NLL.")
    draw_blocks(blocks, key=RECOMMEND.name, skip=(sentence,))


def _evidence(blocks: list[Block], how: list[Block]) -> None:
    """Draw the panel, absences and all candidates."""
    draw_blocks(blocks, key=f"{RECOMMEND.name}-evidence")
    draw_how(how, key=RECOMMEND.name)


def _worth(
    context: PageContext, spec: RecommendSpec, result: Recommendation, caveats: Caveats
) -> None:
    """Draw what judges are worth and cost, one study after the other."""
    if (
        value(context, spec, result, caveats)
        and costs(context, spec, result, caveats)
        and curators(context, spec, result, caveats)
    ):
        study_names = {RECOMMEND.name, WHAT_IF.name, *WORTH}
        show_others(context, RECOMMENDED_PAGE, study_names, caveats=caveats)


def _tone(result: Recommendation) -> str:
    if (
        result.instead_of is not None
        or not beats_null(result)
        or reservations(result)
        or open_questions(result)
        or explained_by_position(result)
    ):
        return "open"
    if result.keeps_all:
        return "keep"
    return "curate" if curating_is_safe(result) else "open"
