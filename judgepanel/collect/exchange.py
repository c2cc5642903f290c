"""One HTTP exchange with an untrusted endpoint, bounded in bytes, chunks and time.

It ignores its surroundings: redirects are not followed, cookies are not kept, and no proxy, .netrc
or header is taken from the environment. Only ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` are respected,
since they state whom the owner of this machine trusts.
"""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgepanel.collect.judges import Judge
from judgepanel.votes.installed import require

if TYPE_CHECKING:
    import httpx

BODY = 1 << 20
BODY_A_TOKEN = 64
"""Largest body that is read: ``BODY`` bytes, plus this many for each token of ``max_tokens``."""
PIECES = 1 << 14
"""Largest number of chunks that are read, since even short chunks take time."""


class NoAnswer(Exception):
    """The exchange failed; a few words say how."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, the ``Retry-After`` header as received, and the body if the status is a success."""

    status: int
    retry_after: str
    body: bytes


def longest_body(judge: Judge) -> int:
    """Size of the largest body that is read, in bytes."""
    return BODY + BODY_A_TOKEN * judge.max_tokens


class Exchange:
    """Posts prompts to one judge; the key is sent only to the judge's own address.

    Raises
    ------
    InputError
        The package httpx is not installed.
    """

    def __init__(self, judge: Judge, key: str) -> None:
        httpx = _httpx()
        self._httpx = httpx
        self._judge = judge
        self._url = httpx.URL(f"{judge.base_url.rstrip('/')}/chat/completions")
        self._headers = {
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "judgepanel",
        }
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        # A transport without a client follows no redirects and keeps no cookies.
        self._transport = httpx.AsyncHTTPTransport(
            verify=_trusted(),
            trust_env=False,
            limits=httpx.Limits(max_connections=judge.concurrency),
            proxy=judge.proxy or None,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def post(self, prompt: str) -> Reply:
        """The whole reply to a prompt, within the judge's ``timeout`` counted from connecting.

        Raises
        ------
        NoAnswer
        """
        judge = self._judge
        content = {
            "model": judge.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": judge.temperature,
            "max_tokens": judge.max_tokens,
        }
        httpx = self._httpx
        request = httpx.Request(
            "POST", self._url, headers=self._headers, content=json.dumps(content).encode()
        )
        try:
            async with asyncio.timeout(judge.timeout):
                return await self._exchanged(request)
        except TimeoutError:
            raise NoAnswer(f"no whole answer within {judge.timeout:g} s") from None
        except (httpx.ConnectError, httpx.ProxyError):
            raise NoAnswer("no connection") from None
        except httpx.HTTPError:
            raise NoAnswer("a connection that broke, or an answer that is not HTTP") from None

    async def _exchanged(self, request: httpx.Request) -> Reply:
        response = await self._transport.handle_async_request(request)
        try:
            retry_after = response.headers.get("retry-after", "")
            # The body of a refusal is never shown, so it is not read.
            body = await self._body(response) if response.is_success else b""
            return Reply(response.status_code, retry_after, body)
        finally:
            await response.aclose()

    async def _body(self, response: httpx.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise NoAnswer("an answer that is compressed, which was not asked for")
        most = longest_body(self._judge)
        body = bytearray()
        pieces = 0
        async for piece in response.aiter_raw():
            body += piece
            pieces += 1
            if len(body) > most:
                raise NoAnswer(f"an answer of more than {most:,} bytes")
            if pieces > PIECES:
                raise NoAnswer(f"an answer in more than {PIECES:,} pieces")
        return bytes(body)


def _httpx() -> Any:
    """The package of the extra ``collect``: help, reading and estimates do without it."""
    return require("httpx", "asking judges")


@functools.cache
def _trusted() -> ssl.SSLContext:
    context: ssl.SSLContext = _httpx().create_ssl_context(trust_env=True)
    return context
