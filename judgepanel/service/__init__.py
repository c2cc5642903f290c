"""The workspace behind the pages: votes, analyses, results and jobs, kept across restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgepanel.lazy import lazy_names

if TYPE_CHECKING:
    from judgepanel.service.archive import id_of_token as id_of_token
    from judgepanel.service.basics import LOCAL as LOCAL
    from judgepanel.service.basics import DatabaseProblem as DatabaseProblem
    from judgepanel.service.basics import Full as Full
    from judgepanel.service.basics import NotFound as NotFound
    from judgepanel.service.basics import ServerProblem as ServerProblem
    from judgepanel.service.basics import SignInFirst as SignInFirst
    from judgepanel.service.basics import check_address as check_address
    from judgepanel.service.database import default_url as default_url
    from judgepanel.service.sql import SqlWorkspace as SqlWorkspace
    from judgepanel.service.workspace import Analysis as Analysis
    from judgepanel.service.workspace import Decision as Decision
    from judgepanel.service.workspace import Job as Job
    from judgepanel.service.workspace import Share as Share
    from judgepanel.service.workspace import Stored as Stored
    from judgepanel.service.workspace import Workspace as Workspace
    from judgepanel.service.workspace import default_home as default_home

_NAMES = {
    "database": ("default_url",),
    "basics": (
        *("LOCAL", "DatabaseProblem", "Full", "NotFound", "ServerProblem", "SignInFirst"),
        "check_address",
    ),
    "archive": ("id_of_token",),
    "sql": ("SqlWorkspace",),
    "workspace": (
        *("Analysis", "Decision", "Job", "Share", "Stored", "Workspace"),
        "default_home",
    ),
}
__all__ = [name for names in _NAMES.values() for name in names]
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
