"""Ask all judges about all pairs: concurrently, within limits, and each question only once.

Finished calls, one line each, written as soon as they end, so that they survive a crash.

A journal is a file of outputs that `votes/outputs.py` reads. Only complete lines count: an
incomplete last line, left by a process that died, is cut off when the journal is opened. Lines from
versions up to 1.0 whose output no file of votes can hold are then escaped as well.

The results of a run: votes read from its journal, and each judge's cost and latency.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.collect.calls import (
    Answer,
    Caller,
    GivenUp,
    Hopeless,
    count_of,
    name_of,
    output_of,
    tokens_of,
)
from judgepanel.collect.judges import Judge, Plan, filled
from judgepanel.collect.pairs import Pairs, most_dollars, price
from judgepanel.collect.pairs import dollars as in_dollars
from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.cells import shield, unshield
from judgepanel.votes.choices import Choices
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.outputs import OF_A_CALL, PAIR, UNUSABLE, transcribed
from judgepanel.votes.records import read_lines
from judgepanel.votes.roles import guess_roles

FILE = "outputs.jsonl"
LOCK = ".lock"
_MENDED = ".outputs.new"
_LONGEST = 1 << 20
_IMPOSSIBLE = 1e12
"""Dollars or seconds that no call takes."""
_DAMAGED = re.compile(rb'\\u(?:0000|[dD][89a-fA-F])|"(?:text|served_by|finish)": [^"]')
"""Marks of a line that may hold what no file of votes can; ordinary lines have none."""
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that JSON leaves unescaped but terminals obey, readers cannot see or UTF-8 lacks."""


class Journal:
    """The journal of one folder, locked by one process; a context manager.

    Raises InputError if another process has locked it, if it cannot be written, and for lines that
    are not outputs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._lock = -1
        self._file = -1

    def __enter__(self) -> Journal:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            _hold(self._lock, self.folder)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            self._cut_off_half_a_line()
            self._mend()
        except OSError as error:
            self.__exit__(None, None, None)
            raise InputError(
                f"cannot be written to: {error.strerror}", file=self.folder.name
            ) from None
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in (self._file, self._lock):
            if handle >= 0:
                os.close(handle)
        self._file = self._lock = -1

    def _cut_off_half_a_line(self) -> None:
        size = os.fstat(self._file).st_size
        end = size
        while end > 0:
            start = max(0, end - (1 << 16))
            place = os.pread(self._file, end - start, start).rfind(b"\n")
            if place >= 0:
                end = start + place + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._file, end)

    def _mend(self) -> None:
        """Escape lines that older versions wrote unescaped; the file is replaced atomically."""
        with self.path.open("rb") as lines:
            if not any(_DAMAGED.search(line) for line in lines):
                return
            beside = self.folder / _MENDED
            lines.seek(0)
            try:
                with beside.open("wb") as mended:
                    for number, line in enumerate(lines, start=1):
                        mended.write(_line(_entry(line, number)) if _DAMAGED.search(line) else line)
                    mended.flush()
                    os.fsync(mended.fileno())
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
        os.replace(beside, self.path)
        os.close(self._file)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND)

    def entries(self) -> Iterator[dict[str, Any]]:
        """All finished calls, one at a time; impossible numbers become None."""
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield _entry(line, number)

    def add(self, entry: dict[str, Any]) -> None:
        """Append one finished call completely or not at all; OSError if the disk is full."""
        line = _line(entry)
        before = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            os.ftruncate(self._file, before)
            raise


def _entry(line: bytes, number: int) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(line)
        if not all(isinstance(entry[name], str) for name in ("item_id", "judge", "order", "asked")):
            raise TypeError
        written = entry.get("text", "")
        text, unusable = output_of("" if written is None else written, _LONGEST)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise InputError(
            "not a finished call", file=FILE, row=number, allowed="lines of this journal"
        ) from None
    entry["text"] = text
    if unusable:
        entry[UNUSABLE] = unusable
    entry["served_by"] = name_of(entry.get("served_by"))
    entry["finish"] = name_of(entry.get("finish"))
    counts = (entry.get("tokens_in"), entry.get("tokens_out"))
    usage = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))
    entry["tokens_in"], entry["tokens_out"] = tokens_of(usage, text)
    wrong = any(count is not None and count_of(count) is None for count in counts)
    for name in ("cost", "most", "seconds"):
        if not _is_amount(entry.get(name)) or (wrong and name == "cost"):
            entry[name] = None
    return entry


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _IMPOSSIBLE


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, allow_nan=False)
    return (_UNSEEN.sub(lambda bad: f"\\u{ord(bad[0]):04x}", text) + "\n").encode()


def _hold(handle: int, folder: Path) -> None:
    """Lock the folder for this process; the system releases the lock whenever the process ends."""
    try:
        if os.name == "nt":
            import msvcrt  # noqa: PLC0415

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            "another run is collecting into this folder", file=folder.name, allowed="one at a time"
        ) from None


BROKEN_AFTER = 20
"""Failed calls in a row, refusals not counted, after which a judge is stopped."""


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


@dataclass(slots=True)
class _State:
    """What is finished and spent, and what the running calls may spend.

    ``counted`` counts towards the cap: each call at most at the cost it was allowed, so that a
    judge whose server reports more does not use up the budget of the others.
    """

    finished: dict[str, set[tuple[str, str]]]
    dollars: float = 0.0
    counted: float = 0.0
    reserved: float = 0.0
    under_way: int = 0
    made: int = 0
    freed: asyncio.Condition = field(default_factory=asyncio.Condition)
    capped: set[str] = field(default_factory=set)
    stopped: dict[str, str] = field(default_factory=dict)
    given_up: dict[str, Counter[str]] = field(default_factory=dict)
    unusable: dict[str, Counter[str]] = field(default_factory=dict)


def finished(
    journal: Journal, plan: Plan, pairs: Pairs
) -> tuple[dict[str, set[tuple[str, str]]], float]:
    """Finished calls by judge, as (item, order), and the dollars spent on all in the journal."""
    state = _so_far(journal, plan, pairs)
    return state.finished, state.dollars


def _so_far(journal: Journal, plan: Plan, pairs: Pairs) -> _State:
    asked = {judge.name: plan.fingerprint(judge) for judge in plan.judges}
    judges = {judge.name: judge for judge in plan.judges}
    place = {name: item for item, name in enumerate(pairs.ids)}
    of_texts = {name: pairs.fingerprint(item) for name, item in place.items()}
    state = _State({name: set() for name in asked})
    for entry in journal.entries():
        judge, item = entry["judge"], unshield(entry["item_id"])
        cost = entry["cost"]
        if cost is None and judge in judges:
            cost = most_dollars(judges[judge], _prompt(judges[judge], pairs, place.get(item), "AB"))
        cost = cost or 0.0
        state.dollars += cost
        state.counted += cost if entry["most"] is None else min(cost, entry["most"])
        if judge not in asked:
            continue
        if entry["asked"] != asked[judge]:
            raise InputError(
                f"judge {quote_value(judge)} was asked otherwise before (model, address, prompt, "
                "temperature, tokens, seed or orders)",
                file=journal.folder.name,
                allowed="the same settings, another name for the judge, or another folder",
            )
        texts = of_texts.get(item)
        if texts is not None and entry.get(PAIR, texts) != texts:
            raise InputError(
                f"the texts of {quote_value(item)} are not what judge {quote_value(judge)} saw",
                file=pairs.name,
                allowed="the same texts, another id for the pair, or another folder",
            )
        state.finished[judge].add((item, entry["order"]))
    return state


def _prompt(judge: Judge, pairs: Pairs, item: int | None, order: str) -> str:
    """The prompt of a judge for an item; the bare template if the item is unknown."""
    if item is None:
        return judge.template
    instruction, first, second = pairs.texts(item)
    shown_as = (first, second) if order == "AB" else (second, first)
    return filled(judge.template, instruction, *shown_as)


def collect(
    pairs: Pairs,
    plan: Plan,
    journal: Journal,
    *,
    max_cost: float | None = None,
    on_progress: Callable[[int, int, float], None] | None = None,
) -> Outcome:
    """Make every call that is not in the journal yet.

    All calls in the journal together never cost more than ``max_cost`` dollars: a call is made only
    if the cap holds even if it and all running calls use every token they may. A judge whose server
    reports more than that is stopped, and the excess does not count against the others.
    ``on_progress`` gets finished calls, planned calls and dollars. Memory holds the pairs and the
    keys of finished calls, not the outputs.

    Raises
    ------
    InputError
        A key is not set, the journal belongs to other settings, the disk is full, or the package
        of the extra ``collect`` is not installed.
    """
    state = _so_far(journal, plan, pairs)
    ids = set(pairs.ids)
    for name, calls in state.finished.items():
        state.finished[name] = {call for call in calls if call[0] in ids}
    planned = plan.calls(len(pairs)) * len(plan.judges)
    report = on_progress or (lambda *_: None)
    asyncio.run(_all(pairs, plan, journal, state, max_cost, lambda: report(
        sum(map(len, state.finished.values())), planned, state.dollars
    )))  # fmt: skip
    return Outcome(
        made=state.made,
        finished=sum(map(len, state.finished.values())),
        planned=planned,
        dollars=state.dollars,
        troubles=tuple(_troubles(state, max_cost)),
    )


async def _all(
    pairs: Pairs,
    plan: Plan,
    journal: Journal,
    state: _State,
    cap: float | None,
    report: Callable[[], None],
) -> None:
    async with AsyncExitStack() as stack:
        callers = [Caller(judge) for judge in plan.judges]
        for caller in callers:
            stack.push_async_callback(caller.close)
        try:
            async with asyncio.TaskGroup() as tasks:
                for caller in callers:
                    run = _Run(pairs, plan, caller, journal, state, cap, report)
                    for _ in range(caller.judge.concurrency):
                        tasks.create_task(run.work())
        except ExceptionGroup as group:  # Before 3.11.4, what `except*` raises is in a group again.
            refused, others = group.split(InputError)
            if refused is None or others is not None:
                raise
            raise refused.exceptions[0] from None


class _Run:
    """The calls of one judge, shared by its concurrent workers."""

    def __init__(
        self,
        pairs: Pairs,
        plan: Plan,
        caller: Caller,
        journal: Journal,
        state: _State,
        cap: float | None,
        report: Callable[[], None],
    ) -> None:
        self._pairs, self._plan, self._caller = pairs, plan, caller
        self._journal, self._state, self._cap, self._report = journal, state, cap, report
        self._judge = caller.judge
        self._asked = plan.fingerprint(caller.judge)
        self._left = self._calls()
        self._failed = 0

    def _calls(self) -> Iterator[tuple[int, str]]:
        completed = self._state.finished[self._judge.name]
        for item, name in enumerate(self._pairs.ids):
            for order in self._plan.orders(name):
                if (name, order) not in completed:
                    yield item, order

    async def work(self) -> None:
        """Make calls until none is left, the judge is stopped, or the cap is reached."""
        judge, state = self._judge, self._state
        for item, order in self._left:
            if judge.name in state.stopped or judge.name in state.capped:
                return
            prompt = _prompt(judge, self._pairs, item, order)
            most = most_dollars(judge, prompt)
            if not await self._reserved(most):
                state.capped.add(judge.name)
                return
            try:
                answer = await self._caller.ask(prompt)
                self._keep(item, order, answer, most)
                self._failed = 0
            except Hopeless as error:
                state.stopped[judge.name] = str(error)
                return
            except GivenUp as error:
                self._give_up(error)
                continue
            finally:
                await self._free(most)
            self._report()

    async def _reserved(self, most: float) -> bool:
        """Reserve the highest cost of a call when enough is left; False if the cap is reached."""
        state = self._state
        async with state.freed:
            while (
                self._cap is not None
                and most
                and (state.counted + state.reserved + most > self._cap)
            ):
                if not state.under_way:
                    return False
                await state.freed.wait()
            state.reserved += most
            state.under_way += 1
        return True

    async def _free(self, most: float) -> None:
        state = self._state
        async with state.freed:
            state.under_way -= 1
            state.reserved = state.reserved - most if state.under_way else 0.0
            state.freed.notify_all()

    def _give_up(self, error: GivenUp) -> None:
        judge, state = self._judge, self._state
        state.given_up.setdefault(judge.name, Counter())[str(error)] += 1
        self._failed += not error.refused
        if self._failed >= BROKEN_AFTER:
            state.stopped.setdefault(
                judge.name,
                f"{self._failed} calls in a row came to nothing, the last for: {error}",
            )

    def _keep(self, item: int, order: str, answer: Answer, most: float) -> None:
        pairs, judge, state = self._pairs, self._judge, self._state
        completion = answer.completion
        tokens_in, tokens_out = completion.tokens_in, completion.tokens_out
        cost = most  # If the server reports no tokens, assume the highest cost.
        if tokens_in is not None and tokens_out is not None:
            cost = price(judge, tokens_in, tokens_out)
        entry: dict[str, Any] = {
            "item_id": shield(pairs.ids[item]),
            "judge": judge.name,
            "order": order,
            **pairs.known(item),
            PAIR: pairs.fingerprint(item),
            "text": completion.text,
            **({UNUSABLE: completion.unusable} if completion.unusable else {}),
            "served_by": completion.model,
            "finish": completion.finish,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cost": cost,
            "most": most,
            "seconds": round(answer.seconds, 4),
            "attempts": answer.attempts,
            "asked": self._asked,
        }
        try:
            self._journal.add(entry)
        except OSError as error:
            raise InputError(
                f"cannot be written to: {error.strerror}; what was finished is kept",
                file=self._journal.path.name,
                allowed="room on the disk; then run the same command again",
            ) from None
        state.finished[judge.name].add((pairs.ids[item], order))
        state.dollars += cost
        state.counted += min(cost, most)
        state.made += 1
        if completion.unusable:
            state.unusable.setdefault(judge.name, Counter())[completion.unusable] += 1
        if self._cap is not None and cost > most:
            state.stopped[judge.name] = (
                f"its server reports {tokens_in:,} tokens in and {tokens_out:,} out for a call "
                f"that was allowed {in_dollars(most)}, so the cap cannot be kept with it; a higher "
                "max_tokens allows more"
            )


def _troubles(state: _State, cap: float | None) -> Iterator[str]:
    for name, reason in state.stopped.items():
        yield f"Judge {quote_value(name)} was stopped: {reason}."
    for name, reasons in state.given_up.items():
        many = f"{reasons.total():,} calls" if reasons.total() > 1 else "1 call"
        were = "were" if reasons.total() > 1 else "was"
        (most, _), *_ = reasons.most_common(1)
        yield f"{many} of {quote_value(name)} {were} given up, most often for: {most}."
    for name, reasons in state.unusable.items():
        many = f"{reasons.total():,} outputs" if reasons.total() > 1 else "1 output"
        are = "are" if reasons.total() > 1 else "is"
        why = ", ".join(reasons)
        yield f"{many} of {quote_value(name)} {are} kept escaped and not read as a verdict: {why}."
    if state.capped:
        names = ", ".join(quote_value(name) for name in sorted(state.capped))
        yield f"Stopped before the cap of {in_dollars(cap)}, {names}: a higher one goes on."


NAMES = 20
_OUTPUT = ("item_id", "judge", "order", "text")


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
    row = {name: value for name, value in entry.items() if name not in OF_A_CALL}
    if item is not None:
        row = {name: row[name] for name in _OUTPUT} | pairs.known(item)
    if UNUSABLE in entry:
        row[UNUSABLE] = entry[UNUSABLE]
    return json.dumps(row).encode() + b"\n"


@dataclass(slots=True)
class _Sums:
    outputs: int = 0
    seconds: array[float] = field(default_factory=lambda: array("d"))
    costs: array[float] = field(default_factory=lambda: array("d"))
    tokens_in: int = 0
    tokens_out: int = 0
    served_by: set[str] = field(default_factory=set)


def judge_rows(journal: Journal, plan: Plan) -> pd.DataFrame:
    """One row per judge: family, model, mean ``cost_usd`` and median ``latency_s`` per output.

    ``served_by`` lists up to ``NAMES`` models that the servers say answered. Token totals count
    only credible reports.
    """
    sums = {judge.name: _Sums() for judge in plan.judges}
    for entry in journal.entries():
        sums_of_judge = sums.get(entry["judge"])
        if sums_of_judge is None:
            continue
        sums_of_judge.outputs += 1
        if entry["seconds"] is not None:
            sums_of_judge.seconds.append(entry["seconds"])
        if entry["cost"] is not None:
            sums_of_judge.costs.append(entry["cost"])
        sums_of_judge.tokens_in += entry["tokens_in"] or 0
        sums_of_judge.tokens_out += entry["tokens_out"] or 0
        if len(sums_of_judge.served_by) <= NAMES:
            sums_of_judge.served_by.add(entry["served_by"])
    rows = []
    for judge in plan.judges:
        sums_of_judge = sums[judge.name]
        names = sorted(sums_of_judge.served_by - {""})
        more = ", …" if len(sums_of_judge.served_by) > NAMES else ""
        rows.append(
            {
                "judge": judge.name,
                "family": judge.family,
                "model": judge.model,
                "served_by": ", ".join(names[:NAMES]) + more,
                "outputs": sums_of_judge.outputs,
                "cost_usd": float(np.mean(sums_of_judge.costs)) if sums_of_judge.costs else np.nan,
                "latency_s": float(np.median(sums_of_judge.seconds))
                if sums_of_judge.seconds
                else np.nan,
                "tokens_in": sums_of_judge.tokens_in,
                "tokens_out": sums_of_judge.tokens_out,
            }
        )
    return pd.DataFrame(rows)
