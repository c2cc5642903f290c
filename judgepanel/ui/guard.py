"""Who may ask the server, and from which pages: the middleware before all of Streamlit.

A browser tells which name it asked (``Host``) and which page makes it ask (``Origin``,
``Sec-Fetch-Site``). A name that is not ours is refused, as a page of another site can make its own
name point to this machine (DNS rebinding); so is whatever a page of another site asks for.

What Streamlit would take from whoever connects, and no page of ours sends, is refused too: files
before somebody has signed in, and messages about the whole server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from urllib.parse import parse_qs, urlsplit

from google.protobuf.message import DecodeError
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from judgepanel.service.sharing import TOKEN

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
WRONG_NAME = (
    "This server does not go by that name: open it as localhost, or let JUDGEPANEL_PUBLIC_URL "
    "state the address that people open (docs/team.md).\n"
)
WRONG_PAGE = "A page of another site asked for this: it is refused.\n"
SIGN_IN_FIRST = "Files are taken from those alone who have signed in.\n"
ON_THIS_MACHINE = "This is told on the machine of the server alone.\n"
_MISDIRECTED, _FORBIDDEN, _NOT_FOUND = 421, 403, 404
_POLICY_VIOLATION, _UNSUPPORTED = 1008, 1003
_READING = ("GET", "HEAD")
_UPLOADS, _METRICS = "/_stcore/upload_file/", "/_stcore/metrics"
_FOR_THE_SERVER = frozenset(
    {
        *("load_git_info", "clear_cache", "set_run_on_save"),
        *("debug_disconnect_websocket", "debug_shutdown_runtime"),
    }
)
"""Messages that tell about the server's folder, or act on all of its sessions."""
_ALWAYS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_CONTENT = "object-src 'none'; base-uri 'self'; frame-ancestors "


class Guard:
    """Refuses foreign names and pages, and adds the headers that protect our own.

    ``names`` are host names without a port; ``origins`` are the addresses that people open, such
    as ``https://judges.example.org``: where a name is of one of them, its pages must be too.
    ``friends`` are origins of other sites that may ask all the same. ``may_upload`` tells from the
    cookies of a request whether its sender may send files.
    """

    def __init__(
        self,
        app: ASGIApp,
        names: Iterable[str] = LOCAL_NAMES,
        origins: Iterable[str] = (),
        friends: Iterable[str] = (),
        may_upload: Callable[[Mapping[str, str]], bool] = lambda cookies: True,
    ) -> None:
        self._app = app
        self._may_upload = may_upload
        self._origins = {urlsplit(origin).netloc.lower(): origin.lower() for origin in origins}
        stated = {host_name(netloc) for netloc in self._origins}
        ours = {name.lower().rstrip(".") for name in names} | stated
        self._names = tuple(name for name in ours if name is not None)
        self._friends = {origin.lower() for origin in friends}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or websocket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._is_our_name(headers.getlist("host")):
            await _refuse(_MISDIRECTED, WRONG_NAME, scope, receive, send)
        elif not self._is_our_page(headers, str(scope.get("method", "GET"))):
            await _refuse(_FORBIDDEN, WRONG_PAGE, scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, _of_one_session(receive, send), send)
        elif (refusal := self._refusal(scope["path"], scope["method"], headers)) is not None:
            await _refuse(*refusal, scope, receive, send)
        else:
            secure = self._origins.get(headers["host"].lower(), "").startswith("https:")
            await self._app(scope, receive, _with_headers(send, _may_be_framed(scope), secure))

    def _refusal(self, path: str, method: str, headers: Headers) -> tuple[int, str] | None:
        """Why this visitor may not ask for a path."""
        if _METRICS in path and host_name(headers["host"]) not in LOCAL_NAMES:
            return _NOT_FOUND, ON_THIS_MACHINE
        if _UPLOADS in path and method != "OPTIONS":
            cookies = cookie_parser(headers.get("cookie", ""))
            if not self._may_upload(cookies):
                return _FORBIDDEN, SIGN_IN_FIRST
        return None

    def _is_our_name(self, hosts: list[str]) -> bool:
        name = host_name(hosts[0]) if len(hosts) == 1 else None
        return name is not None and any(_matches(name, ours) for ours in self._names)

    def _is_our_page(self, headers: Headers, method: str) -> bool:
        given = headers.getlist("origin")
        if len(given) > 1:
            return False
        if given and not self._is_our_origin(given[0].lower(), headers["host"].lower()):
            return False
        # A link on another page may lead here; nothing else there may ask for anything.
        elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        follows_a_link = headers.get("sec-fetch-mode") == "navigate" and method in _READING
        return bool(given) or not elsewhere or follows_a_link

    def _is_our_origin(self, origin: str, host: str) -> bool:
        if origin in self._friends:
            return True
        known = self._origins.get(host)
        if known is not None:
            return origin == known
        return origin in (f"http://{host}", f"https://{host}")


def host_name(host: str) -> str | None:
    """The name in a Host header, in small letters and without port; None for what is none."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if parts.hostname is None or "@" in host or parts.path or parts.query or parts.fragment:
        return None
    return parts.hostname.rstrip(".")


def _matches(name: str, ours: str) -> bool:
    """Whether a name is this one; ``*.`` in front stands for all below, as with Streamlit."""
    return ours in (name, "*") or (ours.startswith("*.") and name.endswith(ours[1:]))


def _may_be_framed(scope: Scope) -> bool:
    """Whether a page of another site may show this page in a frame: a share link that asks for it.

    Whoever comes by such a link changes nothing, so no click in a frame can be stolen.
    """
    names = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    (token, *more) = names.get("share", [""])
    return not more and "true" in names.get("embed", []) and TOKEN.fullmatch(token) is not None


def _of_one_session(receive: Receive, send: Send) -> Receive:
    """Hand on what a page sends for its own session, and leave out what is for the server."""

    async def receiving() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            data = message.get("bytes")
            if data is None:
                await send({"type": "websocket.close", "code": _UNSUPPORTED})
                return {"type": "websocket.disconnect", "code": _UNSUPPORTED}
            if not _is_for_the_server(data):
                return message

    return receiving


def _is_for_the_server(data: bytes) -> bool:
    try:
        return BackMsg.FromString(data).WhichOneof("type") in _FOR_THE_SERVER
    except DecodeError:  # Streamlit closes the websocket on it.
        return False


def _secured(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header whose cookie, if it sets one, is sent by TLS alone."""
    if name.lower() != b"set-cookie" or b"; secure" in value.lower():
        return name, value
    return name, value + b"; Secure"


def _with_headers(send: Send, framed: bool, secure: bool = False) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            if secure:
                message["headers"] = [_secured(*header) for header in message["headers"]]
            headers = MutableHeaders(scope=message)
            headers.update(_ALWAYS)
            headers["Content-Security-Policy"] = _CONTENT + ("*" if framed else "'none'")
            if not framed:
                headers["X-Frame-Options"] = "DENY"
        await send(message)

    return sending


async def _refuse(status: int, sentence: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        return
    answer = PlainTextResponse(sentence, status, {"Connection": "close"})
    await answer(scope, receive, _with_headers(send, False))
