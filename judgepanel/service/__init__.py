"""What pages use: votes, analyses, results and running work, kept across restarts."""

from judgepanel.service.database import DatabaseProblem, default_url
from judgepanel.service.sql import SqlWorkspace
from judgepanel.service.workspace import (
    Analysis,
    Decision,
    Job,
    NotFound,
    Stored,
    Workspace,
    default_home,
)

__all__ = [
    "Analysis",
    "DatabaseProblem",
    "Decision",
    "Job",
    "NotFound",
    "SqlWorkspace",
    "Stored",
    "Workspace",
    "default_home",
    "default_url",
]
