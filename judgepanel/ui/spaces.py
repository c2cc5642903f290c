"""The workspaces of this process, one per database; apart from pages, as the server ends them."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from judgepanel.service.basics import ServerProblem
from judgepanel.votes import InputError

if TYPE_CHECKING:
    from judgepanel.service.sql import SqlWorkspace

_SPACES: dict[tuple[str, str], SqlWorkspace] = {}
_LOCK = threading.Lock()


def own_space() -> SqlWorkspace:
    """The workspace of this server's database, for nobody yet."""
    from judgepanel.service import default_home, default_url  # noqa: PLC0415

    home = default_home()
    return open_workspace(default_url(home), str(home))


def open_workspace(url: str, home: str) -> SqlWorkspace:
    """The workspace of a database, opened once.

    It is not in Streamlit's cache, since anyone who reaches the server can have that cleared.
    """
    with _LOCK:
        if (url, home) not in _SPACES:
            from judgepanel.service.sql import SqlWorkspace  # noqa: PLC0415
            from judgepanel.studies.cluster import DASK  # noqa: PLC0415

            backend = os.environ.get("JUDGEPANEL_BACKEND", "loky")
            if backend == DASK:
                backend = _scheduler()
            _SPACES[url, home] = SqlWorkspace(url, Path(home), backend)
        return _SPACES[url, home]


def _scheduler() -> str:
    from judgepanel.studies.cluster import DASK, SCHEDULER, backend_of  # noqa: PLC0415

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
    process = sys.modules.get("judgepanel.intake.process")
    if process is not None:  # Else no file was read.
        process.kill_readers()
    for space in tuple(_SPACES.values()):
        space.release()
