"""A study that counts, whose chunks a test can hold back, and other shared helpers."""

import threading
from dataclasses import dataclass

import pandas as pd

from judgepanel.service.jobs import WATCHED_SECONDS
from judgepanel.studies import contract, results
from judgepanel.votes import Loaded, VoteMatrix
from judgepanel.votes.reading import Reading
from judgepanel.votes.roles import Roles

LONG = 30


@dataclass(frozen=True, slots=True)
class CountSpec:
    settings: contract.Settings = contract.Settings(splits=20)


SPEC = CountSpec()


@results.frozen
class Total:
    splits: int = results.summed()


@dataclass(frozen=True, slots=True)
class Count:
    total: int
    planned: int
    warnings: tuple[str, ...] = ()

    def frame(self):
        return pd.DataFrame({"total": [self.total]})

    def summary(self):
        return {"total": self.total}


class Clock:
    """Seconds that pass only where a test lets them."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def everybody_leaves(self):
        self.now += WATCHED_SECONDS + 1


def merge(votes: VoteMatrix, spec: CountSpec, partial: Total) -> Count:
    return Count(partial.splits, spec.settings.splits)


class Counter:
    """A study that counts its splits; ``gates`` hold chunks back until a test lets them go."""

    def __init__(self, name="count", error=None):
        self.calls = []
        self.gates = {}
        self.started = {}
        self.error = error
        self.study = contract.Study(
            name=name, title="Count", question="How many?", run_chunk=self.run_chunk, merge=merge
        )

    def hold(self, number):
        self.gates[number] = threading.Event()
        self.started[number] = threading.Event()

    def release(self):
        for gate in self.gates.values():
            gate.set()

    def run_chunk(self, votes, spec, chunk):
        self.calls.append(chunk.number)
        if chunk.number in self.gates:
            self.started[chunk.number].set()
            assert self.gates[chunk.number].wait(LONG)
        if self.error is not None:
            raise self.error
        return Total(chunk.count)


def loaded(votes, file="votes.csv", **roles):
    reading = Reading("I read these votes.", "the first response is better")
    return Loaded(votes, Roles("wide", **roles), ("A note.",), file, reading)


def until(ask, reached):
    """What ``ask`` gives once it is so far; the contract has no bell, so a test asks again."""
    turn = threading.Event()
    for _ in range(LONG * 200):
        state = ask()
        if reached(state):
            return state
        turn.wait(0.005)
    raise AssertionError("it does not come so far")


def finish(space, study, votes, spec):
    """The job once it is over."""
    return until(lambda: space.partial(study, votes.sha256, spec), lambda j: j.status != "running")


def worked(space, votes, spec=SPEC, *, name="count", error=None):
    """A study and its job, worked on to its end."""
    counter = Counter(name, error)
    return counter, completed(space, counter, votes, spec)


def completed(space, counter, votes, spec=SPEC):
    """The job of work that was asked for, once it is over."""
    space.submit(counter.study, votes, spec)
    return finish(space, counter.study, votes, spec)


def held_at(space, votes, *numbers, name="count", spec=SPEC):
    """A study whose work stands still in these chunks."""
    counter = Counter(name)
    for number in numbers:
        counter.hold(number)
    space.submit(counter.study, votes, spec)
    assert all(counter.started[number].wait(LONG) for number in numbers)
    return counter


def let_go(space, counter, votes, spec=SPEC):
    """The job of work that stood still, once it is over."""
    counter.release()
    return finish(space, counter.study, votes, spec)
