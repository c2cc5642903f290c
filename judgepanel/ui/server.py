"""The server around the pages: what it refuses to start with, who may ask it, how it ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from starlette.middleware import Middleware
from streamlit import config

from judgepanel.service import ServerProblem
from judgepanel.ui.access import auth_section, is_team
from judgepanel.ui.guard import LOCAL_NAMES, Guard
from judgepanel.ui.spaces import release_work

PUBLIC_URL = "JUDGEPANEL_PUBLIC_URL"
END_SECONDS = 3.0
"""A server that was told to end waits so long for its connections; then it ends all the same."""
_NAMES, _FRIENDS = "server.allowedHosts", "server.corsAllowedOrigins"
_WRONG_URL = (
    f"{PUBLIC_URL} is no address of a dashboard: it must be what people type to open it, such as "
    "https://judges.example.org."
)


def protection() -> dict[str, Any]:
    """What :class:`streamlit.App` is to be made with: middleware and lifespan.

    The process ends with one sentence where a setting would leave the server open.
    """
    try:
        is_team()
        origins = public_origins()
    except ServerProblem as trouble:
        sys.exit(f"judgepanel: {trouble}")
    given = config.get_option(_NAMES) if config.is_manually_set(_NAMES) else ()
    names = [*dict.fromkeys((*LOCAL_NAMES, *given, *(_host(origin) for origin in origins)))]
    # Streamlit checks the name of a websocket itself as well.
    config.set_option(_NAMES, names)
    friends = tuple(config.get_option(_FRIENDS))
    guard = Middleware(Guard, names=names, origins=origins, friends=friends)
    return {"middleware": [guard], "lifespan": _lifespan}


def public_origins() -> tuple[str, ...]:
    """The origins that people open: of $JUDGEPANEL_PUBLIC_URL, else of a team's redirect URI.

    Raises
    ------
    ServerProblem
        The variable is set to something else than an address.
    """
    given = os.environ.get(PUBLIC_URL, "").strip()
    if given:
        origin = _origin(given)
        if origin is None:
            raise ServerProblem(_WRONG_URL)
        return (origin,)
    auth = auth_section() if is_team() else {}
    sections = (auth, *(value for value in auth.values() if isinstance(value, Mapping)))
    stated = (_origin(str(section.get("redirect_uri", ""))) for section in sections)
    return tuple(dict.fromkeys(origin for origin in stated if origin is not None))


def _origin(url: str) -> str | None:
    """Scheme, name and port of an address as a browser states them; None for what is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if port in (None, usual) else f":{port}")


def _host(origin: str) -> str:
    return str(urlsplit(origin).hostname)


@asynccontextmanager
async def _lifespan(_app: object) -> AsyncIterator[None]:
    _end_in_time()
    yield
    release_work()


def _end_in_time() -> None:
    """Let a signal that ends the server end it, whatever still holds a connection open."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        usual = signal.getsignal(number)

        def told(received: int, at: FrameType | None, usual: Any = usual) -> None:
            timer = threading.Timer(END_SECONDS, _give_up, (received,))
            timer.daemon = True
            timer.start()
            if callable(usual):
                usual(received, at)

        signal.signal(number, told)


def _give_up(number: int) -> None:
    releasing = threading.Thread(target=release_work, daemon=True)
    releasing.start()
    releasing.join(timeout=1.0)
    os._exit(128 + number)
