"""Two of the user's analyses side by side: what changed, and how that changed the answer."""

from __future__ import annotations

from typing import Any

import streamlit as st

from judgepanel.decision.lean import CARD_NAMES
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present import blocks, pages
from judgepanel.present.decide import panel_curve, recommend
from judgepanel.present.study import OFFERED
from judgepanel.service.basics import NotFound
from judgepanel.service.workspace import Analysis
from judgepanel.studies.contract import AnyStudy, Spec
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.decide.what_if import WHAT_IF, Relation, Side, WhatIf, paired_spec, relation
from judgepanel.ui.frame import START, PageContext, answer, caption, next_step, problem, show_errors
from judgepanel.ui.pages.home import choose_two, outcome
from judgepanel.ui.pipeline import in_use
from judgepanel.ui.render import command_of, how, section_answer, table
from judgepanel.ui.session import COMPARE, PARAMETER, workspace
from judgepanel.ui.work import show_result, stored_result
from judgepanel.words.sentences import so_far
from judgepanel.words.tables import compared_table as result_table
from judgepanel.words.tables import data_rows, data_sentence, paired_sentence
from judgepanel.words.text import in_html

Step = tuple[AnyStudy, PageContext, Spec, str]


@show_errors()
def page(context: PageContext) -> None:
    """Draw the choice of analyses, the answer, what each says and what differs."""
    outcome()
    other = st.query_params[COMPARE]
    with st.expander("Compare other analyses"):
        choose_two(workspace().list(), context.analysis.id, other)
    try:
        analysis = workspace().open(other)
        after = PageContext(analysis, workspace().votes(analysis.votes_sha256))
    except NotFound:
        problem(
            "There is no analysis to compare with behind this link: it was deleted, or the link "
            "is incomplete. Choose another one above."
        )
        _back(context)
        return
    if after.analysis.id == context.analysis.id:
        problem("Both are the same analysis. Choose another one above.")
        _back(context)
    else:
        _compared(context, after)


def _back(context: PageContext) -> None:
    st.page_link(START, label="Close the comparison", query_params={PARAMETER: context.analysis.id})


def _compared(before: PageContext, after: PageContext) -> None:
    sides = (_side(before), _side(after))
    overlap = relation(*sides)
    steps = _steps(before, after, sides, overlap)
    by_name = {
        name: result
        for name, (study, displayed, spec, _) in steps.items()
        if (result := stored_result(study, displayed, spec)) is not None
    }
    for which, context in zip(_WHICH, (before, after), strict=True):
        if (name := f"panel {which}") in by_name:
            by_name[name] = in_use(context, by_name[name])
    _answer(overlap, by_name.get("pair"))
    st.header("What each says")
    columns = st.columns(2, gap="large")
    for column, which, context in zip(columns, _WHICH, (before, after), strict=True):
        with column:
            _words(which, context, by_name)
    _results(by_name)
    work = st.container()
    st.header("What differs")
    _data_table(data_rows(*sides, overlap))
    if "pair" in steps:
        study, host, spec, _ = steps["pair"]
        how(_HOW, command_of(host, study.name, spec))
    next_step(pages.CURVE_PAGE.file, "the panel curve of the second analysis", after.analysis)
    _back(before)
    # Last, since refused work ends the page.
    with work:
        _work([step for name, step in steps.items() if name not in by_name])


_WHICH = ("before", "after")
_HOW = (
    "What is recommended from the judges of either analysis: on the calibration side of the same "
    "splits, candidates are compared and the weights of their average learned, and the averages "
    "are scored on the same other items. The interval is that of the items' mean differences, 95 % "
    "for new items and labels. At most 20 splits are used. Items are "
    "matched by their ids."
)


def _side(context: PageContext) -> Side:
    analysis: Analysis = context.analysis
    return Side(analysis.name, analysis.file, analysis.created, context.votes, analysis.settings)


def _steps(
    before: PageContext, after: PageContext, sides: tuple[Side, Side], overlap: Relation
) -> dict[str, Step]:
    """What is computed, in order: the difference first, since it is the answer."""
    steps: dict[str, Step] = {}
    if overlap.host is not None:
        host = after if overlap.host == "after" else before
        steps["pair"] = (WHAT_IF, host, paired_spec(*sides, overlap), "the difference")
    for which, context in (("before", before), ("after", after)):
        spec = PanelCurveSpec(settings=context.analysis.settings)
        steps[f"curve {which}"] = (PANEL_CURVE, context, spec, f"the panel curve, {which}")
    for which, context in (("before", before), ("after", after)):
        if context.analysis.settings.protocol == "honest":
            choice = RecommendSpec(settings=context.analysis.settings)
            steps[f"panel {which}"] = (RECOMMEND, context, choice, f"the recommendation, {which}")
    return steps


def _work(missing: list[Step]) -> None:
    """Take the missing steps one after the other; the page is redrawn when a result is there.

    A step that failed or was cancelled says so, and the next one follows.
    """
    for study, context, spec, what in missing:
        st.caption(f"Computing {what}.")
        if not show_result(study, context, spec, _draw):
            return
        if stored_result(study, context, spec) is not None:
            st.rerun()


def _results(content: dict[str, Any]) -> None:
    results = [(which, content[name]) for which in _WHICH if (name := f"panel {which}") in content]
    if results:
        table(blocks.Table(result_table(results)), key="compared")
        caption(
            "The NLL of a recommendation includes its selection bias. Each interval is for one "
            "analysis; whether two of them overlap is not a test."
        )


def _draw(result: Any) -> None:
    """Draw the difference so far, or how far another partial result is."""
    words = f"{result.n_splits} of {result.planned_splits} splits are done."
    if isinstance(result, WhatIf):
        words = so_far(result) + paired_sentence(result)
    section_answer(words)


def _answer(overlap: Relation, pair: WhatIf | None) -> None:
    if pair is None:
        answer(data_sentence(overlap), "open")
        return
    settled = not pair.delta.lo <= 0.0 <= pair.delta.hi and not pair.measures_coding
    answer(paired_sentence(pair), "keep" if settled else "open")
    section_answer(data_sentence(overlap))


def _words(which: str, context: PageContext, content: dict[str, Any]) -> None:
    name = in_html(context.analysis.name, 80)
    st.html(f'<p class="jp-text"><b>{which.capitalize()}:</b> {name}</p>')
    curve, panel = content.get(f"curve {which}"), content.get(f"panel {which}")
    if context.analysis.settings.protocol != "honest":
        section_answer("No panel is recommended under the paper's protocol.")
    if curve is not None:
        section_answer(f"Panel curve: {panel_curve.curve_answer(curve, OFFERED[0])}")
    if panel is not None:
        card = CARD_NAMES[context.analysis.prefer]
        section_answer(f"Panel in use ({card}): {recommend.recommendation_sentence(panel)}")


def _data_table(rows: list[tuple[str, str, str]]) -> None:
    """Draw both analyses side by side as text that wraps; rows that differ are bold and say so."""
    lines = ""
    for name, before, after in rows:
        differs = before != after
        mark, words = ' class="jp-differs"' * differs, " (differs)" * differs
        lines += (
            f'<tr{mark}><th scope="row">{in_html(name)}{words}</th>'
            f"<td>{in_html(before)}</td><td>{in_html(after)}</td></tr>"
        )
    st.html(
        '<table class="jp-pair"><thead><tr><th scope="col">property</th>'
        '<th scope="col">before</th><th scope="col">after</th></tr></thead>'
        f"<tbody>{lines}</tbody></table>"
    )
