"""Running work in the background: one state per result, polled, cancelled, never twice."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from judgepanel.service.workspace import Job, Status
from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.runner import Cancelled, Progress, steps
from judgepanel.votes import InputError, VoteMatrix

REFRESH_SECONDS = 0.5
KEPT = 64
_LOG = logging.getLogger(__name__)


class Jobs:
    """Jobs of one process by key. ``workers`` run at once; each spreads over all cores."""

    def __init__(self, workers: int = 2) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="judgepanel-job")
        self._lock = threading.Lock()
        self._states: dict[str, Job] = {}
        self._flags: dict[str, threading.Event] = {}

    def submit(
        self,
        key: str,
        study: Study[Any, Any, Any],
        votes: VoteMatrix,
        spec: Spec,
        finished: Callable[[Any], None],
    ) -> None:
        """Start work under a key; nothing happens while work under that key is running."""
        with self._lock:
            state = self._states.get(key)
            if state is not None and state.status == "running":
                return
            self._forget_oldest()
            self._states.pop(key, None)
            self._states[key] = Job("running", 0, len(study.plan(spec)), 0.0, 0.0, None, waits=True)
            flag = self._flags[key] = threading.Event()
        self._pool.submit(self._work, key, flag, study, votes, spec, finished)

    def state(self, key: str) -> Job | None:
        """The state of a key, if any work was done under it."""
        with self._lock:
            return self._states.get(key)

    def cancel(self, key: str) -> None:
        """Call work off; it stops after its current chunk."""
        with self._lock:
            flag = self._flags.get(key)
        if flag is not None:
            flag.set()

    def close(self) -> None:
        """Call everything off and wait for the current chunks."""
        with self._lock:
            for flag in self._flags.values():
                flag.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _work(
        self,
        key: str,
        flag: threading.Event,
        study: Study[Any, Any, Any],
        votes: VoteMatrix,
        spec: Spec,
        finished: Callable[[Any], None],
    ) -> None:
        with self._lock:
            self._states[key] = replace(self._states[key], waits=False)
        try:
            self._follow(key, steps(study, votes, spec, cancelled=flag.is_set), finished)
        except InputError as error:
            self._end(key, "failed", str(error))
        except Exception:
            _LOG.exception("job failed")
            self._end(key, "failed", "Something went wrong here; the server's log has the details.")

    def _follow(
        self,
        key: str,
        states: Iterator[Progress[Any, Any, Any]],
        finished: Callable[[Any], None],
    ) -> None:
        """Keep the state up to date; merging takes time, so not after every chunk."""
        shown = 0.0
        try:
            for progress in states:
                last = progress.done == progress.total
                due = time.monotonic() - shown >= REFRESH_SECONDS
                result = progress.result() if last or due else None
                shown = time.monotonic() if result is not None else shown
                if last:
                    finished(result)
                self._update(key, progress, result, last)
                if last:
                    return  # Called off now is called off too late: it is all there.
        except Cancelled:
            self._end(key, "cancelled", "", progress.result())

    def _update(self, key: str, progress: Progress[Any, Any, Any], result: Any, last: bool) -> None:
        with self._lock:
            before = self._states[key]
            self._states[key] = Job(
                status="done" if last else "running",
                done=progress.done,
                total=progress.total,
                elapsed=progress.elapsed,
                remaining=progress.remaining,
                result=before.result if result is None else result,
            )
            if last:
                self._flags.pop(key, None)

    def _end(
        self,
        key: str,
        status: Status,
        message: str,
        result: Any = None,
    ) -> None:
        with self._lock:
            state = self._states[key]
            self._states[key] = replace(
                state,
                status=status,
                message=message,
                result=state.result if result is None else result,
            )
            self._flags.pop(key, None)

    def _forget_oldest(self) -> None:
        ended = [key for key, state in self._states.items() if state.status != "running"]
        for key in ended[: max(0, len(self._states) - KEPT)]:
            del self._states[key]
