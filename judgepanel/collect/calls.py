"""One call of a judge: retries, pacing, and which errors end it.

Nothing that a server sends is quoted in a message, since an error text may repeat the key.

Reading the body of an answer: the judge's text, and numbers and names that can be stored.

An endpoint may send anything. A body that is not a completion is refused. An output that no file of
votes can hold is escaped and stored with the reason why it is not read as a verdict.

One HTTP exchange with an untrusted endpoint, bounded in bytes, chunks and time.

It ignores its surroundings: redirects are not followed, cookies are not kept, and no proxy, .netrc
or header is taken from the environment. Only ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` are respected,
since they state whom the owner of this machine trusts.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import time
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from judgepanel.collect.judges import Judge
from judgepanel.votes.cells import UNSTORABLE, is_number
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.installed import require
from judgepanel.votes.outputs import NOT_TEXT, TOO_LONG, UNUSABLE, UNWRITABLE

if TYPE_CHECKING:
    import httpx

BODY = 1 << 20
BODY_A_TOKEN = 64
"""Largest body that is read: ``BODY`` bytes, plus this many for each token of ``max_tokens``."""
PIECES = 1 << 14
"""Largest number of chunks that are read, since even short chunks take time."""
MOST_TOKENS = 1_000_000
"""Largest token count, in or out, that is believed for one call."""
TEXT = 1 << 14
TEXT_A_TOKEN = 16
"""Bytes of an output kept unchanged: ``TEXT``, plus this many per token that the judge may use.

English has about four bytes per token.
"""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
_EXCERPT = 2_000
_NAME = 120
_LONGEST_HEADER = 64
_TRANSIENT = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))


class Hopeless(Exception):
    """No call of this judge can succeed, such as with a wrong key; one sentence says why."""


class GivenUp(Exception):
    """A call failed in all its attempts; one sentence says why."""


class Refused(GivenUp):
    """The server answered and rejected this call; it may accept others."""


class _Again(Exception):
    """A failed attempt that may be repeated, after the seconds that the server asked for.

    A few words say how it failed. ``holds_all``: other calls of the judge would fail likewise.
    """

    def __init__(self, reason: str, seconds: float = 0.0, *, holds_all: bool = False) -> None:
        super().__init__(reason)
        self.seconds, self.holds_all = seconds, holds_all


class Pace:
    """Limits calls per minute, evenly spaced; a pause that the server asks for delays all calls."""

    def __init__(self, per_minute: float) -> None:
        self._gap = 60.0 / per_minute
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next free slot."""
        now = time.monotonic()
        at = max(now, self._next)
        self._next = at + self._gap
        if at > now:
            await asyncio.sleep(at - now)

    def hold(self, seconds: float) -> None:
        """Start no call within the next ``seconds``."""
        self._next = max(self._next, time.monotonic() + seconds)


class Caller:
    """Calls one judge; its key comes from the environment and goes only to the judge's address.

    Whoever makes a caller closes its ``transport``.

    Raises
    ------
    InputError
        The key is not set, or the package httpx is not installed.
    """

    def __init__(self, judge: Judge) -> None:
        key = _key(judge)
        self._httpx = httpx = require("httpx", "asking judges")
        self.judge = judge
        self.pace = Pace(judge.per_minute)
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
        self.transport = httpx.AsyncHTTPTransport(
            verify=_trusted(httpx),
            trust_env=False,
            limits=httpx.Limits(max_connections=judge.concurrency),
            proxy=judge.proxy or None,
        )

    async def ask(self, prompt: str) -> dict[str, Any]:
        """The judge's answer to a prompt, as the fields that are stored of it.

        They are those of :func:`read_completion`, ``cost`` and the ``most`` that it could have been
        in dollars, the ``seconds`` that the last attempt took, and the number of ``attempts``.

        Raises
        ------
        Hopeless, GivenUp
        """
        judge, most = self.judge, self.judge.most_dollars(prompt)
        for attempt in range(1, judge.attempts + 1):
            await self.pace.turn()
            began = time.monotonic()
            try:
                answer = read_completion(await self._post(prompt), longest_text(judge.max_tokens))
                took = round(time.monotonic() - began, 4)
                tokens = answer["tokens_in"], answer["tokens_out"]
                cost = most if None in tokens else judge.price(*tokens)
                return answer | {"cost": cost, "most": most, "seconds": took, "attempts": attempt}
            except (Hopeless, GivenUp):
                raise
            except _Again as error:
                again = error
            except Exception as error:
                # Any other failure that an endpoint causes concerns its own judge only. The error's
                # text is left out, since it may repeat the request or the answer.
                again = _Again(f"an answer that could not be handled ({type(error).__name__})")
            if attempt < judge.attempts:
                pause = again.seconds or _pause(attempt)
                if again.holds_all:
                    self.pace.hold(pause)
                await asyncio.sleep(pause)
        raise GivenUp(f"{again}, in {judge.attempts} attempts")

    async def _post(self, prompt: str) -> bytes:
        """The whole reply to a prompt, within the judge's ``timeout`` counted from connecting."""
        judge, httpx = self.judge, self._httpx
        content = {
            "model": judge.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": judge.temperature,
            "max_tokens": judge.max_tokens,
        }
        request = httpx.Request(
            "POST", self._url, headers=self._headers, content=json.dumps(content).encode()
        )
        try:
            async with asyncio.timeout(judge.timeout):
                response = await self.transport.handle_async_request(request)
                async with aclosing(response):
                    # The body of a refusal is never shown, so it is not read.
                    if not response.is_success:
                        raise _of_status(judge, response)
                    return await self._body(response)
        except TimeoutError:
            raise _Again(f"no whole answer within {judge.timeout:g} s") from None
        except (httpx.ConnectError, httpx.ProxyError):
            raise _Again("no connection") from None
        except httpx.HTTPError:
            raise _Again("a connection that broke, or an answer that is not HTTP") from None

    async def _body(self, response: httpx.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise _Again("an answer that is compressed, which was not asked for")
        most = BODY + BODY_A_TOKEN * self.judge.max_tokens
        body = bytearray()
        pieces = 0
        async for piece in response.aiter_raw():
            body += piece
            pieces += 1
            if len(body) > most:
                raise _Again(f"an answer of more than {most:,} bytes")
            if pieces > PIECES:
                raise _Again(f"an answer in more than {PIECES:,} pieces")
        return bytes(body)


@functools.cache
def _trusted(httpx: Any) -> Any:
    """The TLS settings of this machine, loaded once for all judges."""
    return httpx.create_ssl_context(trust_env=True)


def longest_text(max_tokens: int) -> int:
    """Size up to which an output is kept unchanged, in bytes of JSON."""
    return TEXT + TEXT_A_TOKEN * max_tokens


def read_completion(body: bytes, longest: int) -> dict[str, Any]:
    """The first choice of a completion as a file can hold it; of duplicate keys the last counts.

    The judge's text, why it is unusable if it is, the model and the reason to stop, and the numbers
    of tokens in and out: None for both if either is missing or impossible.

    It is asked for again if it is not UTF-8, not JSON, nested too deeply or with numbers too long
    for a parser, or without a choice that has a message.
    """
    try:
        content = json.loads(body.decode())
        choice = content["choices"][0]
        written, usage = choice["message"].get("content"), content.get("usage")
        text, unusable = output_of("" if written is None else written, longest)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        raise _Again("an answer that is not a completion") from None
    counts = usage if isinstance(usage, dict) else {}
    tokens_in = count_of(counts.get("prompt_tokens"))
    tokens_out = count_of(counts.get("completion_tokens"))
    if not tokens_in or tokens_out is None or (text and not tokens_out):
        tokens_in = tokens_out = None
    return {
        "text": text,
        **({UNUSABLE: unusable} if unusable else {}),
        "served_by": name_of(content.get("model")),
        "finish": name_of(choice.get("finish_reason")),
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
    }


def output_of(written: Any, longest: int) -> tuple[str, str]:
    """The output as a file can store it, and why it must not be read; blank if it may.

    NUL and lone surrogates are escaped with a backslash. What is not text becomes JSON. Of a text
    that is too long, only both ends are kept.
    """
    unusable = ""
    text = written
    if not isinstance(text, str):
        text, unusable = json.dumps(written, ensure_ascii=False), NOT_TEXT
    if UNSTORABLE.search(text):
        text = UNSTORABLE.sub(lambda bad: ascii(bad[0])[1:-1], text)
        unusable = unusable or UNWRITABLE
    if len(text) * 6 > longest and len(json.dumps(text, ensure_ascii=False).encode()) > longest:
        cut = len(text) - 2 * _EXCERPT
        if cut > 0:
            text = f"{text[:_EXCERPT]}\n[… {cut:,} characters …]\n{text[-_EXCERPT:]}"
        unusable = unusable or TOO_LONG
    return text, unusable


def name_of(value: Any) -> str:
    """A name reported by a server, as one printable line of bounded length."""
    if not isinstance(value, str):
        return ""
    start = value[: 4 * _NAME]
    return " ".join("".join(c if c.isprintable() else " " for c in start).split())[:_NAME]


def count_of(value: Any) -> int | None:
    """A token count if it is a whole number from 0 to ``MOST_TOKENS``, else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _of_status(judge: Judge, response: httpx.Response) -> Exception:
    status = response.status_code
    if 300 <= status < 400:
        moved = f"the server sends callers to another address (status {status})"
        why = "no prompt goes where judges.toml does not say"
        return Hopeless(f"{moved}, and {why}; base_url is to be the final address")
    if status in (401, 403):
        where = f"${judge.key_variable}" if judge.key_variable else "key_variable, which is not set"
        return Hopeless(f"the server refuses the key (status {status}); it comes from {where}")
    if status == 404:
        model = quote_value(judge.model)
        return Hopeless(f"the server knows no model {model}, or the address is wrong (status 404)")
    if status in _TRANSIENT:
        seconds = _asked_for(response.headers.get("retry-after", ""))
        return _Again(f"status {status}", seconds, holds_all=status == 429)
    return Refused(f"status {status}: the server will not take this call")


def _asked_for(retry_after: str) -> float:
    """Seconds in a ``Retry-After`` header (RFC 9110, 10.2.3), at most a minute; 0 if unusable."""
    text = retry_after.strip()
    if len(text) > _LONGEST_HEADER:
        return 0.0
    if is_number(text):
        seconds = float(text)
    else:
        try:
            at = parsedate_to_datetime(text)
            seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, IndexError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), LONGEST_PAUSE)


def _pause(attempt: int) -> float:
    """Seconds to wait: exponential backoff with jitter."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def _key(judge: Judge) -> str:
    if not judge.key_variable:
        return ""
    who, variable = f"judge {quote_value(judge.name)}", quote_value(judge.key_variable)
    key = os.environ.get(judge.key_variable, "").strip()
    if not key:
        raise InputError(f"{who} has no key: the environment variable {variable} is not set")
    if not (key.isascii() and key.isprintable()) or " " in key:
        holds = f"{variable} holds a blank, a line break or another such character"
        problem = f"{who} has a key that no request can carry: {holds}"
        raise InputError(problem, "printable ASCII characters")
    return key
