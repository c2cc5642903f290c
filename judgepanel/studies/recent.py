"""A size-bounded cache of results that studies share within a process."""

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
