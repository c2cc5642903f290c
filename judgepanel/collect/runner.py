"""Ask all judges about all pairs: concurrently, within limits, and each question only once.

Finished calls, one line each, written as soon as they end, so that they survive a crash.

A journal is a file of outputs that `votes/outputs.py` reads. Only complete lines count: an
incomplete last line, left by a process that died, is cut off when the journal is opened.

The results of a run: votes read from its journal, and each judge's cost and latency.

One call of a judge: retries, pacing, and which errors end it.

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
import fcntl
import functools
import json
import os
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from judgepanel.collect.judges import Judge, Pairs, Plan, dollars, filled
from judgepanel.votes import choices, load, outputs, records, roles
from judgepanel.votes.cells import UNSTORABLE, is_number, shield, unshield
from judgepanel.votes.errors import InputError, quote_value, require
from judgepanel.votes.outputs import PAIR, UNUSABLE, transcribed

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
        verify, bounds = _trusted(httpx), httpx.Limits(max_connections=judge.concurrency)
        self.transport = httpx.AsyncHTTPTransport(
            verify=verify, trust_env=False, limits=bounds, proxy=judge.proxy or None
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
                # Exponential backoff with jitter, unless the server says how long.
                longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
                pause = again.seconds or longest * random.uniform(0.5, 1.0)  # noqa: S311
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
        body = json.dumps(content).encode()
        request = httpx.Request("POST", self._url, headers=self._headers, content=body)
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
        text, unusable = json.dumps(written, ensure_ascii=False), outputs.NOT_TEXT
    if UNSTORABLE.search(text):
        text = UNSTORABLE.sub(lambda bad: ascii(bad[0])[1:-1], text)
        unusable = unusable or outputs.UNWRITABLE
    if len(text) * 6 > longest and len(json.dumps(text, ensure_ascii=False).encode()) > longest:
        cut = len(text) - 2 * _EXCERPT
        if cut > 0:
            text = f"{text[:_EXCERPT]}\n[… {cut:,} characters …]\n{text[-_EXCERPT:]}"
        unusable = unusable or outputs.TOO_LONG
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


FILE = "outputs.jsonl"
LOCK = ".lock"
_TEXTS = ("item_id", "judge", "order", PAIR, "asked", "text", "served_by", "finish")
_TOKENS = ("tokens_in", "tokens_out")
_IMPOSSIBLE = 1e12
"""Dollars, seconds or tokens that no call takes."""
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that JSON leaves unescaped but terminals obey, readers cannot see or UTF-8 lacks."""


class Journal:
    """The journal of one folder, locked by one process; a context manager.

    The system releases the lock whenever the process ends.

    Raises InputError if another process has locked it, if it cannot be written, and for lines that
    no run can have written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._open = ExitStack()
        self._file = -1

    def __enter__(self) -> Journal:
        with ExitStack() as handles:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
                handles.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with self.path.open("a+b") as lines:
                    lines.seek(0)
                    lines.truncate(sum(len(line) for line in lines if line.endswith(b"\n")))
                self._file = os.open(self.path, os.O_RDWR | os.O_APPEND)
                handles.callback(os.close, self._file)
            except BlockingIOError:
                problem, allowed = "another run is collecting into this folder", "one at a time"
                raise InputError(problem, allowed, file=self.folder.name) from None
            except OSError as error:
                problem = f"cannot be written to: {error.strerror}"
                raise InputError(problem, file=self.folder.name) from None
            self._open = handles.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def entries(self) -> Iterator[dict[str, Any]]:
        """All finished calls, one at a time."""
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield _entry(line, number)

    def add(self, entry: dict[str, Any]) -> None:
        """Append one finished call completely or not at all; InputError if the disk is full."""
        text = json.dumps(entry, ensure_ascii=False, allow_nan=False)
        line = (_UNSEEN.sub(lambda bad: f"\\u{ord(bad[0]):04x}", text) + "\n").encode()
        before = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            os.ftruncate(self._file, before)
            problem = f"cannot be written to: {error.strerror}; what was finished is kept"
            allowed = "room on the disk; then run the same command again"
            raise InputError(problem, allowed, file=self.path.name) from None


def _entry(line: bytes, number: int) -> dict[str, Any]:
    """A finished call; InputError for a line that no run can have written."""
    try:
        entry: dict[str, Any] = json.loads(line)
        texts = "".join(entry[name] for name in _TEXTS)
        amounts = [entry["cost"], entry["most"], entry["seconds"]]
        amounts += [entry[name] for name in _TOKENS if entry[name] is not None]
        is_possible = all(type(x) in (int, float) and 0 <= x < _IMPOSSIBLE for x in amounts)
        if not is_possible or UNSTORABLE.search(texts):
            raise ValueError
    except (ValueError, TypeError, LookupError, RecursionError):
        allowed = "lines of this journal"
        raise InputError("not a finished call", allowed, file=FILE, row=number) from None
    return entry


BROKEN_AFTER = 20
"""Failed calls in a row, refusals not counted, after which a judge is stopped."""


Calls = set[tuple[str, str]]
"""Calls of one judge, as (item, order)."""
Progress = Callable[[int, int, float], None]
"""Takes finished calls, planned calls and dollars."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Calls made in this run, calls finished so far, calls planned, and the cost of all in dollars.

    ``troubles`` are sentences about stopped judges, calls that were given up, and the cap.
    """

    made: int
    finished: int
    planned: int
    dollars: float
    troubles: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every call is finished."""
        return self.finished == self.planned


def finished(journal: Journal, plan: Plan, pairs: Pairs) -> tuple[dict[str, Calls], float]:
    """Finished calls by judge, as (item, order), and the dollars spent on all in the journal."""
    run = _Run(pairs, plan, journal, None, lambda *_: None)
    return run.finished, run.dollars


def collect(
    pairs: Pairs,
    plan: Plan,
    journal: Journal,
    *,
    max_cost: float | None = None,
    on_progress: Progress = lambda *_: None,
) -> Outcome:
    """Make every call that is not in the journal yet.

    All calls in the journal together never cost more than ``max_cost`` dollars: a call is made only
    if the cap holds even if it and all running calls use every token they may. A judge whose server
    reports more than that is stopped, and the excess does not count against the others.
    Memory holds the pairs and the keys of finished calls, not the outputs.

    Raises
    ------
    InputError
        A key is not set, the journal belongs to other settings, the disk is full, or the package
        of the extra ``collect`` is not installed.
    """
    run = _Run(pairs, plan, journal, max_cost, on_progress)
    asyncio.run(run.make_calls())
    return Outcome(run.made, run.n_finished(), run.planned, run.dollars, tuple(run.troubles()))


class _Run:
    """The calls of a run: what is finished and spent, and what the running calls may spend.

    ``counted`` counts towards the cap: each call at most at the cost it was allowed, so that a
    judge whose server reports more does not use up the budget of the others. ``failed`` are the
    failures in a row.
    """

    def __init__(
        self, pairs: Pairs, plan: Plan, journal: Journal, cap: float | None, progress: Progress
    ) -> None:
        self.pairs, self.plan, self.journal, self.cap = pairs, plan, journal, cap
        self.on_progress = progress
        self.asked = {judge.name: plan.fingerprint(judge) for judge in plan.judges}
        self.planned = plan.calls(len(pairs)) * len(plan.judges)
        self.finished: dict[str, Calls] = {judge.name: set() for judge in plan.judges}
        self.dollars = self.counted = self.reserved = 0.0
        self.under_way = self.made = 0
        self.freed = asyncio.Condition()
        self.capped: set[str] = set()
        self.stopped: dict[str, str] = {}
        self.given_up: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.unusable: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.failed: Counter[str] = Counter()
        place = {name: item for item, name in enumerate(pairs.ids)}
        texts = [pairs.fingerprint(item) for item in range(len(pairs))]
        for entry in journal.entries():
            name, item = entry["judge"], place.get(unshield(entry["item_id"]))
            self.dollars += entry["cost"]
            self.counted += min(entry["cost"], entry["most"])
            if name not in self.asked:
                continue
            who = f"judge {quote_value(name)}"
            if entry["asked"] != self.asked[name]:
                problem = f"{who} was asked otherwise before"
                settings = "model, address, prompt, temperature, tokens, seed and orders"
                allowed = f"the same {settings}, another name for the judge, or another folder"
                raise InputError(problem, allowed, file=self.journal.folder.name)
            if item is None:
                continue
            if entry[PAIR] != texts[item]:
                problem = f"the texts of {quote_value(pairs.ids[item])} are not what {who} saw"
                allowed = "the same texts, another id for the pair, or another folder"
                raise InputError(problem, allowed, file=pairs.name)
            self.finished[name].add((pairs.ids[item], entry["order"]))

    def n_finished(self) -> int:
        """Number of finished calls, of this run and before."""
        return sum(map(len, self.finished.values()))

    async def make_calls(self) -> None:
        """Let the workers of all judges make the calls that are left."""
        async with AsyncExitStack() as stack:
            callers = [Caller(judge) for judge in self.plan.judges]
            for caller in callers:
                await stack.enter_async_context(caller.transport)
            try:
                async with asyncio.TaskGroup() as tasks:
                    for caller in callers:
                        calls = self._calls(caller.judge.name)
                        for _ in range(caller.judge.concurrency):
                            tasks.create_task(self._work(caller, calls))
            except ExceptionGroup as group:
                # Before 3.11.4, what `except*` raises is in a group again.
                refused, others = group.split(InputError)
                if refused is None or others is not None:
                    raise
                raise refused.exceptions[0] from None

    def _calls(self, judge: str) -> Iterator[tuple[int, str]]:
        for item, name in enumerate(self.pairs.ids):
            for order in self.plan.orders(name):
                if (name, order) not in self.finished[judge]:
                    yield item, order

    async def _work(self, caller: Caller, calls: Iterator[tuple[int, str]]) -> None:
        """Make calls until none is left, the judge is stopped, or the cap is reached."""
        judge, name = caller.judge, caller.judge.name
        for item, order in calls:
            if name in self.stopped or name in self.capped:
                return
            instruction, first, second = self.pairs.texts(item)
            shown_as = (first, second) if order == "AB" else (second, first)
            prompt = filled(judge.template, instruction, *shown_as)
            most = judge.most_dollars(prompt)
            if not await self._reserved(most):
                self.capped.add(name)
                return
            try:
                self._keep(name, item, order, await caller.ask(prompt))
            except Hopeless as error:
                self.stopped[name] = str(error)
            except GivenUp as error:
                self.given_up[name][str(error)] += 1
                self.failed[name] += not isinstance(error, Refused)
                n = self.failed[name]
                if n >= BROKEN_AFTER:
                    reason = f"{n} calls in a row came to nothing, the last for: {error}"
                    self.stopped.setdefault(name, reason)
            finally:
                await self._free(most)

    async def _reserved(self, most: float) -> bool:
        """Reserve the highest cost of a call when enough is left; False if the cap is reached."""
        async with self.freed:
            while most and self.cap is not None and self.counted + self.reserved + most > self.cap:
                if not self.under_way:
                    return False
                await self.freed.wait()
            self.reserved += most
            self.under_way += 1
        return True

    async def _free(self, most: float) -> None:
        async with self.freed:
            self.under_way -= 1
            self.reserved = self.reserved - most if self.under_way else 0.0
            self.freed.notify_all()

    def _keep(self, judge: str, item: int, order: str, answer: dict[str, Any]) -> None:
        name = self.pairs.ids[item]
        shown, asked = self.pairs.fingerprint(item), self.asked[judge]
        entry: dict[str, Any] = {"item_id": shield(name), "judge": judge, "order": order}
        entry |= {**self.pairs.known(item), PAIR: shown, **answer, "asked": asked}
        self.journal.add(entry)
        self.finished[judge].add((name, order))
        self.dollars += answer["cost"]
        self.counted += min(answer["cost"], answer["most"])
        self.made += 1
        self.failed[judge] = 0
        if UNUSABLE in answer:
            self.unusable[judge][answer[UNUSABLE]] += 1
        if self.cap is not None and answer["cost"] > answer["most"]:
            used = f"{answer['tokens_in']:,} tokens in and {answer['tokens_out']:,} out"
            most = f"a call that was allowed {dollars(answer['most'])}"
            so = "the cap cannot be kept with it; a higher max_tokens allows more"
            self.stopped[judge] = f"its server reports {used} for {most}, so {so}"
        self.on_progress(self.n_finished(), self.planned, self.dollars)

    def troubles(self) -> Iterator[str]:
        """Sentences about stopped judges, calls that were given up, odd outputs, and the cap."""
        for name, reason in self.stopped.items():
            yield f"Judge {quote_value(name)} was stopped: {reason}."
        for name, reasons in self.given_up.items():
            n, of, why = reasons.total(), quote_value(name), reasons.most_common(1)[0][0]
            calls = f"{n:,} calls of {of} were" if n > 1 else f"1 call of {of} was"
            yield f"{calls} given up, most often for: {why}."
        for name, reasons in self.unusable.items():
            n, of, why = reasons.total(), quote_value(name), ", ".join(reasons)
            many = f"{n:,} outputs of {of} are" if n > 1 else f"1 output of {of} is"
            yield f"{many} kept escaped and not read as a verdict: {why}."
        if self.capped:
            names = ", ".join(quote_value(name) for name in sorted(self.capped))
            yield f"Stopped before the cap of {dollars(self.cap)}, {names}: a higher one goes on."


NAMES = 20
_OF_AN_OUTPUT = frozenset(("item_id", "judge", "order", "text", UNUSABLE))


def votes_of(journal: Journal, pairs: Pairs) -> load.Loaded:
    """Votes read from a journal; an output that cannot be read is a missing vote with a reason.

    Labels, groups and features are those of the pairs as they are now. Items stand in the order of
    the pairs and judges in that of their names, whichever call ended first.

    Unlike an upload, a journal may have any length: a verbose judge must not prevent the others'
    votes from being read. Peak memory is a few times the size of the outputs.

    Raises
    ------
    InputError
        A line that is not a finished call.
    """
    place = {name: item for item, name in enumerate(pairs.ids)}
    data = b"".join(
        _row_of(entry, pairs, place.get(unshield(entry["item_id"]))) for entry in journal.entries()
    )
    table = transcribed(records.read_lines(data, FILE))
    loaded = load.build_votes(
        table, roles.guess_roles(table, choices.Choices(), need_label=False), need_labels=False
    )
    votes = loaded.votes
    places = [place.get(name, len(place)) for name in votes.item_ids]
    order = sorted(range(votes.n_items), key=lambda row: (places[row], votes.item_ids[row]))
    sorted_votes = votes.with_items(np.array(order)).with_judges(sorted(votes.judges))
    return replace(loaded, votes=sorted_votes)


def _row_of(entry: dict[str, Any], pairs: Pairs, item: int | None) -> bytes:
    """A line with the output and what is known about the item now, or was if it is gone."""
    dropped = outputs.OF_A_CALL if item is None else entry.keys()
    row = {name: entry[name] for name in entry if name in _OF_AN_OUTPUT or name not in dropped}
    known = {} if item is None else pairs.known(item)
    return json.dumps(row | known).encode() + b"\n"


def judge_rows(journal: Journal, plan: Plan) -> pd.DataFrame:
    """One row per judge: family, model, mean ``cost_usd`` and median ``latency_s`` per output.

    ``served_by`` lists up to ``NAMES`` models that the servers say answered. Token totals count
    only credible reports.
    """
    columns = ["judge", "served_by", "cost", "seconds", *_TOKENS]
    entries = journal.entries()
    calls = pd.DataFrame([[entry[name] for name in columns] for entry in entries], columns=columns)
    rows = []
    for judge in plan.judges:
        own = calls[calls["judge"] == judge.name]
        served_by = own["served_by"].unique()[: NAMES + 1]
        more = ", …" if len(served_by) > NAMES else ""
        rows.append(
            {
                "judge": judge.name,
                "family": judge.family,
                "model": judge.model,
                "served_by": ", ".join(sorted({*served_by} - {""})[:NAMES]) + more,
                "outputs": len(own),
                "cost_usd": own["cost"].astype(float).mean(),
                "latency_s": own["seconds"].astype(float).median(),
                **{name: int(own[name].sum()) for name in _TOKENS},
            }
        )
    return pd.DataFrame(rows)
