"""Fits of one process that do not depend on each other, on as many threads as the caller allows.

Threads repay themselves where fits are large: then nearly all of the time is spent in NumPy, which
lets other threads run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_allowed: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Allow :func:`each` so many threads; it does not hand the allowance on to them."""
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
