"""An OpenAI-compatible endpoint on loopback that fails on request, as real ones do.

An instruction ``fault NAME N`` makes the first N answers to it fail in that way. Any other answer
is [[A]] or [[B]], for the response that contains the word 'good'.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-secret-0123456789"
_FAULT = re.compile(r"fault (\w+) (\d+)")


class Endpoint:
    """What a test sees of the server: its address, and every prompt that it was asked."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.prompts: list[str] = []
        self.asked: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.open = 0
        self.most_open = 0
        self.lock = threading.Lock()
        self.release = threading.Event()
        """Calls that hang do so until this is set."""
        self.barrier: threading.Semaphore | None = None
        """Every answer takes one, where there is one."""


def _completion(text: str | None, **more: object) -> dict[str, object]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "model-served",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        **more,
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """One completion."""
        here: Endpoint = self.server.endpoint  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][0]["content"]
        with here.lock:
            here.prompts.append(prompt)
            here.asked[body["model"]] += 1
            here.open += 1
            here.most_open = max(here.most_open, here.open)
        try:
            if here.barrier is not None:
                here.barrier.acquire()
            self._answer(here, body["model"], prompt)
        finally:
            with here.lock:
                here.open -= 1

    def _answer(self, here: Endpoint, model: str, prompt: str) -> None:
        if self.headers.get("authorization") != f"Bearer {KEY}":
            self._send(401, {"error": {"message": f"no: {self.headers.get('authorization')}"}})
            return
        if model == "missing":
            self._send(404, {"error": {"message": "no such model"}})
            return
        fault = _FAULT.search(prompt)
        if fault:
            with here.lock:
                here.failed[prompt] += 1
                failing = here.failed[prompt] <= int(fault[2])
            if failing:
                self._fail(here, fault[1])
                return
        a, b = re.findall(r"<assistant_[ab]>\n(.*?)\n</assistant_[ab]>", prompt, re.DOTALL)
        self._send(200, _completion("[[A]]" if "good" in a else "[[B]]" if "good" in b else "?"))

    def _fail(self, here: Endpoint, fault: str) -> None:
        if fault == "busy":
            self._send(429, {"error": {"message": "slow down"}}, {"retry-after": "0.02"})
        elif fault == "broken":
            self._send(500, {"error": {"message": "oops"}})
        elif fault == "refused":
            self._send(400, {"error": {"message": "content filter"}})
        elif fault == "empty":
            self._send(200, _completion("x", choices=[]))
        elif fault == "silent":
            self._send(200, _completion(None))
        elif fault == "half":
            self._raw(200, b'{"id": "x", "choices": [{"mess')
        elif fault == "html":
            self._raw(200, b"<html>gateway</html>")
        elif fault == "closed":
            self.close_connection = True
        elif fault == "hangs":
            here.release.wait(60)
            self.close_connection = True
        else:
            raise AssertionError(fault)

    def _send(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        self._raw(status, json.dumps(content).encode(), headers)

    def _raw(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news."""


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """A running endpoint."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.endpoint = Endpoint(server.server_address[1])  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.endpoint  # type: ignore[attr-defined]
    finally:
        server.endpoint.release.set()  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()
