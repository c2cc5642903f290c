"""One call of a judge: retries, pacing, and which errors end it.

Nothing that a server sends is quoted in a message, since an error text may repeat the key.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from judgepanel.collect.completion import (
    Completion,
    NotACompletion,
    longest_text,
    read_completion,
)
from judgepanel.collect.exchange import Exchange, NoAnswer, Reply
from judgepanel.collect.judges import Judge
from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError, quote_value

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
_LONGEST_HEADER = 64
_TRANSIENT = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))


class Hopeless(Exception):
    """No call of this judge can succeed, such as with a wrong key; one sentence says why."""


class GivenUp(Exception):
    """A call failed in all its attempts; one sentence says why.

    ``refused``: the server answered and rejected this call; it may accept others.
    """

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Answer:
    """The completion, the seconds that the last attempt took, and the number of attempts."""

    completion: Completion
    seconds: float
    attempts: int


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
    """Calls one judge; its key comes from the environment and goes only to the judge's address."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.pace = Pace(judge.per_minute)
        self._exchange = Exchange(judge, _key(judge))

    async def close(self) -> None:
        """Close the judge's connections."""
        await self._exchange.close()

    async def ask(self, prompt: str) -> Answer:
        """The judge's answer to a prompt.

        Raises
        ------
        Hopeless, GivenUp
        """
        for attempt in range(1, self.judge.attempts + 1):
            await self.pace.turn()
            began = time.monotonic()
            try:
                completion = await self._once(prompt)
                return Answer(completion, time.monotonic() - began, attempt)
            except _Again as error:
                again = error
            if attempt < self.judge.attempts:
                pause = again.seconds or _pause(attempt)
                if again.holds_all:
                    self.pace.hold(pause)
                await asyncio.sleep(pause)
        raise GivenUp(f"{again}, in {self.judge.attempts} attempts")

    async def _once(self, prompt: str) -> Completion:
        try:
            reply = await self._exchange.post(prompt)
            if not 200 <= reply.status < 300:
                raise _of_status(self.judge, reply)
            return read_completion(reply.body, longest_text(self.judge.max_tokens))
        except NoAnswer as problem:
            raise _Again(str(problem)) from None
        except NotACompletion:
            raise _Again("an answer that is not a completion") from None
        except (Hopeless, GivenUp, _Again):
            raise
        except Exception as error:
            # Any other failure that an endpoint causes concerns its own judge only. The error's
            # text is left out, since it may repeat the request or the answer.
            raise _Again(f"an answer that could not be handled ({type(error).__name__})") from None


class _Again(Exception):
    """A failed attempt that may be repeated, after the seconds that the server asked for.

    ``holds_all``: other calls of the judge would fail in the same way.
    """

    def __init__(self, reason: str, seconds: float = 0.0, *, holds_all: bool = False) -> None:
        super().__init__(reason)
        self.seconds, self.holds_all = seconds, holds_all


def _of_status(judge: Judge, reply: Reply) -> Exception:
    status = reply.status
    if 300 <= status < 400:
        return Hopeless(
            f"the server sends callers to another address (status {status}), and no prompt goes "
            "where judges.toml does not say; base_url is to be the final address"
        )
    if status in (401, 403):
        where = f"${judge.key_variable}" if judge.key_variable else "key_variable, which is not set"
        return Hopeless(f"the server refuses the key (status {status}); it comes from {where}")
    if status == 404:
        return Hopeless(
            f"the server knows no model {quote_value(judge.model)}, or the address is wrong "
            f"(status 404)"
        )
    if status in _TRANSIENT:
        return _Again(f"status {status}", _asked_for(reply.retry_after), holds_all=status == 429)
    return GivenUp(f"status {status}: the server will not take this call", refused=True)


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
    key = os.environ.get(judge.key_variable, "").strip()
    if not key:
        raise InputError(
            f"judge {quote_value(judge.name)} has no key: the environment variable "
            f"{quote_value(judge.key_variable)} is not set",
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(
            f"judge {quote_value(judge.name)} has a key that no request can carry: "
            f"{quote_value(judge.key_variable)} holds a blank, a line break or another such "
            f"character",
            allowed="printable ASCII characters",
        )
    return key
