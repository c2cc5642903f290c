"""A bounded in-memory cache of recently used values."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Cache(Generic[T]):
    """The ``most`` most recently used values, by key; thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> T | None:
        """Return the value of a key, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: str, value: T) -> None:
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
