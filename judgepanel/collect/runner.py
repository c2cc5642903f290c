"""Ask all judges about all pairs: concurrently, within limits, and each question only once.

Finished calls, one line each, written as soon as they end, so that they survive a crash.

A journal is a file of outputs that `votes/outputs.py` reads. Only complete lines count: an
incomplete last line, left by a process that died, is cut off when the journal is opened.

The results of a run: votes read from its journal, and each judge's cost and latency.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.collect.calls import Caller, GivenUp, Hopeless, Refused
from judgepanel.collect.judges import Judge, Plan, filled
from judgepanel.collect.pairs import Pairs, dollars
from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.cells import UNSTORABLE, shield, unshield
from judgepanel.votes.choices import Choices
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.outputs import OF_A_CALL, PAIR, UNUSABLE, transcribed
from judgepanel.votes.records import read_lines
from judgepanel.votes.roles import guess_roles

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
        line = _line(entry)
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
        if not all(type(x) in (int, float) and 0 <= x < _IMPOSSIBLE for x in amounts):
            raise ValueError
        if UNSTORABLE.search(texts):
            raise ValueError
    except (ValueError, TypeError, LookupError, RecursionError):
        allowed = "lines of this journal"
        raise InputError("not a finished call", allowed, file=FILE, row=number) from None
    return entry


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, allow_nan=False)
    return (_UNSEEN.sub(lambda bad: f"\\u{ord(bad[0]):04x}", text) + "\n").encode()


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
    troubles = tuple(run.troubles())
    return Outcome(run.made, run.n_finished(), run.planned, run.dollars, troubles)


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
        self._read_journal()

    def n_finished(self) -> int:
        """Number of finished calls, of this run and before."""
        return sum(map(len, self.finished.values()))

    def _read_journal(self) -> None:
        pairs = self.pairs
        place = {name: item for item, name in enumerate(pairs.ids)}
        texts = [pairs.fingerprint(item) for item in range(len(pairs))]
        for entry in self.journal.entries():
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

    def _prompt(self, judge: Judge, item: int, order: str) -> str:
        instruction, first, second = self.pairs.texts(item)
        shown_as = (first, second) if order == "AB" else (second, first)
        return filled(judge.template, instruction, *shown_as)

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
            prompt = self._prompt(judge, item, order)
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
            outputs = f"{n:,} outputs of {of} are" if n > 1 else f"1 output of {of} is"
            yield f"{outputs} kept escaped and not read as a verdict: {why}."
        if self.capped:
            names = ", ".join(quote_value(name) for name in sorted(self.capped))
            cap = dollars(self.cap)
            yield f"Stopped before the cap of {cap}, {names}: a higher one goes on."


NAMES = 20
_OF_AN_OUTPUT = frozenset(("item_id", "judge", "order", "text", UNUSABLE))


def votes_of(journal: Journal, pairs: Pairs) -> Loaded:
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
    table = transcribed(read_lines(data, FILE))
    loaded = build_votes(table, guess_roles(table, Choices(), need_label=False), need_labels=False)
    votes = loaded.votes
    places = [place.get(name, len(place)) for name in votes.item_ids]
    order = sorted(range(votes.n_items), key=lambda row: (places[row], votes.item_ids[row]))
    sorted_votes = votes.with_items(np.array(order)).with_judges(sorted(votes.judges))
    return replace(loaded, votes=sorted_votes)


def _row_of(entry: dict[str, Any], pairs: Pairs, item: int | None) -> bytes:
    """A line with the output and what is known about the item now, or was if it is gone."""
    dropped = OF_A_CALL if item is None else entry.keys()
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
