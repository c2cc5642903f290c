"""The workspaces of this process, one per database; apart from pages, as the server ends them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from judgepanel.intake.process import kill_readers
from judgepanel.service import SqlWorkspace
from judgepanel.service.workspace import ServerProblem
from judgepanel.studies.cluster import DASK, SCHEDULER, backend_of
from judgepanel.votes import InputError

_SPACES: dict[tuple[str, str], SqlWorkspace] = {}
_LOCK = threading.Lock()


def open_workspace(url: str, home: str) -> SqlWorkspace:
    """The workspace of a database, opened once.

    It is not in Streamlit's cache, since anyone who reaches the server can have that cleared.
    """
    with _LOCK:
        if (url, home) not in _SPACES:
            backend = os.environ.get("JUDGEPANEL_BACKEND", "loky")
            if backend == DASK:
                backend = _scheduler()
            _SPACES[url, home] = SqlWorkspace(url, Path(home), backend)
        return _SPACES[url, home]


def _scheduler() -> str:
    try:
        return backend_of(DASK, os.environ.get(SCHEDULER), ())
    except InputError as error:
        raise ServerProblem(str(error)) from None


def close_workspaces() -> None:
    """End all work of this process; the next page opens a new workspace."""
    with _LOCK:
        for space in _SPACES.values():
            space.close()
        _SPACES.clear()


def release_work() -> None:
    """Leave the work of this process to others at once, because the process is about to end."""
    kill_readers()
    for space in tuple(_SPACES.values()):
        space.release()
