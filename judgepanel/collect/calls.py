"""One call of a judge: retries, pacing, and what an answer is worth keeping.

Nothing that a server says reaches a message as it is: an error text may repeat the key.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from dataclasses import dataclass

import openai

from judgepanel.collect.judges import Judge
from judgepanel.votes.errors import InputError, shown

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
_TRANSIENT = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))


class Hopeless(Exception):
    """No call of this judge can succeed, in one sentence: a wrong key, a wrong model."""


class GivenUp(Exception):
    """A call did not succeed in all its attempts, in one sentence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: text, the model that the server named, why it ended, tokens, seconds."""

    text: str
    model: str
    finish: str
    tokens_in: int
    tokens_out: int
    seconds: float
    attempts: int


class Pace:
    """At most so many calls a minute, evenly spaced; a pause that a server asks for holds all."""

    def __init__(self, per_minute: float) -> None:
        self._gap = 60.0 / per_minute
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next free moment."""
        now = time.monotonic()
        at = max(now, self._next)
        self._next = at + self._gap
        if at > now:
            await asyncio.sleep(at - now)

    def hold(self, seconds: float) -> None:
        """No call before so many seconds have passed."""
        self._next = max(self._next, time.monotonic() + seconds)


class Caller:
    """Asks one judge; the key comes from the environment and goes nowhere else."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.pace = Pace(judge.per_minute)
        self._client = openai.AsyncOpenAI(
            api_key=_key(judge), base_url=judge.base_url, max_retries=0, timeout=judge.timeout
        )

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def ask(self, prompt: str) -> Answer:
        """The answer to a prompt.

        Raises
        ------
        Hopeless, GivenUp
        """
        for attempt in range(1, self.judge.attempts + 1):
            await self.pace.turn()
            began = time.monotonic()
            try:
                return await self._once(prompt, began, attempt)
            except _Again as trouble:
                again = trouble
            if attempt < self.judge.attempts:
                pause = again.seconds or _pause(attempt)
                if again.holds_all:
                    self.pace.hold(pause)
                await asyncio.sleep(pause)
        raise GivenUp(f"{again}, in {self.judge.attempts} attempts")

    async def _once(self, prompt: str, began: float, attempt: int) -> Answer:
        judge = self.judge
        try:
            found = await asyncio.wait_for(
                self._client.chat.completions.create(
                    model=judge.model,
                    messages=[{"role": "user", "content": prompt}],
                    temperature=judge.temperature,
                    max_tokens=judge.max_tokens,
                ),
                judge.timeout,
            )
            choice = found.choices[0]
            text = choice.message.content or ""
            usage = found.usage
            return Answer(
                text=text,
                model=str(found.model),
                finish=str(choice.finish_reason),
                tokens_in=int(usage.prompt_tokens) if usage else 0,
                tokens_out=int(usage.completion_tokens) if usage else 0,
                seconds=time.monotonic() - began,
                attempts=attempt,
            )
        except (openai.APITimeoutError, TimeoutError):
            raise _Again(f"no answer within {judge.timeout:g} s") from None
        except openai.APIStatusError as error:
            raise _of_status(judge, error) from None
        except openai.APIConnectionError:
            raise _Again("no connection") from None
        except (openai.APIError, ValueError, TypeError, AttributeError, IndexError):
            raise _Again("an answer that is not a completion") from None


class _Again(Exception):
    """An attempt that failed and may be repeated, after the seconds that the server asked for.

    ``holds_all``: other calls of the judge would meet the same.
    """

    def __init__(self, reason: str, seconds: float = 0.0, *, holds_all: bool = False) -> None:
        super().__init__(reason)
        self.seconds, self.holds_all = seconds, holds_all


def _of_status(judge: Judge, error: openai.APIStatusError) -> Exception:
    status = error.status_code
    if status in (401, 403):
        where = f"${judge.key_variable}" if judge.key_variable else "key_variable, which is not set"
        return Hopeless(f"the server refuses the key (status {status}); it comes from {where}")
    if status == 404:
        return Hopeless(
            f"the server knows no model {shown(judge.model)}, or the address is wrong (status 404)"
        )
    if status in _TRANSIENT:
        return _Again(f"status {status}", _asked_for(error), holds_all=status == 429)
    return GivenUp(f"status {status}: the server will not take this call")


def _asked_for(error: openai.APIStatusError) -> float:
    try:
        seconds = float(error.response.headers.get("retry-after", "0"))
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_PAUSE)


def _pause(attempt: int) -> float:
    """Twice as long each time, and never the same for two callers."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def _key(judge: Judge) -> str:
    if not judge.key_variable:
        return "none"
    key = os.environ.get(judge.key_variable, "").strip()
    if not key:
        raise InputError(
            f"judge {shown(judge.name)} has no key: the environment variable "
            f"{shown(judge.key_variable)} is not set",
        )
    return key
