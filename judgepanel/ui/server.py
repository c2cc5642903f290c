"""The server around the pages: its address, settings that it refuses, its guard, and its end.

The workspaces of this process, one per database; apart from pages, as the server ends them.

What visitors need next is prepared while no page is being drawn, so that nobody waits for it. A
server imports what its first page needs as soon as it is up. All else takes the cores from the
pages and the browsers on this machine, so it begins when no page has begun for a moment, and goes
on one by one.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.middleware import Middleware
from streamlit import config

from judgepanel.service.basics import ServerProblem, check_address
from judgepanel.ui.access import auth_section, is_team, user_of_cookies
from judgepanel.ui.guard import LOCAL_NAMES, Guard, UploadQuota
from judgepanel.votes import InputError

if TYPE_CHECKING:
    from judgepanel.service.sql import SqlWorkspace

_SPACES: dict[tuple[str, str], SqlWorkspace] = {}
_LOCK = threading.Lock()


def own_space() -> SqlWorkspace:
    """The workspace of this server's database, for nobody yet."""
    from judgepanel.service.database import default_url  # noqa: PLC0415
    from judgepanel.service.workspace import default_home  # noqa: PLC0415

    home = default_home()
    return open_workspace(default_url(home), str(home))


def open_workspace(url: str, home: str) -> SqlWorkspace:
    """The workspace of a database, opened once.

    It is not in Streamlit's cache, since anyone who reaches the server can have that cleared.
    """
    with _LOCK:
        if (url, home) not in _SPACES:
            from judgepanel.service.sql import SqlWorkspace  # noqa: PLC0415
            from judgepanel.studies.runner import DASK, SCHEDULER, backend_of  # noqa: PLC0415

            backend = os.environ.get("JUDGEPANEL_BACKEND", "loky")
            if backend == DASK:
                try:
                    backend = backend_of(DASK, os.environ.get(SCHEDULER), ())
                except InputError as error:
                    raise ServerProblem(str(error)) from None
            _SPACES[url, home] = SqlWorkspace(url, Path(home), backend)
        return _SPACES[url, home]


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


PUBLIC_URL = "JUDGEPANEL_PUBLIC_URL"
_WRONG_URL = (
    f"{PUBLIC_URL} is not the address of a dashboard: it must be what people type to open it, such "
    f"as https://judges.example.org."
)


def public_origins() -> tuple[str, ...]:
    """Origins of the server: from $JUDGEPANEL_PUBLIC_URL, else from a team's redirect URIs.

    Raises
    ------
    ServerProblem
        The variable is set to something that is not an address.
    """
    if given := os.environ.get(PUBLIC_URL, "").strip():
        origin = _origin(given)
        if origin is None:
            raise ServerProblem(_WRONG_URL)
        return (origin,)
    auth = auth_section() if is_team() else {}
    sections = (auth, *(value for value in auth.values() if isinstance(value, Mapping)))
    stated = (_origin(str(section.get("redirect_uri", ""))) for section in sections)
    return tuple(dict.fromkeys(origin for origin in stated if origin is not None))


def _origin(url: str) -> str | None:
    """The origin of a URL (scheme, name, port) as a browser writes it; None if it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    if parts.query or parts.fragment:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if port in (None, default) else f":{port}")


def is_local(address: str) -> bool:
    """Whether an address reaches only the machine on which it is opened."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False
    return number.is_loopback or number.is_unspecified


QUIET_SECONDS = 1.0
"""No page has begun for this long: the last one is drawn, and its visitor reads."""
_FIRST = (
    "judgepanel.ui.frame",
    "judgepanel.ui.pages.start",
    "judgepanel.ui.pages.home",
    "judgepanel.votes.simulate",
    "judgepanel.service.sql",
)
_NEXT = (
    "judgepanel.ui.pages.start_votes",
    "pandas.io.formats.style",
    "scipy.special",
    "judgepanel.ui.pages.curve",
    "judgepanel.ui.pages.recommended",
)


class Quiet:
    """Runs work one after the other in a thread, each once no page has begun for ``seconds``."""

    def __init__(self, seconds: float = QUIET_SECONDS) -> None:
        self._seconds = seconds
        self._last = time.monotonic()
        self._work: deque[Callable[[], object]] = deque()
        self._lock = threading.Condition()
        self._running = False

    def page(self) -> None:
        """A page begins: what has not begun waits."""
        self._last = time.monotonic()

    def add(self, *work: Callable[[], object]) -> None:
        """Run this when it is quiet, unless it waits for that already."""
        with self._lock:
            self._work.extend(each for each in work if each not in self._work)
            if self._work and not self._running:
                self._running = True
                threading.Thread(target=self._run, name="quiet", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                while (left := self._last + self._seconds - time.monotonic()) > 0.0:
                    self._lock.wait(left)
                if not self._work:
                    self._running = False
                    return
                work = self._work.popleft()
            with suppress(ServerProblem):  # The page that needs it says so.
                work()


QUIET = Quiet()


def prepare() -> None:
    """Import what the first page needs and open the database, then what most open next."""
    for name in _FIRST:
        import_module(name)
    QUIET.page()
    with suppress(ServerProblem):
        space = own_space()
        QUIET.add(stand_by, *(partial(import_module, name) for name in _NEXT), space.start_workers)


def stand_by() -> None:
    """Have a process wait for the next file."""
    from judgepanel.intake import process  # noqa: PLC0415

    process.stand_by()


END_SECONDS = 2.0
"""Seconds that a server waits for open connections after a signal to end."""
_NAMES, _FRIENDS = "server.allowedHosts", "server.corsAllowedOrigins"


def protection() -> dict[str, Any]:
    """Arguments of :class:`streamlit.App`: middleware and lifespan.

    The process ends with one sentence and status 2 if a setting would leave the server open, or if
    it could not work: a package is missing, or the database has no valid address.
    """
    try:
        check_address()
        team = is_team()
        origins = public_origins()
    except ServerProblem as error:
        sys.stderr.write(f"judgepanel: {error}\n")
        sys.exit(2)
    given = config.get_option(_NAMES) if config.is_manually_set(_NAMES) else ()
    ours = (str(urlsplit(origin).hostname) for origin in origins)
    names = [*dict.fromkeys((*LOCAL_NAMES, *given, *ours))]
    # Streamlit checks the host name of websockets itself, too.
    config.set_option(_NAMES, names)
    friends = tuple(config.get_option(_FRIENDS))
    of_team: dict[str, Any] = {"sender": _who_has_signed_in, "quota": UploadQuota()} if team else {}
    guard = Middleware(Guard, names=names, origins=origins, friends=friends, **of_team)
    return {"middleware": [guard], "lifespan": _lifespan}


def _who_has_signed_in(cookies: Mapping[str, str]) -> str | None:
    user = user_of_cookies(cookies)
    return None if user is None else user.owner


@asynccontextmanager
async def _lifespan(_app: object) -> AsyncIterator[None]:
    _end_in_time()
    threading.Thread(target=prepare, name="first-page", daemon=True).start()
    yield
    release_work()


def _end_in_time() -> None:
    """Make sure that a signal ends the server, even if a connection is still open."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        previous_handler = signal.getsignal(number)

        def on_signal(
            received: int, at: FrameType | None, old_handler: Any = previous_handler
        ) -> None:
            timer = threading.Timer(END_SECONDS, _give_up, (received,))
            timer.daemon = True
            timer.start()
            if callable(old_handler):
                old_handler(received, at)

        signal.signal(number, on_signal)


def _give_up(number: int) -> None:
    releasing = threading.Thread(target=release_work, daemon=True)
    releasing.start()
    releasing.join(timeout=1.0)
    os._exit(128 + number)
