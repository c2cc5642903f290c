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
