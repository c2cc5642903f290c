"""One thread for the numerical libraries: more would change the last bits of sums.

Another thread of ours may compute what comes next, with one thread for the libraries too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


class _Limit:
    """Limits the numerical libraries to one thread.

    Most libraries have one limit for the whole process, so the last thread to leave restores it: if
    each thread restored it, the others would lose the limit during a computation. threadpoolctl
    lets only one thread set such a limit and ignores all others, so this thread takes control
    first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            _take_control()
            limit = libraries().limit(limits=1)  # OpenMP has a limit per thread.
            if self._inside == 0:
                self._before = limit
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    _take_control()
                    self._before.restore_original_limits()
                    _take_control()


one_thread = _Limit()
"""Context manager for computing figures: the same bits on any number of cores."""


def _take_control() -> None:
    """Let this thread set the next limit; older versions of threadpoolctl allow any thread."""
    for library in libraries().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


@cache
def libraries() -> ThreadpoolController:
    """Return the numerical libraries of this process, which are loaded and looked for once."""
    import_module("scipy.linalg.cython_blas")  # Else it loads later, unlimited.
    return ThreadpoolController()


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
