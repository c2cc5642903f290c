"""Where pages get their data: one workspace a server, the analysis that the URL names.

All that asks the workspace may raise DatabaseProblem; `frame.told` shows it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import streamlit as st

from judgepanel.service import (
    Analysis,
    NotFound,
    SqlWorkspace,
    Workspace,
    default_home,
    default_url,
)
from judgepanel.studies.judges.judge_table import JudgeTable, judge_table
from judgepanel.votes import VoteMatrix

PARAMETER = "analysis"


def workspace() -> Workspace:
    """The server's workspace, one for each database and data folder."""
    home = default_home()
    return _workspace(default_url(home), str(home))


@st.cache_resource(max_entries=4, show_spinner=False)
def _workspace(url: str, home: str) -> SqlWorkspace:
    return SqlWorkspace(url, Path(home), os.environ.get("JUDGEPANEL_BACKEND", "loky"))


def current() -> tuple[Analysis, VoteMatrix] | None:
    """The analysis in the URL and its votes; None without one, NotFound when it is gone."""
    wanted = st.query_params.get(PARAMETER)
    if wanted is None:
        return None
    space = workspace()
    analysis = space.open(wanted)
    return analysis, space.votes(analysis.votes_sha256)


def link_parameters(analysis: Analysis | None) -> dict[str, Any]:
    """What every link of the page carries."""
    return {} if analysis is None else {PARAMETER: analysis.id}


def judges_of(votes: VoteMatrix) -> JudgeTable:
    """Accuracy and coverage of every judge, kept by content."""
    return _judges(votes.sha256, votes)


@st.cache_data(max_entries=16, show_spinner=False)
def _judges(sha256: str, _votes: VoteMatrix) -> JudgeTable:
    return judge_table(_votes)


__all__ = ["NotFound", "current", "judges_of", "link_parameters", "workspace"]
