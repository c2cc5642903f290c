"""The data of a page: one workspace per server, and the analysis that the URL names.

``?analysis=`` names one of the user's own; ``?share=`` brings a reader, who cannot change anything.

All calls of the workspace may raise ServerProblem; `frame.show_errors` shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import streamlit as st

from judgepanel.service.basics import SignInFirst
from judgepanel.ui.access import owner, signed_in
from judgepanel.ui.server import own_space

if TYPE_CHECKING:
    from judgepanel.service.sql import SqlWorkspace
    from judgepanel.service.workspace import Analysis
    from judgepanel.studies.contract import Settings
    from judgepanel.studies.understand.judge_table import JudgeTable
    from judgepanel.votes import VoteMatrix

PARAMETER = "analysis"
SHARE = "share"
COMPARE = "compare"


def workspace() -> SqlWorkspace:
    """The user's part of the server's workspace, restricted for readers.

    Raises SignInFirst if a user has to sign in and has not.
    """
    space = own_space()
    if is_reader():
        return space.for_readers(st.query_params[SHARE], signed_in=signed_in())
    return space.owned_by(_owner())


def _owner() -> str:
    who = owner()
    if who is None:
        raise SignInFirst("sign in to see your analyses")
    return who


def is_reader() -> bool:
    """Whether the page was opened by a link that only allows reading."""
    return SHARE in st.query_params


def compares() -> bool:
    """Whether the URL asks for two analyses; a reader has only one."""
    return COMPARE in st.query_params and PARAMETER in st.query_params and not is_reader()


def current() -> tuple[Analysis, VoteMatrix] | None:
    """The analysis in the URL and its votes; None if the URL has none.

    Raises NotFound if it is gone, or if its link is wrong, expired or revoked, and SignInFirst if
    the visitor has to sign in first.
    """
    token, wanted = st.query_params.get(SHARE), st.query_params.get(PARAMETER)
    if token is None and wanted is None:
        _owner()
        return None
    space = workspace()
    analysis = (
        space.open(str(wanted)) if token is None else space.shared(token, signed_in=signed_in())
    )
    return analysis, space.votes(analysis.votes_sha256)


def link_parameters(analysis: Analysis | None) -> dict[str, Any]:
    """Parameters of every link on the page; those of a reader never name the analysis."""
    if is_reader():
        return {SHARE: st.query_params[SHARE]}
    return {} if analysis is None else {PARAMETER: analysis.id}


def open_with(analysis: Analysis, settings: Settings) -> NoReturn:
    """Open an analysis of the same votes with other settings."""
    open_analysis(workspace().with_settings(analysis, settings))


def open_analysis(analysis: Analysis) -> NoReturn:
    """Draw the page again for an analysis."""
    st.query_params[PARAMETER] = analysis.id
    st.rerun()


def judges_of(votes: VoteMatrix) -> JudgeTable:
    """Accuracy and coverage of every judge, cached by the content of the votes."""
    return _judges(votes.sha256, votes)


@st.cache_data(max_entries=16, show_spinner=False)
def _judges(sha256: str, _votes: VoteMatrix) -> JudgeTable:
    from judgepanel.studies.understand.judge_table import judge_table  # noqa: PLC0415

    return judge_table(_votes)
