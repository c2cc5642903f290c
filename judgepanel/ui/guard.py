"""Which requests the server accepts, and from which pages: middleware in front of Streamlit.

A browser sends the name that it asked for (``Host``) and the page that makes it ask (``Origin``,
``Sec-Fetch-Site``). A foreign name is refused, since another site can make its own name point to
this machine (DNS rebinding). Requests by pages of other sites are refused too.

Streamlit also accepts from anyone what our pages never send: files before sign-in, messages that
concern the whole server, and more messages than a page sends. These are refused. Details of the
machine that Streamlit tells everyone are removed.

How much of the users' uploads a server holds at once, for each user and in total.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from urllib.parse import parse_qs, urlsplit

from google.protobuf.message import DecodeError
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from judgepanel.service.basics import LOCAL, TOKEN
from judgepanel.ui.uploads import kept_data
from judgepanel.votes.errors import documentation
from judgepanel.votes.limits import MAX_UPLOAD_MB

LARGEST = MAX_UPLOAD_MB << 20
PER_USER, OF_ALL = 3 * LARGEST, 10 * LARGEST
SMALLEST = 1 << 16
"""Size that every file counts as at least, in bytes; otherwise millions of empty files would fit.
"""


class NoRoom(Exception):
    """There is no room for another file of this user."""


class UploadQuota:
    """Counts the bytes of files in transit and of files that sessions hold.

    A session holds a file until its page deletes it and keeps it no longer, or until two minutes
    after it was closed.
    ``held`` returns the sizes of a session's files, in bytes.
    """

    def __init__(self, held: Callable[[str], list[int]] | None = None) -> None:
        self._held = held or _held_by_session
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)
        self._coming: Counter[str] = Counter()

    @contextmanager
    def room(self, owner: str, session: str, size: int | None) -> Iterator[None]:
        """Reserve room for a file that a user sends to a session; raise NoRoom if there is none.

        ``size`` is in bytes, None if the request does not state it.
        """
        counted = LARGEST if size is None else max(size, SMALLEST)
        of_all = sum(map(self._of, list(self._sessions)))
        if self._of(owner) + counted > PER_USER or of_all + counted > OF_ALL:
            raise NoRoom
        self._sessions[owner].add(session)
        self._coming[owner] += counted
        try:
            yield
        finally:
            self._coming[owner] -= counted
            for name in list(self._sessions):  # Those without files are forgotten.
                if self._coming[name] == 0:
                    self._sessions[name] = {s for s in self._sessions[name] if self._held(s)}
                    if not self._sessions[name]:
                        del self._sessions[name], self._coming[name]

    def _of(self, owner: str) -> int:
        held = (size for s in self._sessions.get(owner, ()) for size in self._held(s))
        return self._coming[owner] + sum(max(size, SMALLEST) for size in held)


def _held_by_session(session: str) -> list[int]:
    """Sizes of the files that Streamlit holds, and of those that only a page still keeps."""
    files = runtime.get_instance().uploaded_file_mgr.file_storage.get(session, {})  # type: ignore[attr-defined]
    held = [file.data for file in list(files.values())]
    known = set(map(id, held))
    return [len(data) for data in (*held, *(d for d in kept_data(session) if id(d) not in known))]


LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
WRONG_NAME = (
    "This server does not answer to that name: open it as localhost, or set JUDGEPANEL_PUBLIC_URL "
    f"to the address that users open ({documentation('team')}).\n"
)
WRONG_PAGE = "This request is refused, since a page of another site made it.\n"
SIGN_IN_FIRST = "Only users who have signed in can upload files.\n"
ON_THIS_MACHINE = "This is available only on the machine of the server.\n"
NO_ROOM = (
    "The server cannot hold more of your files at once: remove one on its page, or close pages "
    "and try again in two minutes.\n"
)
_MISDIRECTED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 421, 403, 404, 429
_POLICY_VIOLATION, _UNSUPPORTED, _BROKEN = 1008, 1003, 1002
_READING = ("GET", "HEAD")
_UPLOADS, _METRICS, _LOGOUT = "/_stcore/upload_file/", "/_stcore/metrics", "/auth/logout"
_FILES = "/media/"
"""Files that pages offer for download; neither a proxy nor a browser may cache them."""
_OF_A_PAGE = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
"""Messages that a page sends for its own session, in addition to those about its files."""
_FILES_OF_A_PAGE = frozenset({"deferred_file", "dataframe_chunk"})
_MOST_FILES = 100
"""Files that a page may ask to upload at once; the server makes an address for each."""
_LARGEST_BEGINNING = 1 << 18
"""Largest first message of a session, in bytes; larger messages, such as figures, are not parsed.
"""
MESSAGES_AT_ONCE, MESSAGES_PER_SECOND = 100, 20.0
"""For one websocket. Streamlit reads all messages that have arrived before it serves anyone else.
"""
_ALWAYS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_CONTENT = "object-src 'none'; base-uri 'self'; frame-ancestors "


class Guard:
    """Refuses foreign names and pages, and adds headers that protect our own pages.

    ``names`` are host names without a port. ``origins`` are the addresses that users open, such as
    ``https://judges.example.org``; a request to one of these hosts must come from its origin.
    ``friends`` are origins of other sites that may ask as well. ``sender`` maps the cookies of a
    request to the user who sends files, or to None if they may not; ``quota`` bounds how much of
    each user's files is held at once.
    """

    def __init__(
        self,
        app: ASGIApp,
        names: Iterable[str] = LOCAL_NAMES,
        origins: Iterable[str] = (),
        friends: Iterable[str] = (),
        sender: Callable[[Mapping[str, str]], str | None] = lambda cookies: LOCAL,
        quota: UploadQuota | None = None,
    ) -> None:
        self._app = app
        self._sender, self._quota = sender, quota
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
        elif not self._is_our_page(headers, str(scope.get("method", "GET")), scope["path"]):
            await _refuse(_FORBIDDEN, WRONG_PAGE, scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, _of_one_session(receive, send), _discreet(send))
        elif _METRICS in scope["path"] and host_name(headers["host"]) not in LOCAL_NAMES:
            await _refuse(_NOT_FOUND, ON_THIS_MACHINE, scope, receive, send)
        elif _UPLOADS in scope["path"] and scope["method"] != "OPTIONS":
            await self._upload(scope, receive, send, headers)
        else:
            await self._answer(scope, receive, send, headers)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        secure = self._origins.get(headers["host"].lower(), "").startswith("https:")
        cached = _FILES not in scope["path"]
        await self._app(scope, receive, _with_headers(send, _may_be_framed(scope), secure, cached))

    async def _upload(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """Accept a file, or its deletion, from a user who may send files."""
        sender = self._sender(cookie_parser(headers.get("cookie", "")))
        if sender is None:
            await _refuse(_FORBIDDEN, SIGN_IN_FIRST, scope, receive, send)
        elif self._quota is None or scope["method"] != "PUT":
            await self._answer(scope, receive, send, headers)
        else:
            session = scope["path"].partition(_UPLOADS)[2].partition("/")[0]
            stated = headers.get("content-length", "")
            try:
                with self._quota.room(sender, session, int(stated) if stated.isdigit() else None):
                    await self._answer(scope, receive, send, headers)
            except NoRoom:
                await _refuse(_TOO_MANY, NO_ROOM, scope, receive, send)

    def _is_our_name(self, hosts: list[str]) -> bool:
        name = host_name(hosts[0]) if len(hosts) == 1 else None
        # A leading `*.` stands for all subdomains, as in Streamlit.
        return name is not None and any(
            ours in (name, "*") or (ours.startswith("*.") and name.endswith(ours[1:]))
            for ours in self._names
        )

    def _is_our_page(self, headers: Headers, method: str, path: str) -> bool:
        given = headers.getlist("origin")
        if len(given) > 1:
            return False
        if given and not self._is_our_origin(given[0].lower(), headers["host"].lower()):
            return False
        # A link on another site may lead here, but not to the sign-out. Other sites may request
        # nothing else.
        elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        follows_a_link = headers.get("sec-fetch-mode") == "navigate" and method in _READING
        return bool(given) or not elsewhere or (follows_a_link and _LOGOUT not in path)

    def _is_our_origin(self, origin: str, host: str) -> bool:
        known = self._origins.get(host)
        ours = (f"http://{host}", f"https://{host}") if known is None else (known,)
        return origin in self._friends or origin in ours


def host_name(host: str) -> str | None:
    """The host name in a Host header, in lower case and without a port; None if it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if parts.hostname is None or "@" in host or parts.path or parts.query or parts.fragment:
        return None
    return parts.hostname.rstrip(".")


def _may_be_framed(scope: Scope) -> bool:
    """Whether other sites may show this page in a frame: only a share link that asks for it.

    Visitors with such a link cannot change anything, so a stolen click does no harm.
    """
    names = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    (token, *more) = names.get("share", [""])
    return not more and "true" in names.get("embed", []) and TOKEN.fullmatch(token) is not None


def _of_one_session(receive: Receive, send: Send) -> Receive:
    """Pass on the messages of a page's own session, no faster than a page sends them."""
    pace = Pace()

    async def receiving() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            await asyncio.sleep(pace.wait(time.monotonic()))
            data = message.get("bytes")
            if data is None:
                return await _ended(send, _UNSUPPORTED)
            try:
                if _is_of_a_page(BackMsg.FromString(data)):
                    return message
            except DecodeError:  # Streamlit would log a traceback.
                return await _ended(send, _BROKEN)

    return receiving


class Pace:
    """A rate limit: a burst of messages at once, then so many per second."""

    def __init__(self) -> None:
        self._due = -math.inf

    def wait(self, now: float) -> float:
        gap = 1.0 / MESSAGES_PER_SECOND
        self._due = max(self._due + gap, now - (MESSAGES_AT_ONCE - 1) * gap)
        return max(0.0, self._due - now)


async def _ended(send: Send, code: int) -> Message:
    """Close a websocket; return the message that its application then receives."""
    await send({"type": "websocket.close", "code": code})
    return {"type": "websocket.disconnect", "code": code}


def _is_of_a_page(message: BackMsg) -> bool:
    kind = message.WhichOneof("type")
    if kind == "file_urls_request":
        return len(message.file_urls_request.file_names) <= _MOST_FILES
    if kind == "backend_operation_request":
        return message.backend_operation_request.WhichOneof("payload") in _FILES_OF_A_PAGE
    return kind in _OF_A_PAGE


def _discreet(send: Send) -> Send:
    """Remove the app's path and details of the machine from a session's first message.

    Streamlit's version stays: its pages compare it with their own, and its files reveal it anyway.
    """

    async def sending(message: Message) -> None:
        data = message.get("bytes") or b""
        if 0 < len(data) <= _LARGEST_BEGINNING:
            forward = ForwardMsg.FromString(data)
            if forward.WhichOneof("type") == "new_session":
                session = forward.new_session
                session.main_script_path = PurePath(session.main_script_path).name
                session.initialize.user_info.Clear()
                session.initialize.user_info.SetInParent()
                version = session.initialize.environment_info.streamlit_version
                session.initialize.environment_info.Clear()
                session.initialize.environment_info.streamlit_version = version
                message = {**message, "bytes": forward.SerializeToString()}
        await send(message)

    return sending


def _secured(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """The header; a cookie that it sets is marked to be sent over TLS only."""
    if name.lower() != b"set-cookie" or b"; secure" in value.lower():
        return name, value
    return name, value + b"; Secure"


def _with_headers(send: Send, framed: bool, secure: bool = False, cached: bool = True) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            if secure:
                message["headers"] = [_secured(*header) for header in message["headers"]]
            headers = MutableHeaders(scope=message)
            headers.update(_ALWAYS)
            if not cached:
                headers["Cache-Control"] = "no-store"
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
