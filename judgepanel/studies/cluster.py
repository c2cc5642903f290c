"""Chunks on the workers of a Dask scheduler, for more cores than one machine has.

A scheduler is named by its address (``tcp://host:8786``, ``tls://host:8786``). Votes are sent to
each worker once; chunks follow one by one, and another worker computes those of a worker that is
gone. Dask's own messages are pickles: the scheduler has to be one that is trusted.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from typing import Any

from judgepanel import ENGINE
from judgepanel.studies.contract import Gate, WorkersEnded
from judgepanel.votes import InputError
from judgepanel.votes.errors import SCHEDULER_ADDRESS
from judgepanel.votes.installed import require

CONNECT_SECONDS = 10.0
"""How long a scheduler and its first worker have to answer at the start."""
RETURN_SECONDS = 60.0
"""How long a scheduler that is lost, or its workers, have to return."""
_POLL_SECONDS = 1.0
_AHEAD = 2
"""Chunks under way for each thread of the workers: one at work, one on its way."""
_PACKAGES = ("judgepanel", "numpy", "scipy", "numba", "sklearn", "pandas")
"""Packages whose versions decide the bits of a result."""
_HOW = "give the address that `dask scheduler` prints, such as tcp://host:8786"

SCHEDULER = "JUDGEPANEL_DASK_SCHEDULER"
DASK = "dask"
"""The backend that needs the address of a scheduler."""

RunOne = Callable[..., tuple[Any, ...]]


class ClusterLost(Exception):
    """The scheduler or all workers are gone, and with them what was under way; it can be redone."""


def is_address(backend: str) -> bool:
    """Whether a backend is the address of a scheduler, and not one of joblib's."""
    return "://" in backend


def backend_of(name: str, scheduler: str | None, known: Sequence[str]) -> str:
    """What computes, from the name of a backend and a scheduler's address.

    Raises
    ------
    InputError
        A name that is neither ``dask`` nor among the ``known`` ones, ``dask`` without the address
        of a scheduler, or an address beside another backend.
    """
    if name != DASK:
        if name not in known:
            raise InputError(
                "there is no such backend", value=name, allowed=", ".join((*known, DASK))
            )
        if scheduler:
            raise InputError(
                "a scheduler is only for the backend dask",
                value=scheduler,
                remedy="leave it out, or take the backend dask",
            )
        return name
    if not scheduler or not scheduler.startswith(("tcp://", "tls://")):
        raise InputError(
            "the backend dask needs the address of a scheduler",
            value=scheduler,
            allowed="tcp://host:port or tls://host:port",
            remedy=f"{_HOW} {SCHEDULER_ADDRESS}",
        )
    return scheduler


class Cluster:
    """A connection to a scheduler whose workers have our versions; made anew after it was lost.

    Raises
    ------
    InputError
        Dask is not installed, no scheduler answers, it has no workers, or one of them has other
        versions of what decides the bits of a result.
    """

    def __init__(self, address: str) -> None:
        self._dask = require("distributed", "the backend dask")
        # A lost connection is said in one sentence, and not by a traceback beside it.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self._address = address
        self._client = self._connected(CONNECT_SECONDS)

    def spread(
        self, work: Sequence[Any], chunks: Iterable[Any], run_one: RunOne, gate: Gate
    ) -> Generator[Any, None, None]:
        """Results of ``run_one(*work, chunk)`` as workers finish them, while the gate is open.

        Once the gate is closed no more chunks are handed out, and those under way are awaited;
        once the work is called off they are not.

        Raises
        ------
        ClusterLost
            The scheduler is gone; it is connected to again by the next call.
        WorkersEnded
            A chunk has ended several workers.
        InputError
            A scheduler that was lost, or its workers, did not return in time.
        """
        under_way: set[Any] = set()
        try:
            if self._client is None:
                self._client = self._connected(RETURN_SECONDS)
            client = self._client
            shared = client.scatter(list(work), broadcast=True, hash=False)
            places = _AHEAD * sum(client.nthreads().values())
            remaining = iter(chunks)
            while True:
                free = places - len(under_way) if gate.is_open() else 0
                for chunk in islice(remaining, free):
                    future = client.submit(_checked, ENGINE, run_one, *shared, chunk, pure=False)
                    under_way.add(future)
                if not under_way:
                    return
                for future in self._finished(client, under_way, gate):
                    under_way.discard(future)
                    yield self._result(future)
                if gate.cancelled():
                    return
        except (OSError, TimeoutError, CancelledError) as error:
            self.close()
            raise ClusterLost(str(error)) from None
        finally:
            if under_way and self._client is not None:
                self._client.cancel(list(under_way))

    def close(self) -> None:
        """Leave the scheduler."""
        client, self._client = self._client, None
        if client is not None:
            # A busy machine may take longer: all results are here, and the scheduler lets go.
            with suppress(TimeoutError):
                client.close(timeout=1)

    def _connected(self, seconds: float) -> Any:
        try:
            client = self._dask.Client(
                self._address, timeout=seconds, set_as_default=False, name="judgepanel"
            )
        except (OSError, TimeoutError, ValueError):
            raise InputError(
                "no Dask scheduler answers", value=self._address, remedy=f"start it, or {_HOW}"
            ) from None
        try:
            client.wait_for_workers(1, timeout=seconds)
            _check_versions(client.get_versions(packages=list(_PACKAGES)), self._address)
        except TimeoutError:
            client.close(timeout=1)
            raise InputError(
                "the Dask scheduler has no workers",
                value=self._address,
                remedy=f"start one with: dask worker {self._address}",
            ) from None
        except BaseException:
            client.close(timeout=1)
            raise
        return client

    def _finished(self, client: Any, under_way: set[Any], gate: Gate) -> list[Any]:
        """Chunks that have ended, at least one; none when the work is called off meanwhile.

        Chunks whose last worker is gone are cancelled by Dask, since the votes went with it.
        """
        while True:
            try:
                with client.as_current():
                    waited = self._dask.wait(
                        list(under_way), timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED"
                    )
                return list(waited.done)
            except TimeoutError:
                pass
            if gate.cancelled():
                return []
            if client.status != "running":
                raise ConnectionError("the connection to the scheduler is broken")

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except self._dask.KilledWorker:
            raise WorkersEnded(
                f"Workers of the Dask scheduler {self._address} are ended again and again: they "
                "may be short of memory. Give them more, and run this again."
            ) from None


def _checked(engine: int, run_one: RunOne, *given: Any) -> tuple[Any, ...]:
    """Run on a worker, which may have come after the others were checked."""
    if engine != ENGINE:
        raise InputError(
            f"a Dask worker has engine {ENGINE}",
            allowed=f"engine {engine}, as here",
            remedy="install the same judgepanel there and here",
        )
    return run_one(*given)


def _check_versions(versions: dict[str, Any], address: str) -> None:
    """Refuse workers that would compute other bits, or nothing."""
    own = _those_that_count(versions["client"])
    for worker, known in versions["workers"].items():
        theirs = _those_that_count(known)
        for package, version in own.items():
            if theirs[package] != version:
                has = f"has {package} {theirs[package]}" if theirs[package] else f"lacks {package}"
                raise InputError(
                    f"the worker {worker} of the Dask scheduler {address} {has}",
                    allowed=f"{package} {version}, as here",
                    remedy="install the same version there and here",
                )


def _those_that_count(known: dict[str, Any]) -> dict[str, str | None]:
    packages = known["packages"]
    python = str(packages.get("python") or platform.python_version())
    return {"Python": ".".join(python.split(".")[:2])} | {
        name: packages.get(name) for name in _PACKAGES
    }
