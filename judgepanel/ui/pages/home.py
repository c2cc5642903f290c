"""Home: the user's own analyses, newest first, to open, rename, delete or compare.

A newcomer gets the three questions that the pages answer, each with a sketch of its figure.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL
from judgepanel.present.pages import OVERVIEW_PAGE
from judgepanel.service.basics import DatabaseProblem, NotFound, SignInFirst
from judgepanel.ui import access, frame, session
from judgepanel.words.sentences import settings_words
from judgepanel.words.text import counted, distinct, in_html, markdown, minute, plain

if TYPE_CHECKING:
    from judgepanel.service.workspace import Analysis

FIRST_ROWS, MORE_ROWS = 5, 20
LONGEST_NAME = 80
_ROWS, _DONE, _WRONG, _REFUSED = "home-rows", "home-done", "home-wrong", "home-refused"
_GONE = "This analysis was already deleted, perhaps in another window."
_WHAT_GOES = (
    "This deletes the analysis with its share links and decisions, and its votes and results "
    "unless another analysis uses them. It cannot be undone."
)

_BAND = f'fill="{INCLUDE}" fill-opacity=".18"'
_LINE = f'fill="none" stroke="{INCLUDE}" stroke-width="3"'
_QUIET = f'fill="none" stroke="{NEUTRAL}" stroke-width="1.5" stroke-dasharray="4 3"'
_BARS = f'stroke="{CURATE_LINE}" stroke-width="2"'
_CURVE = (
    f'<path {_BAND} d="M8 10C40 34 70 40 132 44V68C70 66 40 60 8 40Z"/>'
    f'<path {_QUIET} d="M8 30C40 48 80 40 132 34"/><path {_LINE} d="M8 24C40 48 70 52 132 56"/>'
)
_FOREST = "".join(
    f'<path stroke="{colour}" stroke-width="2" d="M{x - 22} {y}H{x + 22}"/>'
    f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>'
    for x, y, colour in ((48, 16, INCLUDE), (64, 38, NEUTRAL), (92, 60, NEUTRAL))
)
_RELIABILITY = f'<path {_QUIET} d="M12 70L128 8"/>' + "".join(
    f'<path {_BARS} d="M{x} {y - 9}V{y + 9}"/>'
    f'<circle cx="{x}" cy="{y}" r="4" fill="{CURATE_LINE}"/>'
    for x, y in ((30, 58), (56, 49), (82, 30), (108, 21))
)
_CARDS = (
    (
        _CURVE,
        "Keep all judges, or the best few?",
        "NLL against the number of judges, on items that the panel has not seen, with intervals.",
    ),
    (
        _FOREST,
        "Which judges?",
        "One recommendation, what it costs to follow other advice, and a file that scores new "
        "votes.",
    ),
    (
        _RELIABILITY,
        "Can the probabilities be trusted?",
        "Reliability, how many labels you need, whether it is safe here, and what would break it.",
    ),
)


def home() -> bool:
    """Draw the list and, from two analyses on, a comparison; new users see the questions.

    Returns whether there are analyses.
    """
    analyses = session.workspace().list()
    outcome()
    if not analyses:
        welcome()
        return False
    st.header("Recent analyses")
    n_rows = st.session_state.get(_ROWS, FIRST_ROWS)
    for analysis in analyses[:n_rows]:
        _row(analysis)
    n_more = len(analyses) - n_rows
    if n_more > 0:
        st.button(f"Show more ({n_more:,})", key="home-more", on_click=_more)
    if len(analyses) > 1:
        with st.expander("Compare two analyses"):
            choose_two(analyses, analyses[1].id, analyses[0].id)
    return True


def outcome() -> None:
    """Show what the last click has done, once."""
    if message := st.session_state.pop(_DONE, None):
        st.html(f'<p class="jp-note" role="status">{in_html(message, 200)}</p>')
    if wrong := st.session_state.pop(_WRONG, None):
        frame.problem(wrong)


def manage(analysis: Analysis) -> None:
    """Draw buttons to rename and to delete an analysis."""
    renaming = st.popover("Rename", key=f"rename-{analysis.id}", on_change="rerun")
    if renaming.open:
        with renaming, st.form(f"renaming-{analysis.id}", border=False):
            st.text_input("Name", value=plain(analysis.name), key=f"name-{analysis.id}")
            if refused := st.session_state.pop(_REFUSED, None):
                frame.problem(refused)
            st.form_submit_button("Rename", on_click=_rename, args=(analysis.id,))
    deleting = st.popover("Delete", key=f"delete-{analysis.id}", on_change="rerun")
    if deleting.open:
        with deleting:
            name = in_html(analysis.name, LONGEST_NAME)
            st.html(f'<p class="jp-note">Delete <b>{name}</b>? {_WHAT_GOES}</p>')
            st.button(
                "Delete permanently",
                key=f"gone-{analysis.id}",
                type="primary",
                on_click=_delete,
                args=(analysis.id, analysis.name),
            )


def choose_two(analyses: tuple[Analysis, ...], before: str, after: str) -> None:
    """Draw two lists and a button; the choice goes into the URL."""
    names = (f"{plain(analysis.name, 60)} ({minute(analysis.created)})" for analysis in analyses)
    labels = dict(zip((analysis.id for analysis in analyses), distinct(names), strict=True))
    left, right, button = st.columns([4, 4, 2], vertical_alignment="bottom")
    first, other = [
        column.selectbox(
            label,
            tuple(labels),
            index=tuple(labels).index(given) if given in labels else None,
            key=f"{label}-{before}-{after}",
            format_func=lambda key: labels.get(key, ""),
            placeholder="Choose an analysis",
        )
        for column, label, given in ((left, "Before", before), (right, "After", after))
    ]
    if button.button("Compare", key="home-compare", width="stretch"):
        if first is None or other is None or first == other:
            frame.problem("Choose two different analyses.")
            return
        st.query_params[session.PARAMETER], st.query_params[session.COMPARE] = first, other
        st.rerun()


def _row(analysis: Analysis) -> None:
    try:
        items, judges = _sizes(analysis.votes_sha256)
        size = f"{counted(items, 'item')} x {counted(judges, 'judge')}"
    except NotFound:
        size = "votes cannot be read"
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"row-{analysis.id}"
    ):
        with st.container(gap=None, width="stretch", key=f"about-{analysis.id}"):
            st.page_link(
                OVERVIEW_PAGE.file,
                label=markdown(analysis.name, LONGEST_NAME) or "(no name)",
                query_params={session.PARAMETER: analysis.id},
            )
            created, words = f"{minute(analysis.created)} UTC", settings_words(analysis.settings)
            parts = (plain(analysis.file, 40), size, created, words)
            spans = "".join(f"<span>{in_html(part)}</span>" for part in parts if part)
            st.html(f'<div class="jp-strip">{spans}</div>')
        manage(analysis)


@st.cache_data(max_entries=2000, show_spinner=False)
def _sizes(sha256: str) -> tuple[int, int]:
    """Numbers of items and judges; cached by content, so that a list reads each file once."""
    votes = session.workspace().votes(sha256)
    return votes.n_items, votes.n_judges


def _more() -> None:
    st.session_state[_ROWS] = st.session_state.get(_ROWS, FIRST_ROWS) + MORE_ROWS


def _rename(analysis_id: str) -> None:
    name = str(st.session_state.get(f"name-{analysis_id}", ""))
    length = len(name.strip())
    if not plain(name, LONGEST_NAME):
        st.session_state[_REFUSED] = "A name needs at least one visible character."
    elif length > LONGEST_NAME:
        wrong = f"A name has at most {LONGEST_NAME} characters; this one has {length:,}."
        st.session_state[_REFUSED] = wrong
    elif _changed(lambda: session.workspace().rename(analysis_id, plain(name, LONGEST_NAME))):
        st.session_state[f"rename-{analysis_id}"] = False


def _delete(analysis_id: str, name: str) -> None:
    if _changed(lambda: session.workspace().delete(analysis_id)):
        st.session_state[_DONE] = f"Deleted: {plain(name)}"
        if st.query_params.get(session.PARAMETER) == analysis_id:
            st.query_params.clear()


def _changed(change: Callable[[], object]) -> bool:
    """Make a change and return whether it succeeded; the list shows what prevented it.

    An expired sign-in is left to the frame.
    """
    try:
        change()
    except NotFound:
        st.session_state[_WRONG] = _GONE
    except DatabaseProblem as error:
        st.session_state[_WRONG] = str(error)
    except (SignInFirst, access.AccessProblem):
        return False
    else:
        return True
    return False


def welcome() -> None:
    """Draw the three questions; the sketches are decoration and show no data."""
    cards = ""
    for sketch, question, about in _CARDS:
        # A data address: Streamlit takes <svg> out of HTML, and lets <img> stand.
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 140 76">{sketch}</svg>'
        source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
        cards += f'<div><img alt="" src="{source}"><p><b>{question}</b> {about}</p></div>'
    st.html(f'<div class="jp-welcome">{cards}</div>')
