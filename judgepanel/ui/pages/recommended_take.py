"""Downloads of the panel, and scoring of new votes with it on the page.

Controls of the Recommended panel: the preference, the cost, and the candidates.

Sections below the panel: what judges are worth, what panels cost, whether choosing pays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.decision import lean, panel_file, recommend
from judgepanel.decision.recommend_result import (
    PREFERENCES,
    Preference,
    Recommendation,
    RecommendSpec,
    contest_of,
    families_absent,
)
from judgepanel.decision.statuses import JudgeStatus, statuses_of
from judgepanel.present.blocks import Document
from judgepanel.present.decide.candidate_rows import weights_frame
from judgepanel.present.decide.cards import WAYS, price_text
from judgepanel.present.decide.cost import cost_spec, escalation_spec
from judgepanel.present.decide.value import ValueView, value_spec
from judgepanel.present.pages import SCOPE_PAGE
from judgepanel.present.recommendation_report import recommendation_report
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import Presentation, pipeline_of
from judgepanel.present.trust.group_change import group_spec
from judgepanel.present.trust.scope import does_no_harm, scope_sentence
from judgepanel.render.html import html_text
from judgepanel.studies.contract import Spec, prepare
from judgepanel.studies.decide.cost import COST
from judgepanel.studies.decide.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.studies.decide.escalation import ESCALATION
from judgepanel.studies.decide.value import VALUE, Value
from judgepanel.studies.panel.curator import COST as COST_COLUMN
from judgepanel.studies.panel.curator import JudgeAttributes, known_judges, prices_of, with_costs
from judgepanel.studies.panel.recommended import AVERAGE, LISTS
from judgepanel.studies.trust.group_change import GROUP_CHANGE
from judgepanel.studies.trust.scope import SCOPE, Scope, ScopeSpec
from judgepanel.ui import pipeline, reporting, session, work
from judgepanel.ui.frame import PageContext, link_to, problem, show_errors
from judgepanel.ui.render import Caveats, draw_study, section_answer, show_study
from judgepanel.votes.checks import item_checks
from judgepanel.votes.companions import judges_csv
from judgepanel.votes.errors import listed
from judgepanel.words.sentences import pipeline_name, recommend_command, so_far
from judgepanel.words.tables import csv_text
from judgepanel.words.text import csv_name, first_sentence

_HELD = (0, 10, 20, 30)


def known_of(context: PageContext) -> JudgeAttributes:
    """Families and costs of the analysis's judges."""
    return known_judges(context.votes, prepare(context.votes, context.analysis.settings))


def with_candidate(
    context: PageContext, spec: RecommendSpec, ways: DeltaGenerator
) -> RecommendSpec:
    """The spec with the requested candidate in place of the recommended one.

    Raises
    ------
    InputError
        The costs cannot be used.
    """
    listed = {entry.title: entry for entry in contest_of(context.votes, spec).choices.all()}

    def label(title: str) -> str:
        if not title:
            return "the recommended panel"
        entry = listed[title]
        return f"{entry.name}, {pipeline_name(entry.aggregator, entry.calibrator)}"

    candidate = ways.selectbox(
        "Use another candidate",
        ("", *listed),
        key="candidate",
        bind="query-params",
        format_func=label,
        help="Downloads and scoring then use this candidate, fitted on all labelled items. Its "
        "figures are not corrected for picking it after seeing them.",
    )
    return replace(spec, candidate=candidate if candidate in listed else "")


def recommend_spec(context: PageContext, ways: DeltaGenerator) -> RecommendSpec:
    """The spec that the controls in ``ways`` ask for; costs are offered if they are known."""
    known = known_of(context)
    costs = known.costs
    unknown = {"cheapest": costs is None, "robust": not families_absent(known.families)}
    offered = [prefer for prefer in PREFERENCES if not unknown.get(prefer, False)]
    left, _ = ways.columns([1, 2])
    price = left.select_slider(
        "Largest loss accepted",
        lean.PRICES,
        value=context.analysis.price,
        key="price",
        bind="query-params",
        format_func=price_text,
        help="How much higher than Best's the expected NLL of Lean may be.",
    )
    # In its own container the row of preferences wraps if it does not fit.
    prefer: Preference = pipeline.segmented(
        ways.container(),
        "Prefer",
        offered,
        default=context.analysis.prefer,
        key="prefer",
        format_func=WAYS.__getitem__,
        help="One pipeline: the heaviest member of Best's average alone. All judges: the average "
        "over pipelines that keep all judges. Robust: the lowest NLL while a family of judges is "
        "absent, which needs a run of its own. Simplest, cheapest and fewest judges choose among "
        "the candidates that are at most one standard error of the difference behind the best.",
    )
    left, right = ways.columns(2)
    listed = pipeline.segmented(
        left,
        "Candidates",
        tuple(LISTS),
        default="default",
        key="candidates",
        help="Wide adds every aggregator, isotonic calibration and searches for panels; it takes "
        "about ten times as long.",
    )
    held = right.selectbox(
        "Labels held out for conformal sets (%)",
        _HELD,
        key="held-out",
        bind="query-params",
        help="A share of the labels that nothing is fitted to, so that new items get sets with "
        "80 and 90 % coverage. Fewer labels are left to fit.",
    )
    budget = None
    if costs is not None:
        most = float(sum(costs))
        asked = ways.number_input(
            "Max cost per item (0 = no limit)",
            min_value=0.0,
            max_value=max(most, 1e-9),
            value=0.0,
            step=most / 20.0 or None,
            format="%.4g",
            key="budget",
            bind="query-params",
            help=f"All judges together cost {most:.4g} per item.",
        )
        budget = float(asked) if asked and asked > 0.0 else None
    return RecommendSpec(
        settings=context.analysis.settings,
        candidates=listed if listed in LISTS else "default",
        prefer=prefer if prefer in offered else "nll",
        price=price if price in lean.PRICES else lean.PRICE,
        budget=budget,
        conformal=held / 100.0 if held in _HELD else 0.0,
    )


WORTH = (VALUE.name, COST.name, ESCALATION.name, CURATORS_STUDY.name)
"""The studies of these sections."""


def value(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> None:
    """Draw what each judge is worth."""
    entry, asked = PRESENTATIONS[VALUE.name], value_spec(spec, recommendation)
    _name_pipeline(entry, asked, recommendation)

    def draw(result: Value) -> None:
        view = ValueView(statuses_of(context.votes, asked, result))
        draw_study(entry, context, asked, result, view, caveats=caveats)

    work.show_result(VALUE, context, asked, draw)


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
    worth: Value | None = work.stored_result(VALUE, context, value_spec(spec, recommendation))
    return worth


def costs(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> None:
    """Draw what better panels cost, and asking a cheap panel first; or say what is needed."""
    frontier, doubt = PRESENTATIONS[COST.name], PRESENTATIONS[ESCALATION.name]
    known = known_of(context).costs is not None
    if not known:
        st.caption(
            "These votes have no cost of every judge. With costs this section has the price of "
            "better panels, and of asking all judges only when in doubt."
        )
    if not session.is_reader():
        _edit_costs(context, known=known)
    if not known:
        return
    if recommendation.n_judges < 2:
        st.caption("There is only one judge, so there is nothing to save.")
        return
    priced = cost_spec(spec, recommendation)
    escalated = escalation_spec(spec, recommendation)
    _name_pipeline(frontier, priced, recommendation)
    if not show_study(frontier, context, priced, caveats=caveats):
        return
    st.header(doubt.study.title)
    _name_pipeline(doubt, escalated, recommendation)
    show_study(doubt, context, escalated, caveats=caveats)


@show_errors()
def _edit_costs(context: PageContext, *, known: bool) -> None:
    """Let the owner type or paste what each judge costs, and open the analysis with these costs."""
    votes, analysis = context.votes, context.analysis
    file = csv_name(analysis.name, "judges.csv")
    left, right = st.columns([3, 1], vertical_alignment="center")
    if known:
        about = "The judge table with these costs, which the command reads."
        reporting.download_button(
            right, "Download judge table", lambda: judges_csv(votes).decode(), file, help=about
        )
    if not left.toggle("Change the costs" if known else "Add costs", key=f"costs-{analysis.id}"):
        return
    given, unit = prices_of(votes)
    with st.form(f"cost-form-{analysis.id}"):
        edited = st.data_editor(
            pd.DataFrame({"judge": votes.judges, COST_COLUMN: given}),
            key=f"cost-table-{analysis.id}",
            hide_index=True,
            height=300,
            disabled=["judge"],
            column_config={
                COST_COLUMN: st.column_config.NumberColumn(
                    "cost per item", min_value=0, format="%.6g"
                )
            },
        )
        st.caption("A column can be pasted from a spreadsheet. A judge that is free costs 0.")
        named = st.text_input("Unit (optional)", unit, max_chars=20, placeholder="usd")
        about = "Opens a new analysis with these costs; this one stays as it is."
        saves = st.form_submit_button("Save costs", type="primary", help=about)
    if not saves:
        return
    cost = edited[COST_COLUMN].to_numpy(dtype=np.float64)
    if missing := [name for name, value in zip(votes.judges, cost, strict=True) if np.isnan(value)]:
        problem(f"There is no cost of {listed(missing)}. Enter 0 if it is free.")
        return
    priced = with_costs(votes, cost, named.strip())
    session.open_analysis(session.workspace().with_judge_table(analysis, priced, file))


def curators(
    context: PageContext, spec: RecommendSpec, recommendation: Recommendation, caveats: Caveats
) -> None:
    """Draw ways of choosing judges, each compared with all judges."""
    entry, asked = PRESENTATIONS[CURATORS_STUDY.name], CuratorsSpec(settings=spec.settings)
    _name_pipeline(entry, asked, recommendation)
    show_study(entry, context, asked, caveats=caveats)


def _name_pipeline(entry: Presentation, spec: Spec, recommendation: Recommendation) -> None:
    """Say which pipeline a section shows, if it is not the panel above."""
    average = recommendation.chosen.panel == AVERAGE
    pipeline.note_other(entry, spec, replace(pipeline_of(recommendation), recommended=average))


def panel_text(
    context: PageContext, spec: RecommendSpec, result: Recommendation, scope: Scope | None = None
) -> str:
    """panel.json as the command writes it; what the page has not measured is measured now.

    It has the scope checks of this panel, too, if they are known.
    """
    checks = item_checks(context.votes, group_duplicates=spec.settings.group_duplicates)
    if scope is not None:
        checks += tuple(check for check in scope.checks if check.code != "P0")
    whole = recommend.with_absence(context.votes, spec, result)
    return panel_file.panel_json(panel_file.export_panel(whole, context.votes, spec, checks))


def exports(
    context: PageContext, spec: RecommendSpec, result: Recommendation, scope: Scope | None
) -> None:
    """Offer four files; panel.json has the checks of ``scope``, too, if they are known.

    They are made when a button is clicked, by a thread without a session, so what needs the
    workspace is read now.
    """
    votes, analysis = context.votes, context.analysis
    value, statuses = known_value(context, spec, result), known_statuses(context, spec, result)
    command = recommend_command(analysis.file, spec, task=votes.task, columns=analysis.columns)

    def report() -> Document:
        return recommendation_report(
            analysis.name,
            votes,
            spec,
            recommend.with_absence(votes, spec, result),
            command=command,
            worth=None if value is None else (value_spec(spec, result), value),
            statuses=statuses,
        )

    of_scorer = (
        "Needs panel.json beside it and no packages; agrees with the library to the last bit on "
        "the same machine, with the same wheels."
    )
    of_report = "One file with figures that opens anywhere, without a network."
    weights, page = (csv_name(analysis.name, end) for end in ("panel-judges.csv", "report.html"))
    panel = partial(panel_text, context, spec, result, scope)
    files: tuple[tuple[str, Callable[[], str], str, str | None], ...] = (
        ("Download panel.json", panel, "panel.json", None),
        ("Download Python scorer", panel_file.script, "score_panel.py", of_scorer),
        ("Download weights (CSV)", lambda: csv_text(weights_frame(result)), weights, None),
        ("Download report (HTML)", lambda: html_text(report()), page, of_report),
    )
    for place, (label, make, file, about) in zip(st.columns(4), files, strict=True):
        kind = "primary" if make is panel else "secondary"
        reporting.download_button(place, label, make, file, type=kind, width="stretch", help=about)


def safety(context: PageContext, recommendation: Recommendation) -> Scope | None:
    """Say what the scope checks of this panel say, and return them, if they have been computed."""
    settings = context.analysis.settings
    specs = PRESENTATIONS[SCOPE.name].specs(context.votes, settings, recommendation)
    spec = cast(ScopeSpec, specs[0])
    result: Scope | None = work.stored_result(SCOPE, context, spec)
    filtered = work.stored_result(GROUP_CHANGE, context, group_spec(spec, "filter"))
    if result is not None:
        sentence = scope_sentence(result, harmless=does_no_harm(filtered))
        section_answer(f"{so_far(result)}{first_sentence(sentence)}")
    what = "is it safe to use?" if result is None else "all checks"
    link_to(context, SCOPE_PAGE, f"{SCOPE_PAGE.title}: {what}")
    return result
