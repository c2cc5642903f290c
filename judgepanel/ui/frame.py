"""The frame of every page: title, menu, header strip, empty state, answer, next step.

What a page shows by default, told apart from what the user has chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import streamlit as st

from judgepanel.present.pages import COVERAGE_PAGE, PAGES, RECOMMENDED_PAGE, Page
from judgepanel.service.basics import Full, NotFound, ServerProblem, SignInFirst
from judgepanel.ui.access import AccessProblem, sign_in, signed_in_as
from judgepanel.ui.glossary import TERMS, with_terms
from judgepanel.ui.server import QUIET
from judgepanel.ui.session import current, is_reader, link_parameters
from judgepanel.votes.errors import InputError, on_page
from judgepanel.words.text import counted, in_html

if TYPE_CHECKING:
    from judgepanel.service.workspace import Analysis
    from judgepanel.votes import VoteMatrix

_PIPELINE = ("aggregator", "calibrator")
_PAGE = "page-drawn"
_CHOSEN = "pipeline-chosen"


def forget_defaults(page: str) -> None:
    """Forget what the previous page showed by default; the user's choices are kept.

    Streamlit keeps the value of a widget for the widget with the same key on another page, but each
    page has its own default pipeline. It drops the value where a page has no such widget, so
    choices are kept beside it. A choice stays one on a page that shows the same by default, and
    ends where the user returns to a page's default.
    """
    state = st.session_state
    if state.get(_PAGE, page) != page:
        chosen: dict[str, str] = state.setdefault(_CHOSEN, {})
        for key in _PIPELINE:
            value = state.get(key)
            if value is not None and value != chosen.get(key):
                if value == state.get(_of(key)):
                    chosen.pop(key, None)
                else:
                    chosen[key] = value
            if key in chosen:
                state[key] = chosen[key]
            else:
                state.pop(key, None)
    state[_PAGE] = page


def begins_with(key: str, default: str) -> None:
    """Remember what a page shows by default."""
    st.session_state[_of(key)] = default


def _of(key: str) -> str:
    return f"{key}-default"


START = "app.py"
_STYLE = Path(__file__).with_name("style.css")


@dataclass(frozen=True, slots=True, eq=False)
class PageContext:
    """The analysis that a page shows."""

    analysis: Analysis
    votes: VoteMatrix


def menu_page(
    page: Page, what: str
) -> Callable[[Callable[[PageContext], None]], Callable[[], None]]:
    """Make a page of the menu of a function that draws its content for the analysis in the URL.

    The page has its frame, the content and the next question; ``what`` tells visitors without an
    analysis what it shows.
    """

    def decorate(draw: Callable[[PageContext], None]) -> Callable[[], None]:
        def draw_page() -> None:
            context = frame(page.title, page.question)
            forget_defaults(page.title)
            with show_errors():
                context = guard(context, what)
                draw(context)
                next_question(context.analysis, page)

        return draw_page

    return decorate


def frame(title: str, question: str) -> PageContext | None:
    """Draw title and menu; return the analysis in the URL, or None if the URL has none.

    If that analysis does not exist, the page ends with one sentence and a link.
    """
    QUIET.page()
    st.set_page_config(page_title=f"{title} - judgepanel", layout="wide", page_icon=_ICON)
    st.html(_STYLE)
    try:
        opened = current()
    except (NotFound, SignInFirst, ServerProblem) as error:
        _nothing(title, error)
    _menu(None if opened is None else opened[0])
    if opened is not None:
        _strip(*opened)
    st.title(title)
    st.html(f'<p class="jp-question">{with_terms(question)}</p>')
    return None if opened is None else PageContext(*opened)


def _nothing(title: str, error: Exception) -> NoReturn:
    """End a page that has no analysis with one sentence, and a link if there is one."""
    signing_in = isinstance(error, SignInFirst | AccessProblem)
    if not signing_in:
        _menu(None)
    st.title("judgepanel" if signing_in else title)
    if isinstance(error, SignInFirst) and is_reader():
        sign_in("This link opens only for those who have signed in. Sign in, then open it again.")
    elif isinstance(error, SignInFirst):
        sign_in("Sign in to see your analyses: which judges to keep, and how certain that is.")
    elif not isinstance(error, NotFound):
        problem(str(error))
    elif is_reader():
        st.error(
            "This link does not work: it is incomplete, has expired, or was revoked. "
            "Ask the sender for a new one."
        )
    else:
        st.error(
            "There is no analysis behind this link: it was deleted, or the link is incomplete. "
            "Ask for the link again, or start with your own votes."
        )
        st.page_link(START, label="Start a new analysis")
    st.stop()


def guard(context: PageContext | None, what: str) -> PageContext:
    """Return the context; without an analysis, end the page with an empty state."""
    if context is not None:
        return context
    st.info(f"No votes yet. {what} Upload your own votes, or open a sample with one click.")
    st.page_link(START, label="Go to Start")
    st.stop()


def answer(sentence: str, tone: str = "keep") -> None:
    """The page's answer as a banner; ``tone`` is keep, curate or open."""
    st.html(
        f'<p class="jp-answer jp-{in_html(tone)}" role="status">{with_terms(sentence, 1000)}</p>'
    )


def notes(sentences: tuple[str, ...]) -> None:
    """Show what the reader must know, under the answer."""
    for sentence in dict.fromkeys(sentences):
        st.html(f'<p class="jp-note">Note: {with_terms(sentence, 1000)}</p>')


def caption(sentence: str) -> None:
    """Show a remark in small print."""
    st.html(f'<p class="jp-reading">{with_terms(sentence, 1000)}</p>')


def problem(sentence: str) -> None:
    """Show an error in one sentence; HTML, since Markdown would turn names in it into links."""
    lead, separator, rest = on_page(sentence).partition("; ")
    strong = f"<b>{in_html(lead, 1000)}</b>" if separator else in_html(lead, 1000)
    st.html(f'<p class="jp-problem" role="alert">{strong}{separator}{in_html(rest, 1000)}</p>')


@contextmanager
def show_errors() -> Iterator[None]:
    """Show an error of the server in place of the content, and end the page.

    So are expired sign-ins, too much work, and votes that do not fit what the page does with them.
    """
    try:
        yield
    except (ServerProblem, Full, InputError) as error:
        problem(str(error))
        if isinstance(error, Full):
            st.button("Try again", key="full")
    except SignInFirst:
        problem("You are no longer signed in: load this page again.")
    except NotFound:
        problem("This no longer exists: it was deleted, or its link is no longer valid.")
    else:
        return
    st.stop()


def next_question(analysis: Analysis, page: Page | None = None) -> None:
    """Link to the page that follows in the menu, the first after Start; the last leads back to the
    recommendation.
    """
    pages = _pages(analysis)
    place = pages.index(page) + 1 if page in pages else 0
    following = pages[place] if place < len(pages) else RECOMMENDED_PAGE
    next_step(following.file, following.question[0].lower() + following.question[1:], analysis)


def next_step(page: str, label: str, analysis: Analysis) -> None:
    """Link to the next step."""
    st.divider()
    st.page_link(page, label=f"Next: {label}", query_params=link_parameters(analysis))


def link_to(context: PageContext, page: Page, label: str) -> None:
    """Link to a page of the same analysis."""
    st.page_link(page.file, label=label, query_params=link_parameters(context.analysis))


def _pages(analysis: Analysis | None) -> list[Page]:
    """The pages of the menu: Coverage only if the file held judges' outputs."""
    outputs = analysis is not None and analysis.coverage is not None
    return [page for page in PAGES if outputs or page != COVERAGE_PAGE]


def _menu(analysis: Analysis | None) -> None:
    with st.sidebar:
        st.html(BRAND, unsafe_allow_javascript=True)
        if analysis is not None and not is_reader():
            with st.container(key="new_analysis"):
                st.page_link(START, label="New analysis")
        for group, pages in groupby(_pages(analysis), lambda page: page.group):
            st.header(group)
            if group == PAGES[0].group:
                st.page_link(START, label="Start", query_params=link_parameters(analysis))
            for page in pages:
                st.page_link(page.file, label=page.title, query_params=link_parameters(analysis))
        with st.popover("Glossary", width="stretch"):
            st.markdown("\n\n".join(f"**{term}** {text}" for term, text in TERMS.items()))
        if not st.context.is_embedded:  # In a frame, another site may provoke the click.
            signed_in_as()


def _strip(analysis: Analysis, votes: VoteMatrix) -> None:
    from judgepanel.ui.reporting import report, share  # noqa: PLC0415
    from judgepanel.votes.matrix import resolve  # noqa: PLC0415

    labelled = int(votes.labelled.sum())
    known = "all labelled" if labelled == votes.n_items else f"{labelled:,} labelled"
    one = "" if analysis.reading is None else in_html(analysis.reading.one, 60)
    policy = resolve(votes, analysis.settings.orientation, analysis.settings.protocol)
    left, right = st.columns([7, 1.2] if is_reader() else [6, 2.1], vertical_alignment="center")
    left.html(
        '<div class="jp-strip">'
        f"<b>{in_html(analysis.name, 80)}</b>"
        f"<span>{counted(votes.n_items, 'item')} x {counted(votes.n_judges, 'judge')}</span>"
        f"<span>{known}</span>"
        + f"<span>1: {one}</span>" * (analysis.reading is not None)
        + '<span class="jp-badge">protocol: paper</span>' * (analysis.settings.protocol == "paper")
        + f'<span><span class="jp-badge">orientation: {in_html(policy.replace("_", " "))}</span>'
        f" data <code>{votes.sha256[:10]}</code></span>"
        + '<span class="jp-badge">read-only</span>' * is_reader()
        + "</div>"
    )
    beside = right.container(horizontal=True)
    if not is_reader():
        with beside.popover("Share", width="stretch"), show_errors():
            share(analysis)
    with beside.popover("Report", width="stretch"), show_errors():
        report(analysis)


BRAND = """
<p class="jp-brand">judgepanel</p>
<script>
if (!window.jpMenuCloses) {
  window.jpMenuCloses = true;
  document.addEventListener("click", (event) => {
    const menu = event.target.closest('[data-testid="stSidebar"]');
    if (window.innerWidth < 768 && menu && event.target.closest("a"))
      menu.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
  });
}
</script>
"""
"""The name above the menu. On a phone, where it covers the page, the menu closes after a choice."""
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32">'
    '<rect width="32" height="32" rx="4" fill="#4C78A8"/>'
    '<path d="M6 8 Q9 23 26 24" stroke="#fff" stroke-width="3" fill="none"/></svg>'
)
