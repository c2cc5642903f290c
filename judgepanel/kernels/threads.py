"""Fits of one process that do not depend on each other, on as many threads as the caller allows.

Threads repay themselves where fits are large: then nearly all of the time is spent in NumPy, which
lets other threads run meanwhile.

Recently used values in memory, bounded by their size or by their number.

What one study computed in a split serves the next one (:data:`SHARED`). Workers that do not share
this memory are handed what it has of the splits of a chunk, and return what they add.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")

_allowed: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Allow what is called here so many threads, which have no allowance of their own."""
    before = _allowed.set(count)
    try:
        yield
    finally:
        _allowed.reset(before)


def each(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The results of a function for every item, in order: the same ones on any number of threads.

    As many items are in work, and in memory, as there are threads.
    """
    count = min(_allowed.get(), len(items))
    if count < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))


def both(first: Callable[[], Result], second: Callable[[], Other]) -> tuple[Result, Other]:
    """The results of two functions, at the same time if two threads are allowed."""
    if _allowed.get() < 2:
        return first(), second()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        return first(), other.result()


Value = TypeVar("Value")


class Cache(Generic[Value]):
    """The ``most`` most recently used values, by key; thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> Value | None:
        """Return the value of a key, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: str, value: Value) -> None:
        """Store a value, evicting the least recently used one if there are too many."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def forget(self, key: str) -> None:
        """Remove a value, if present."""
        with self._lock:
            self._values.pop(key, None)


Entries = Mapping[Hashable, tuple[Any, int]]
"""Values and their sizes in bytes, by key."""
_LIMIT = 256 * 2**20


class OfSplits:
    """Values of splits, by SHA-256 of the votes, number of the split and a key.

    The most recently used ones, up to ``limit`` bytes; larger values are not stored. The votes are
    those at work (:meth:`working`) where they are not given. The key must name all that the value
    depends on besides them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._votes: ContextVar[str] = ContextVar("votes", default="")
        self._added: ContextVar[list[Hashable] | None] = ContextVar("added", default=None)

    def get(self, key: Hashable) -> Any:
        """Return the value of a key; None if it is not, or no longer, stored."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Store a value of ``size`` bytes, evicting those not used for longest.

        A key keeps its first value.
        """
        with self._lock:
            if key in self._values or size > self._limit:
                return
            self._values[key] = value, size
            self._size += size
            while self._size > self._limit:
                _, (_, dropped) = self._values.popitem(last=False)
                self._size -= dropped

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def find(self, number: int, key: Hashable, votes: str = "") -> Any:
        """Return the value of a split; None if it is not, or no longer, stored."""
        return self.get((votes or self._votes.get(), number, key))

    def keep(self, number: int, key: Hashable, value: Any, size: int, votes: str = "") -> None:
        """Store a value of ``size`` bytes of a split."""
        whole = (votes or self._votes.get(), number, key)
        self.put(whole, value, size)
        added = self._added.get()
        if added is not None:
            added.append(whole)

    @contextmanager
    def working(self, votes: str) -> Iterator[list[Hashable]]:
        """Work on the splits of votes; yields the keys of what is stored meanwhile."""
        keys: list[Hashable] = []
        before, added = self._votes.set(votes), self._added.set(keys)
        try:
            yield keys
        finally:
            self._votes.reset(before)
            self._added.reset(added)

    def of_keys(self, keys: Iterable[Hashable]) -> Entries:
        """Return what is stored under these keys."""
        with self._lock:
            return {key: self._values[key] for key in keys if key in self._values}

    def of_splits(self, votes: str, numbers: range) -> Entries:
        """Return what is stored of some splits of votes."""
        with self._lock:
            return {
                key: entry
                for key, entry in self._values.items()
                if isinstance(key, tuple) and key[0] == votes and key[1] in numbers
            }

    def add(self, entries: Entries) -> None:
        """Store what another process has."""
        for key, (value, size) in entries.items():
            self.put(key, value, size)


SHARED = OfSplits(_LIMIT)
"""What studies share in this process."""
