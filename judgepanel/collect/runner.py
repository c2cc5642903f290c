"""Ask all judges about all pairs: at once, within limits, and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from judgepanel.collect.calls import Answer, Caller, GivenUp, Hopeless
from judgepanel.collect.estimate import dollars as in_dollars
from judgepanel.collect.estimate import most_dollars
from judgepanel.collect.journal import Journal
from judgepanel.collect.judges import Plan
from judgepanel.collect.pairs import Pairs
from judgepanel.collect.prompts import filled
from judgepanel.votes.errors import InputError, shown


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: calls made now, all that are finished, of how many; dollars of all.

    ``troubles`` are sentences: judges that stopped, calls that were given up, the cap.
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
    done: dict[str, set[tuple[str, str]]]
    dollars: float = 0.0
    reserved: float = 0.0
    made: int = 0
    capped: set[str] = field(default_factory=set)
    stopped: dict[str, str] = field(default_factory=dict)
    given_up: dict[str, list[str]] = field(default_factory=dict)


def finished(journal: Journal, plan: Plan) -> tuple[dict[str, set[tuple[str, str]]], float]:
    """Finished calls by judge, (item, order) each, and what all in the journal cost.

    Raises InputError where a judge was asked otherwise than the plan says.
    """
    asked = {judge.name: plan.fingerprint(judge) for judge in plan.judges}
    done: dict[str, set[tuple[str, str]]] = {name: set() for name in asked}
    dollars = 0.0
    for entry in journal.entries():
        dollars += float(entry.get("cost") or 0.0)
        judge = entry["judge"]
        if judge not in asked:
            continue
        if entry["asked"] != asked[judge]:
            raise InputError(
                f"judge {shown(judge)} was asked otherwise before (model, address, prompt, "
                "temperature, tokens, seed or orders)",
                file=journal.folder.name,
                allowed="the same settings, another name for the judge, or another folder",
            )
        done[judge].add((entry["item_id"], entry["order"]))
    return done, dollars


def collect(
    pairs: Pairs,
    plan: Plan,
    journal: Journal,
    *,
    max_cost: float | None = None,
    on_progress: Callable[[int, int, float], None] | None = None,
) -> Outcome:
    """Make every call that is not in the journal yet.

    ``max_cost`` dollars are never passed by all calls in the journal together: a call is made only
    if the cap holds even when it and all others under way use every token they may.
    ``on_progress`` gets finished calls, planned calls and dollars. Memory holds the pairs and the
    names of finished calls, not the outputs.

    Raises
    ------
    InputError
        A key that is not set, a journal of other settings, a disk that takes no more.
    """
    done, dollars = finished(journal, plan)
    ids = set(pairs.ids)
    for name, calls in done.items():
        done[name] = {call for call in calls if call[0] in ids}
    state = _State(done, dollars)
    planned = plan.calls(len(pairs)) * len(plan.judges)
    report = on_progress or (lambda *_: None)
    asyncio.run(_all(pairs, plan, journal, state, max_cost, lambda: report(
        sum(map(len, state.done.values())), planned, state.dollars
    )))  # fmt: skip
    return Outcome(
        made=state.made,
        finished=sum(map(len, state.done.values())),
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
        except* InputError as group:
            raise group.exceptions[0] from None


class _Run:
    """The calls of one judge, taken one after the other by whoever is free."""

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

    def _calls(self) -> Iterator[tuple[int, str]]:
        done = self._state.done[self._judge.name]
        for item, name in enumerate(self._pairs.ids):
            for order in self._plan.orders(name):
                if (name, order) not in done:
                    yield item, order

    async def work(self) -> None:
        """Make calls until there are none left, the judge is stopped or the cap is met."""
        judge, state = self._judge, self._state
        for item, order in self._left:
            if judge.name in state.stopped or judge.name in state.capped:
                return
            instruction, first, second = self._pairs.texts(item)
            most = most_dollars(judge, len(instruction) + len(first) + len(second))
            if self._cap is not None and state.dollars + state.reserved + most > self._cap:
                state.capped.add(judge.name)
                return
            shown_as = (first, second) if order == "AB" else (second, first)
            state.reserved += most
            try:
                answer = await self._caller.ask(filled(judge.template, instruction, *shown_as))
            except Hopeless as trouble:
                state.stopped[judge.name] = str(trouble)
                return
            except GivenUp as trouble:
                state.given_up.setdefault(judge.name, []).append(str(trouble))
                continue
            finally:
                state.reserved -= most
            self._keep(item, order, answer, most)
            self._report()

    def _keep(self, item: int, order: str, answer: Answer, most: float) -> None:
        pairs, judge, state = self._pairs, self._judge, self._state
        cost = (answer.tokens_in * judge.price_in + answer.tokens_out * judge.price_out) / 1e6
        if not answer.tokens_in:
            cost = most  # A server that counts no tokens: what it can have been at most.
        entry: dict[str, Any] = {
            "item_id": pairs.ids[item],
            "judge": judge.name,
            "order": order,
            **{str(name): str(value) for name, value in pairs.about.iloc[item].items()},
            "text": answer.text,
            "served_by": answer.model,
            "finish": answer.finish,
            "tokens_in": answer.tokens_in,
            "tokens_out": answer.tokens_out,
            "cost": cost,
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
        state.done[judge.name].add((pairs.ids[item], order))
        state.dollars += cost
        state.made += 1


def _troubles(state: _State, cap: float | None) -> Iterator[str]:
    for name, reason in state.stopped.items():
        yield f"Judge {shown(name)} was stopped: {reason}."
    for name, reasons in state.given_up.items():
        most = max(set(reasons), key=reasons.count)
        many = f"{len(reasons):,} calls" if len(reasons) > 1 else "1 call"
        were = "were" if len(reasons) > 1 else "was"
        yield f"{many} of {shown(name)} {were} given up, most often for: {most}."
    if state.capped:
        names = ", ".join(shown(name) for name in sorted(state.capped))
        yield f"Stopped before the cap of {in_dollars(cap)}, {names}: a higher one goes on."
