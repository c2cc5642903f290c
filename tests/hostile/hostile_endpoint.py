"""An OpenAI-compatible endpoint on loopback: the judge's model names the attack.

Any other model gets a proper answer: [[B]] if only the second response contains the word 'good',
else [[A]]. An instruction ``fault NAME N`` makes the first N answers to it fail in that way. It
needs only the standard library.
"""

import contextlib
import gzip
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a caller sent."""

    line: str
    headers: dict[str, str]
    model: str
    prompt: str


class HostileEndpoint:
    """Its address, and every request that reached it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/v1"
        self.requests: list[Request] = []
        self.prompts: list[str] = []
        self.open = self.most_open = 0
        self.lock = threading.Lock()
        self.barrier: threading.Semaphore | None = None
        """Every answer takes one, where there is one."""
        self.elsewhere = ""
        """Where the attack ``redirect`` sends callers."""
        self.closing = threading.Event()

    def asked(self, model: str) -> int:
        return sum(request.model == model for request in self.requests)


Attack = Callable[[socket.socket, HostileEndpoint, Request], None]


def completion(content: Any = "[[A]]", **more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "choices": [{"finish_reason": "stop", "message": {"content": content}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        **more,
    }


def head(*headers: str, status: str = "200 OK", version: str = "HTTP/1.1") -> bytes:
    lines = (f"{version} {status}", "content-type: application/json", *headers, "", "")
    return "\r\n".join(lines).encode("latin-1")


def sized(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    return head(f"content-length: {len(body)}", "connection: close", *headers, status=status) + body


def _say(answer: bytes) -> Attack:
    return lambda caller, _here, _request: caller.sendall(answer)


def _body(content: object) -> Attack:
    return _say(sized(json.dumps(content).encode()))


def _raw(text: str) -> Attack:
    return _say(sized(text.encode()))


def _written(content: object) -> Attack:
    return _body(completion(content))


def _usage(tokens_in: str, tokens_out: str) -> Attack:
    usage = f'{{"prompt_tokens": {tokens_in}, "completion_tokens": {tokens_out}}}'
    return _raw(json.dumps(completion(usage="U")).replace('"U"', usage))


def _status(status: str, *headers: str) -> Attack:
    return _say(sized(b"", *headers, status=status))


def _for_ever(first: bytes, again: bytes, caller: socket.socket, here: Any, _request: Any) -> None:
    caller.sendall(first)
    while not here.closing.is_set():
        caller.sendall(again)


def _drip(first: bytes, again: bytes, caller: socket.socket, here: Any, _request: Any) -> None:
    caller.sendall(first)
    while not here.closing.wait(0.05):
        caller.sendall(again)


def _reset(caller: socket.socket, _here: Any, _request: Any) -> None:
    caller.sendall(head("content-length: 1000") + b'{"model": "m", "choi')
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _redirect(caller: socket.socket, here: HostileEndpoint, _request: Any) -> None:
    location = f"location: {here.elsewhere}/chat/completions"
    caller.sendall(sized(b"", location, status="307 Temporary Redirect"))


def _echo(status: str, caller: socket.socket, _here: Any, request: Request) -> None:
    """The key, wherever a server can put it."""
    key = request.headers.get("authorization", "")
    body = json.dumps({"error": {"message": key, "code": key}}).encode()
    caller.sendall(sized(body, f"x-echo: {key}", f"retry-after: {key}", status=f"{status} {key}"))


GOOD = json.dumps(completion()).encode()
CHUNKED = "transfer-encoding: chunked"
BLOCK = b" " * (1 << 16)
ZIPPED = gzip.compress(b" " * (1 << 27))
"""131 kB that unpack to 128 MiB."""
DIGITS = "9" * 400
KEY = "sk-secret-0123456789"
OTHER_KEY = "sk-other-9876543210"
WRONG_KEY = "sk-wrong-key-9876543210"

READ_AS_A_VOTE: dict[str, Attack] = {
    "ansi": _written("\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2028[[A]]"),
    "formula": _body(completion("=1+1 [[A]]", model="=HYPERLINK(1)\0\x1b[31m" + "x" * 10_000)),
    "http10": _say(head(version="HTTP/1.0") + GOOD),
    "cookies": _say(sized(GOOD, *(f"set-cookie: c{n}=1; Path=/" for n in range(100)))),
    "keys-twice": _raw('{"choices": [], ' + json.dumps(completion())[1:]),
    "usage-infinite": _usage("Infinity", "NaN"),
    "usage-negative": _usage("-1000000000", "-5"),
    "usage-400-digits": _usage(DIGITS, DIGITS),
    "usage-fraction": _usage("1.5", "1e400"),
    "usage-texts": _usage('"many"', "[[1]]"),
    "usage-true": _usage("true", "true"),
    "usage-nothing": _body(completion(usage=[])),
    "numbers-elsewhere": _raw(json.dumps(completion(created="U")).replace('"U"', "-Infinity")),
}
"""Odd, and an answer all the same."""

UNUSABLE: dict[str, Attack] = {
    "nul": _written("because \0 [[A]]"), "surrogate": _written("because \ud800 [[A]]"),
    "list": _written([{"type": "text", "text": "[[A]]"}]), "object": _written({"[[A]]": "[[A]]"}),
    "number": _written(1), "true": _written(True), "long": _written("[[A]] " * 100_000),
    "nested": _written(json.loads("[" * 200 + "]" * 200)),
}  # fmt: skip
"""An output that is kept escaped and is no vote."""

NO_ANSWER: dict[str, Attack] = {
    "endless": partial(_for_ever, head("content-length: 1000000000000"), BLOCK),
    "endless-chunks": partial(_for_ever, head(CHUNKED), b"10000\r\n" + BLOCK + b"\r\n"),
    "endless-until-closed": partial(_for_ever, head(version="HTTP/1.0"), BLOCK),
    "endless-header": partial(_for_ever, b"HTTP/1.1 200 OK\r\nx-a: ", BLOCK),
    "endless-headers": partial(_for_ever, b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n" * 1000),
    "endless-continue": partial(_for_ever, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "endless-trailer": partial(_for_ever, head(CHUNKED) + b"0\r\n", b"x-a: b\r\n" * 1000),
    "pieces": partial(_for_ever, head(CHUNKED), b"1\r\n \r\n" * 1000),
    "slow-body": partial(_drip, head("content-length: 1000000"), b" "),
    "slow-header": partial(_drip, b"HTTP/1.1 200 OK\r\n", b"x"),
    "silent": partial(_drip, b"", b""),
    "ten-megabytes": _written("[[A]] " * 1_700_000),
    "zipped": _say(sized(ZIPPED, "content-encoding: gzip")),
    "deep": _raw("[" * 200_000 + "]" * 200_000),
    "deep-content": _raw('{"choices": [{"message": {"content": ' + "[" * 200_000),
    "lists": _raw("[" + "[]," * 340_000 + "[]]"),
    "digits": _usage("9" * 100_000, "1"),
    "not-utf8": _say(sized(b'{"choices": [{"message": {"content": "\xff\xfe [[A]]"}}]}')),
    "utf16": _say(sized(GOOD.decode().encode("utf-16"))),
    "no-choices": _body(completion(choices=[])),
    "choices-object": _body(completion(choices={"0": 1})),
    "choices-nested": _body(completion(choices=[[[{"message": {"content": "[[A]]"}}]]])),
    "choices-text": _body(completion(choices="[[A]]")),
    "no-message": _body(completion(choices=[{"text": "[[A]]"}])),
    "message-list": _body(completion(choices=[{"message": ["[[A]]"]}])),
    "a-list": _body([completion()]),
    "null": _raw("null"),
    "empty": _raw(""),
    "closed": _say(b""),
    "not-http": _say(b"220 mail.example ESMTP\r\n"),
    "short": _say(head("content-length: 100000") + GOOD),
    "reset": _reset,
    "chunk-size": _say(head(CHUNKED) + b"-5\r\n" + GOOD),
    "huge-chunk-size": _say(head(CHUNKED) + b"f" * 30 + b"\r\n" + GOOD),
    "two-lengths": _say(head("content-length: 5", "content-length: 900") + GOOD),
    "upgrade": _say(head(status="101 Switching Protocols") + GOOD),
    "busy": _status("429 Too Many Requests"),
    "refused": _status("400 Bad Request"),
    "no-such-status": _status("999 What"),
}
"""Nothing that counts as an answer: the call is given up, or made again next time."""

STOPPED: dict[str, Attack] = {
    "redirect": _redirect,
    "moved": _status("301 Moved", "location: file:///etc/passwd"),
    "moved-nowhere": _status("302 Found", "location: http://[:::"),
    "echo-401": partial(_echo, "401"),
}
"""No call of this judge can succeed."""

ATTACKS = READ_AS_A_VOTE | UNUSABLE | NO_ANSWER | STOPPED
ATTACKS["echo-500"] = partial(_echo, "500")
ATTACKS["usage-too-many"] = _usage("100", "900000")
ATTACKS["missing"] = _status("404 Not Found")

FAULT = re.compile(r"fault (\w+) (\d+)")
FAULTS: dict[str, Attack] = {
    "busy": _status("429 Too Many Requests", "retry-after: 0.02"),
    "broken": _status("500 Internal Server Error"), "refused": _status("400 Bad Request"),
    "empty": _body(completion(choices=[])), "silent": _written(None),
    "half": _raw('{"id": "x", "choices": [{"mess'), "html": _raw("<html>gateway</html>"),
    "closed": _say(b""), "hangs": partial(_drip, b"", b""),
}  # fmt: skip


def _read(caller: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = caller.recv(1 << 16)
        if not more:
            return None
        data += more
    start, _, body = data.partition(b"\r\n\r\n")
    line, *rest = start.decode("latin-1").split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (entry.partition(":") for entry in rest)}
    while len(body) < int(headers.get("content-length", "0")):
        body += caller.recv(1 << 16)
    asked = json.loads(body) if body else {}
    prompt = asked["messages"][0]["content"] if asked else ""
    return Request(line, headers, asked.get("model", ""), prompt)


def _response_to(here: HostileEndpoint, request: Request) -> Attack:
    """What becomes of a request, by its model, its key, the fault that it asks for, its pair."""
    if request.model in ATTACKS:
        return ATTACKS[request.model]
    if request.headers.get("authorization") == f"Bearer {WRONG_KEY}":
        return partial(_echo, "401")
    fault = FAULT.search(request.prompt)
    with here.lock:
        if fault and here.prompts.count(request.prompt) <= int(fault[2]):
            return FAULTS[fault[1]]
    texts = re.findall(r"<assistant_[ab]>\n(.*?)\n</assistant_[ab]>", request.prompt, re.DOTALL)
    is_b = ["good" in text for text in texts] == [False, True]
    body = json.dumps(completion("[[B]]" if is_b else "[[A]]")).encode()
    return _say(head(f"content-length: {len(body)}") + body)


def _serve(caller: socket.socket, here: HostileEndpoint) -> None:
    with caller, contextlib.suppress(OSError):
        while (request := _read(caller)) is not None:
            with here.lock:
                here.requests.append(request)
                here.prompts.append(request.prompt)
                here.open += 1
                here.most_open = max(here.most_open, here.open)
            try:
                if here.barrier is not None:
                    here.barrier.acquire()
                attack = _response_to(here, request)
                attack(caller, here, request)
            finally:
                with here.lock:
                    here.open -= 1
            if attack in FAULTS.values() or request.model in ATTACKS:
                return


@contextmanager
def hostile_endpoint() -> Iterator[HostileEndpoint]:
    """A running endpoint."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    here = HostileEndpoint(listener.getsockname()[1])

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = listener.accept()
                threading.Thread(target=_serve, args=(caller, here), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        here.closing.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
