"""The address under which users open this server, and whether others can reach it."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from judgepanel.service.basics import ServerProblem
from judgepanel.ui.access import auth_section, is_team

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


def host_of(origin: str) -> str:
    """The host name of an origin."""
    return str(urlsplit(origin).hostname)


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
