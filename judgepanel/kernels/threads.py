"""Fits of one process that do not depend on each other, on as many threads as the caller allows.

Threads repay themselves where fits are large: then nearly all of the time is spent in NumPy, which
lets other threads run meanwhile.

Recently used values in memory, bounded by their size or by their number.

What one study computed in a split serves the next one (:data:`SHARED`). Workers that do not share
this memory are handed what it has of the splits of a chunk, and return what they add.

Compiled kernels: numba's decorator as it is used here, and routines of LAPACK inside of them.

numba compiles a function for the processor it runs on when it is first called, and keeps that on
disk beside the source, or in the user's cache folder where the source cannot be written to. It is
compiled again when its own file has changed, so constants of other modules are arguments of it.
Arguments are numbers, arrays and tuples of them: a class of ours would be named by what is on disk,
which could not be read any more once the class has another name.
Modules that import this one are imported by the first fit: reading and scoring votes does without
numba.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar, cast

import llvmlite.binding
import numba
from numba import types
from numba.extending import get_cython_function_address

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


class Recent(Generic[Value]):
    """The most recently used values, up to ``limit`` bytes; larger values are not stored."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: Hashable) -> Value | None:
        """Return the value of a key; None if it is not, or no longer, stored."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
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


class OfSplits(Recent[Any]):
    """Values of splits, by SHA-256 of the votes, number of the split and a key.

    The votes are those at work (:meth:`working`) where they are not given. The key must name all
    that the value depends on besides them.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._votes: ContextVar[str] = ContextVar("votes", default="")
        self._added: ContextVar[list[Hashable] | None] = ContextVar("added", default=None)

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

Function = TypeVar("Function", bound=Callable[..., object])

REORDERED = {"reassoc", "contract", "nsz"}
"""What lets a sum be taken several terms at once: in an order that depends on nothing but its
length and the processor."""


def compiled(function: Function) -> Function:
    """Compile a function, which lets other threads run while it computes."""
    return _compiled(function, fastmath=False)


def compiled_sums(function: Function) -> Function:
    """Compile a function whose sums may be taken in any order (:data:`REORDERED`)."""
    return _compiled(function, fastmath=REORDERED)


def _compiled(function: Function, *, fastmath: bool | set[str]) -> Function:
    compile_ = partial(cast(Any, numba.njit), nogil=True, error_model="numpy", fastmath=fastmath)
    try:
        return cast(Function, compile_(cache=True)(function))
    except RuntimeError:  # There is no folder to keep it in.
        return cast(Function, compile_()(function))


def _routine(module: str, name: str, n_arguments: int) -> Callable[..., None]:
    """A Fortran routine of SciPy's LAPACK or BLAS, by the addresses of its arguments."""
    symbol = f"judgepanel_{name}"
    address = get_cython_function_address(f"scipy.linalg.{module}", name)
    llvmlite.binding.add_symbol(symbol, address)
    signature = types.void(*[types.voidptr] * n_arguments)
    return cast("Callable[..., None]", types.ExternalFunction(symbol, signature))


ssyrk, dsyrk = (_routine("cython_blas", name, 10) for name in ("ssyrk", "dsyrk"))
spotrf, dpotrf = (_routine("cython_lapack", name, 5) for name in ("spotrf", "dpotrf"))
spotrs, dpotrs = (_routine("cython_lapack", name, 8) for name in ("spotrs", "dpotrs"))
