"""Downloads of the panel, and scoring of new votes with it on the page."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.reading import with_absence
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.recommend_spec import RecommendSpec
from judgepanel.decision.score import score
from judgepanel.decision.snippet import script
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.present.blocks import Document, Table
from judgepanel.present.decide.panel_judges import weights_frame
from judgepanel.present.decide.value import value_spec
from judgepanel.present.pages import SCOPE_PAGE
from judgepanel.present.recommendation_report import recommendation_report
from judgepanel.present.registry import ENTRIES
from judgepanel.present.trust.scope_sentences import scope_sentence
from judgepanel.render.html import html_text
from judgepanel.studies.scope.scope import SCOPE
from judgepanel.studies.scope.scope_result import Scope
from judgepanel.studies.value.value_result import Value
from judgepanel.ui.download import download_button
from judgepanel.ui.frame import PageContext, caption, notes, problem
from judgepanel.ui.pages.recommended_worth import known_statuses, known_value
from judgepanel.ui.pipeline import known_recommendation
from judgepanel.ui.session import is_reader, link_parameters
from judgepanel.ui.uploads import file_upload, read_uploads
from judgepanel.ui.widgets import section_answer, table
from judgepanel.ui.work import stored_result
from judgepanel.votes import InputError
from judgepanel.votes.checks import item_checks
from judgepanel.votes.choices import Choices
from judgepanel.votes.errors import in_terminal
from judgepanel.words.commands import recommend_command, score_command
from judgepanel.words.scored import labelled_sentence
from judgepanel.words.sentences import so_far
from judgepanel.words.tables import as_columns, csv_text
from judgepanel.words.text import csv_name, plain

_PREVIEW = 200


def panel_text(context: PageContext, spec: RecommendSpec, result: Recommendation) -> str:
    """panel.json as the command writes it; what the page has not measured is measured now."""
    checks = item_checks(context.votes, group_duplicates=spec.settings.group_duplicates)
    whole = with_absence(context.votes, spec, result)
    return panel_json(export_panel(whole, context.votes, spec, checks))


def exports(context: PageContext, spec: RecommendSpec, result: Recommendation) -> None:
    """Offer four files.

    They are made when a button is clicked, by a thread without a session, so what needs the
    workspace is read now.
    """
    value, statuses = known_value(context, spec, result), known_statuses(context, spec, result)
    st.header("Download")
    _scope(context)
    left, middle, right, last = st.columns([1, 1, 1, 1])
    download_button(
        left,
        "Download panel.json",
        lambda: panel_text(context, spec, result),
        "panel.json",
        "application/json",
        type="primary",
        width="stretch",
    )
    download_button(
        middle,
        "Download Python scorer",
        script,
        "score_panel.py",
        "text/x-python",
        width="stretch",
        help="Needs panel.json beside it and no packages; agrees with the library to the last bit "
        "on the same machine, with the same wheels.",
    )
    download_button(
        right,
        "Download weights (CSV)",
        lambda: csv_text(weights_frame(result)),
        csv_name(context.analysis.name, "panel-judges.csv"),
        "text/csv",
        width="stretch",
    )
    download_button(
        last,
        "Download report (HTML)",
        lambda: html_text(_report(context, spec, result, value, statuses)),
        csv_name(context.analysis.name, "report.html"),
        "text/html",
        width="stretch",
        help="One file with figures that opens anywhere, without a network.",
    )


def _scope(context: PageContext) -> None:
    """Say what the scope checks of the recommended panel say, if they have been computed."""
    recommendation = known_recommendation(context)
    spec = ENTRIES[SCOPE.name].specs(context.votes, context.analysis.settings, recommendation)[0]
    result: Scope | None = stored_result(SCOPE, context, spec)
    if result is not None:
        section_answer(f"{SCOPE_PAGE.question} {so_far(result)}{scope_sentence(result)}")
    st.page_link(
        SCOPE_PAGE.file,
        label=f"{SCOPE_PAGE.title}: {'not looked at yet' if result is None else 'all checks'}",
        query_params=link_parameters(context.analysis),
    )


def _report(
    context: PageContext,
    spec: RecommendSpec,
    result: Recommendation,
    value: Value | None,
    statuses: tuple[JudgeStatus, ...],
) -> Document:
    votes, analysis = context.votes, context.analysis
    return recommendation_report(
        analysis.name,
        votes,
        spec,
        with_absence(votes, spec, result),
        command=recommend_command(analysis.file, spec, task=votes.task, columns=analysis.columns),
        worth=None if value is None else (value_spec(spec, result), value),
        statuses=statuses,
    )


def scoring(context: PageContext, spec: RecommendSpec, result: Recommendation) -> None:
    """Score new votes with the panel as it would be downloaded."""
    st.header("Score new votes")
    upload = None
    if not is_reader():
        upload = file_upload(
            "Votes of the same judges on new items; labels are not needed",
            key=f"new_votes-{context.analysis.id}",  # Another panel has other judges.
        )
    if upload is None:
        st.code(score_command("new_votes.csv"), language=None, wrap_lines=True)
        return
    try:
        panel = load_panel(panel_text(context, spec, result))
        loaded = read_uploads(
            upload,
            choices=Choices(task=context.votes.task, known=panel.known),
            need_labels=False,
        ).read()
        scores = score(panel, loaded.votes)
    except InputError as error:
        sentence = in_terminal(str(error))  # There are no controls for columns here.
        problem(sentence)
        if sentence != str(error):
            caption("On the command line columns can be named:")
            st.code(score_command(upload.name), language=None, wrap_lines=True)
        return
    notes((*loaded.warnings, *scores.warnings))
    if scores.labelled is not None:
        section_answer(labelled_sentence(scores.labelled))
    frame = scores.frame()
    preview = frame.head(_PREVIEW).copy()
    blank = [name for name in ("set_80", "set_90") if not preview[name].any()]
    preview = preview.drop(columns=blank)
    preview["item_id"] = [plain(name, 120) for name in preview["item_id"]]
    table(Table(as_columns(preview), height=260), key="scored")
    download_button(
        st.container(),
        f"Download all {len(frame):,} scores (scored.csv)",
        lambda: csv_text(frame),
        "scored.csv",
        "text/csv",
    )
