"""Overview: the decision, whether it can be trusted, and the numbers, each with its page.

The sections are computed one after the other, the decision first.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from judgepanel.decision.recommend import RECOMMEND
from judgepanel.decision.recommend_result import Recommendation, cards_of
from judgepanel.present import pages as menu
from judgepanel.present.blocks import Caveat
from judgepanel.present.decide import panel_curve, recommend
from judgepanel.present.decide.cards import card_sentence
from judgepanel.present.registry import PRESENTATIONS, entries_of
from judgepanel.present.study import at_a_glance, pipeline_of, study_blocks
from judgepanel.present.trust import group_change, scope
from judgepanel.studies.contract import Spec
from judgepanel.studies.decide.panel_curve import PanelCurve, PanelCurveSpec
from judgepanel.studies.slices import names_systems
from judgepanel.studies.trust.group_change import GROUP_CHANGE
from judgepanel.studies.trust.label_budget import LABEL_BUDGET
from judgepanel.studies.trust.scope import SCOPE, Scope, ScopeSpec
from judgepanel.ui.frame import START, PageContext, answer, caption, link_to, menu_page
from judgepanel.ui.pages.recommended import draw_cards, draw_only_card
from judgepanel.ui.pipeline import in_use, known_recommendation
from judgepanel.ui.render import draw_blocks, how, section_answer, small
from judgepanel.ui.session import link_parameters
from judgepanel.ui.work import show_result, start, stored_result
from judgepanel.words.sentences import report_command, so_far
from judgepanel.words.text import counted

_QUICK = {
    SCOPE.name: "Whether P2 and P3 pass is computed on {page}.",
    LABEL_BUDGET.name: "By a quicker pipeline, {other}; {page} has that of the recommended panel.",
}
"""Studies that choose the recommended panel again for every point, which takes long: until they
have done so on their page, the card shows a single pipeline and says so.
"""


@menu_page(
    menu.OVERVIEW_PAGE,
    "This page has the decision, whether it can be trusted, and the numbers behind it.",
)
def page(context: PageContext) -> None:
    """Draw the decision, then a card per question, each when the one before it has ended."""
    recommendation: Recommendation | None = None
    for spec in PRESENTATIONS[RECOMMEND.name].specs(context.votes, context.analysis.settings)[:1]:
        if not show_result(RECOMMEND, context, spec, partial(_decision, context)):
            return
        recommendation = known_recommendation(context)
        link_to(context, menu.RECOMMENDED_PAGE, "Download this panel, or choose another")
    # Votes can say more than labels do of systems, and of items without a label.
    estimates = names_systems(context.votes) or not context.votes.labelled.all()
    pages = [page for page in menu.SUMMARIZED if page != menu.ESTIMATE_PAGE or estimates]
    columns = [column for _ in range(0, len(pages), 2) for column in st.columns(2, gap="medium")]
    with columns[-1].container(border=True, height="stretch") if len(pages) % 2 else st.container():
        _read_as(context)
    places = dict(zip(pages, columns, strict=False))
    asked = {shown: _spec(context, shown, recommendation) for shown in pages}
    in_turn = sorted(pages, key=lambda page: page == menu.SCOPE_PAGE)  # It takes longest.
    for place, shown in enumerate(in_turn):
        with places[shown].container(border=True, height="stretch"):
            ended = _card(context, shown, asked[shown], recommendation)
        if not ended:
            for later in in_turn[place + 1 :]:
                start(entries_of(later)[0].study, context, asked[later])
            return
    analysis, votes = context.analysis, context.votes
    names = [RECOMMEND.name, *(entries_of(shown)[0].name for shown in pages)]
    how(
        "Each card has the first answer and figure of its page, which says how it was computed. "
        "This command writes them all into one report.",
        report_command(
            names, analysis.file, analysis.settings, task=votes.task, columns=analysis.columns
        ),
    )


def _decision(context: PageContext, general: Recommendation) -> None:
    result, analysis = in_use(context, general), context.analysis
    cards = cards_of(result, analysis.price)
    if recommend.is_doubtful(result):
        answer(so_far(result) + recommend.recommendation_sentence(result), "open")
    else:
        card = cards.marked_card if analysis.prefer == "nll" else cards.all[-1]
        answer(so_far(result) + card_sentence(result, card))
        if cards.lean is None:
            draw_only_card(result, cards)
            return
    draw_cards(context, result, analysis.price, analysis.prefer, brief=True)


def _spec(context: PageContext, page: menu.Page, recommendation: Recommendation | None) -> Spec:
    """Return the spec of a page's first study: the page's own, or a quick one."""
    entry = entries_of(page)[0]
    specs = entry.specs(context.votes, context.analysis.settings, recommendation)
    slow = entry.name in _QUICK
    return specs[-1] if slow and stored_result(entry.study, context, specs[0]) is None else specs[0]


def _card(
    context: PageContext, page: menu.Page, spec: Spec, recommendation: Recommendation | None
) -> bool:
    """Draw a page's first answer and figure; return whether its work has ended."""
    entry = entries_of(page)[0]
    link_to(context, page, page.title)
    other = recommend.other_pipeline(spec, pipeline_of(recommendation))
    quick = entry.name in _QUICK and bool(other)

    def draw(result: Any) -> None:
        blocks = study_blocks(entry, result, spec, _view(context, spec, recommendation))
        sentence, figure = at_a_glance(blocks)
        if quick and isinstance(result, Scope):
            sentence = f"{so_far(result)}{scope.preliminary_sentence(result)}"
        section_answer(sentence)
        if quick:
            drawn = isinstance(result, Scope) and result.sparse  # P2, as there is no parse rate.
            figure_of = f" Figure: {other}." if drawn else ""
            caption(_QUICK[entry.name].format(other=other, page=page.title) + figure_of)
        elif isinstance(result, PanelCurve) and recommendation is not None:
            caption(panel_curve.level_sentence(recommendation, result))
        if figure is not None:
            draw_blocks([small(figure)], key=f"small-{entry.name}")
        if caveats := sum(isinstance(block, Caveat) for block in blocks):
            caption(f"{page.title} adds {counted(caveats, 'note')} of caution.")

    return show_result(entry.study, context, spec, draw)


def _view(context: PageContext, spec: Spec, recommendation: Recommendation | None) -> Any:
    """Return what the answer needs beside the result.

    Of Scope, what its filter changes; of the curve, the recommended panel.
    """
    if isinstance(spec, PanelCurveSpec):
        return panel_curve.PanelCurveView(recommendation=recommendation)
    if not isinstance(spec, ScopeSpec):
        return None
    filtered = stored_result(GROUP_CHANGE, context, group_change.group_spec(spec, "filter"))
    return scope.ScopeView(False, True, None, filtered)


def _read_as(context: PageContext) -> None:
    """Say how the file was read, and where to look at it."""
    analysis = context.analysis
    st.page_link(START, label="How the file was read", query_params=link_parameters(analysis))
    votes = context.votes
    reading = (
        f"{counted(votes.n_items, 'item')}, {counted(votes.n_judges, 'judge')}, "
        f"{counted(int(votes.labelled.sum()), 'label')}."
        if analysis.reading is None
        else analysis.reading.sentence
    )
    notes = f" Start has {counted(len(analysis.notes), 'note')} on this." if analysis.notes else ""
    caption(f"{reading}{notes}")
