"""The workspace behind the pages: votes, analyses, results and jobs, kept across restarts."""

from judgepanel.service.database import DatabaseProblem, check_address, default_url
from judgepanel.service.sharing import id_of_token
from judgepanel.service.sql import SqlWorkspace
from judgepanel.service.tables import LOCAL
from judgepanel.service.workspace import (
    Analysis,
    Decision,
    Full,
    Job,
    NotFound,
    ServerProblem,
    Share,
    SignInFirst,
    Stored,
    Workspace,
    default_home,
)

__all__ = [
    "LOCAL",
    "Analysis",
    "DatabaseProblem",
    "Decision",
    "Full",
    "Job",
    "NotFound",
    "ServerProblem",
    "Share",
    "SignInFirst",
    "SqlWorkspace",
    "Stored",
    "Workspace",
    "check_address",
    "default_home",
    "default_url",
    "id_of_token",
]
