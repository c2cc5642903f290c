"""The popovers Report and Share.

Report: the analysis as one file, its decisions, and a form for another one.

Share: links that let others read the analysis, and their end. A link for others begins with
``JUDGEPANEL_PUBLIC_URL``, else with the address to which a team's sign-in returns, else with the
address in this browser. If only this machine can reach it, the popover says so.

The content of an analysis's report: stored results of this version; it starts no work.

Files that are made when their button is clicked, and stay until the browser has fetched them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator

from judgepanel.decision.recommend import RECOMMEND, as_asked
from judgepanel.present import analysis_report, blocks
from judgepanel.present.registry import PRESENTATIONS, STUDIES, default_specs
from judgepanel.render.html import html_text
from judgepanel.render.text import markdown_text
from judgepanel.service.sql import SqlWorkspace, id_of_token
from judgepanel.service.workspace import Analysis
from judgepanel.studies.contract import Spec
from judgepanel.ui import pipeline, server, session
from judgepanel.ui.access import is_team, user
from judgepanel.votes.errors import documentation
from judgepanel.words.text import csv_name, in_html, minute

KEPT = 8
"""Number of files, the last ones made, that are kept for the browsers that asked for them."""
_numbers = count()
_TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "html": "text/html",
    "md": "text/markdown",
    "py": "text/x-python",
}
"""Types of files by the ends of their names."""


def download_button(
    place: DeltaGenerator, label: str, make: Callable[[], str], file_name: str, **options: Any
) -> None:
    """Offer a file; ``make`` runs in a thread without a session, ``options`` are Streamlit's."""
    mime = _TYPES[file_name.rpartition(".")[2]]
    data = partial(_made, make, file_name, mime)
    place.download_button(
        label, data=data, file_name=file_name, mime=mime, on_click="ignore", **options
    )


def _made(make: Callable[[], str], file_name: str, mime: str) -> bytes:
    """Make the file. Streamlit itself forgets it once two scripts of any visitors have ended, which
    may be before the browser fetches it.
    """
    data = make().encode("utf-8")
    if runtime.exists():
        manager = runtime.get_instance().media_file_mgr
        place = f"download-{next(_numbers) % KEPT}"
        manager.add(data, mime, place, file_name, is_for_static_download=True)
    return data


LONGEST = 2_000
_IMAGE = "image-format"
_ROUND = "decision-round"
_FILES: tuple[tuple[str, str, Callable[[blocks.Document], str], str], ...] = (
    ("HTML", "html", html_text, "One file with figures that opens anywhere, without a network."),
    ("Markdown", "md", markdown_text, "Its words and tables, without figures."),
)


def report(analysis: Analysis) -> None:
    """Draw the popover; readers cannot record decisions."""
    space = session.workspace()

    def made(form: Callable[[blocks.Document], str]) -> str:
        return form(analysis_report.analysis_document(collected(space, analysis)))

    st.write("What has been computed so far, with figures, tables and commands:")
    for column, (kind, end, form, what) in zip(st.columns(2), _FILES, strict=True):
        label, file = f"Download report as {kind}", csv_name(analysis.name, f"report.{end}")
        options: dict[str, Any] = {"key": f"report-{end}", "width": "stretch", "help": what}
        download_button(column, label, partial(made, form), file, **options)
    # Streamlit forgets the value of a widget when the page changes, so it is stored beside it.
    st.session_state[_IMAGE] = st.segmented_control(
        "Figures are saved as",
        ("png", "svg"),
        default=image_format(),
        required=True,
        key="figures-saved-as",
        format_func=str.upper,
        help="What the camera at the top right of a figure saves.",
    )
    place = st.container()
    if not session.is_reader():
        _form(space, analysis)
    decisions = space.decisions(analysis.id)
    with place:
        st.write("Decisions" if decisions else "No decision has been recorded.")
        for decision in decisions:
            st.html(
                f'<p class="jp-note"><b>{in_html(decision.what, LONGEST)}'
                f"</b><br>{in_html(decision.why, LONGEST)}"
                f"<br>{in_html(decision.by, 200)}, {in_html(minute(decision.made))} UTC</p>"
            )


def image_format() -> str:
    """The format in which the toolbar of a figure saves it: png or svg."""
    return str(st.session_state.get(_IMAGE, "png"))


def missing_words(what: str, by: str, why: str) -> str:
    """What is missing from a decision or too long, in one sentence; empty if nothing is."""
    for part, text in {"What was decided": what, "Who decided": by, "Why": why}.items():
        if not text.strip():
            return f"{part} is missing: a decision needs all three."
        if len(text) > LONGEST:
            return f"{part} has {len(text):,} characters; {LONGEST:,} is the most."
    return ""


def _form(space: SqlWorkspace, analysis: Analysis) -> None:
    """Draw a form for a decision; the text stays until it has been recorded."""
    here = user() if is_team() else None
    number = st.session_state.setdefault(_ROUND, 0)
    with st.form(f"decision-{number}", border=False):
        what = st.text_area("What was decided", key=f"decided-{number}", height=80)
        by = here.name if here else st.text_input("Who decided", key=f"decided-by-{number}")
        why = st.text_area("Why", key=f"decided-why-{number}", height=80)
        asked = st.form_submit_button("Record the decision", width="stretch")
    if here is not None:
        st.text(f"Decisions are recorded as made by {here.name[:80]}.")
    if not asked:
        return
    if problem := missing_words(what, by, why):
        st.error(problem)
        return
    space.decide(analysis.id, what.strip(), by.strip(), why.strip())
    st.session_state[_ROUND] = number + 1
    st.rerun()


def collected(space: SqlWorkspace, analysis: Analysis) -> analysis_report.AnalysisReport:
    """The report's content; ``space`` is the visitor's, since the caller may have no session."""
    decisions = space.decisions(analysis.id)
    votes = space.votes(analysis.votes_sha256)
    settings = analysis.settings
    findings: dict[str, analysis_report.Finding] = {}
    outdated: list[str] = []

    def look(name: str, specs: tuple[Spec, ...]) -> None:
        study = STUDIES[name]
        for spec in specs:
            stored = space.result(study, votes.sha256, spec)
            if stored is not None and stored.current:
                findings[name] = analysis_report.Finding(study, spec, stored.result)
                return
            if stored is not None and name not in outdated:
                outdated.append(name)

    look(RECOMMEND.name, PRESENTATIONS[RECOMMEND.name].specs(votes, settings))
    recommended = findings.get(RECOMMEND.name)
    recommendation = None
    if recommended is not None:
        spec = pipeline.panel_in_use(analysis)
        recommendation = as_asked(votes, spec, recommended.result)
        findings[RECOMMEND.name] = analysis_report.Finding(recommended.study, spec, recommendation)
    for name, specs in default_specs(votes, settings, recommendation).items():
        if name != RECOMMEND.name:
            look(name, specs)
    old = tuple(name for name in outdated if name not in findings)
    gone = {*findings, *old, *(name for name, entry in PRESENTATIONS.items() if entry.by_hand)}
    return analysis_report.AnalysisReport(
        name=analysis.name,
        file=analysis.file,
        columns=analysis.columns,
        notes=analysis.notes,
        votes=votes,
        settings=settings,
        findings=tuple(findings[name] for name in STUDIES if name in findings),
        outdated=old,
        missing=tuple(name for name in STUDIES if name not in gone),
        decisions=decisions,
        written=datetime.now(UTC).isoformat(),
        coverage=analysis.coverage,
        reading="" if analysis.reading is None else analysis.reading.sentence,
    )


_DAY = 24 * 3600.0
_LASTS: dict[str, float | None] = {
    "a day": _DAY,
    "a week": 7 * _DAY,
    "30 days": 30 * _DAY,
    "until revoked": None,
}
_MADE = "share-made"
_ONLY_HERE = (
    "This address reaches only this machine, so nobody elsewhere can open the link. Serve the "
    f"dashboard for your team ({documentation('team')}) and open it under its own address, or set "
    f"{server.PUBLIC_URL} to that address and start it again."
)


def share(analysis: Analysis) -> None:
    """Draw the popover, which only the owner sees."""
    st.write(
        "A link for others opens every page and download of this analysis but changes nothing. The "
        "address in your browser would give them your rights: do not send that one."
    )
    here = urlsplit(st.context.url or "http://localhost:8501/")
    base = next(iter(server.public_origins()), f"{here.scheme}://{here.netloc}")
    if server.is_local(base):
        st.warning(_ONLY_HERE)
    lasts = st.selectbox("Lifetime", list(_LASTS), index=1, key="share-lasts")
    closed = is_team() and st.checkbox(
        "Only for those who sign in", value=True, key="share-signed-in"
    )
    if st.button("Create a link for others", key="share-make", width="stretch"):
        lifetime = _LASTS.get(lasts, _DAY)
        token = session.workspace().share(analysis.id, lifetime, signed_in_only=closed)
        st.session_state[_MADE] = (analysis.id, token)
    made_for, token = st.session_state.get(_MADE, ("", ""))
    live = session.workspace().shares(analysis.id)
    if made_for == analysis.id and id_of_token(token) in {link.id for link in live}:
        # The address of this page for others, with its view state.
        mine = (session.PARAMETER, session.SHARE, session.COMPARE)
        state = {key: st.query_params[key] for key in st.query_params if key not in mine}
        address = f"{base}{here.path}?{urlencode({session.SHARE: token, **state})}"
        st.write("Copy it now: it is not stored and cannot be shown again.")
        st.code(address, language=None, wrap_lines=True)
    for link in live:
        text, end = st.columns([3, 2], vertical_alignment="center")
        until = "does not expire" if link.expires is None else f"until {minute(link.expires)} UTC"
        whom = "; only for those who sign in" if link.signed_in_only else ""
        text.caption(f"Created {minute(link.created)} UTC, {until}{whom}")
        if end.button("Revoke", key=f"revoke-{link.id}", width="stretch"):
            session.workspace().revoke(analysis.id, link.id)
            st.rerun()
