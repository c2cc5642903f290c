"""Recently used values in memory, bounded by their size or by their number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The most recent values, up to ``limit`` bytes in total; larger values are not stored."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: Hashable) -> Value | None:
        """Return the value of a key; None if it is not, or no longer, stored."""
        with self._lock:
            return self._values[key][0] if key in self._values else None

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Store a value of ``size`` bytes, evicting the oldest; a key keeps its first value."""
        with self._lock:
            if key in self._values or size > self._limit:
                return
            self._values[key] = value, size
            self._size += size
            while self._size > self._limit:
                _, (_, dropped) = self._values.popitem(last=False)
                self._size -= dropped


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
