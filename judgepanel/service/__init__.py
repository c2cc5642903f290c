"""What pages use: votes, analyses, results and running work, kept across restarts."""

from judgepanel.service.files import FileWorkspace
from judgepanel.service.workspace import (
    Analysis,
    Job,
    NotFound,
    Stored,
    Workspace,
    default_home,
)

__all__ = [
    "Analysis",
    "FileWorkspace",
    "Job",
    "NotFound",
    "Stored",
    "Workspace",
    "default_home",
]
