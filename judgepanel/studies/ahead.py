"""Computes what comes next while what came before is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from judgepanel.studies.threads import one_thread

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items in order; another thread computes the next one while one is used.

    At most two items are in memory, if whoever uses them lets go of each.
    """

    def following() -> list[T]:
        with one_thread():
            return list(islice(items, 1))

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(following)
        while item := waiting.result():
            waiting = pool.submit(following)
            yield item.pop()
