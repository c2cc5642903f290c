"""Ask all judges about all pairs: concurrently, within limits, and each question only once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from judgepanel.collect.calls import Answer, Caller, GivenUp, Hopeless
from judgepanel.collect.estimate import dollars as in_dollars
from judgepanel.collect.estimate import most_dollars, price
from judgepanel.collect.journal import Journal
from judgepanel.collect.judges import Judge, Plan
from judgepanel.collect.pairs import Pairs
from judgepanel.collect.prompts import filled
from judgepanel.votes.cells import shield, unshield
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.transcripts import PAIR, UNUSABLE

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
