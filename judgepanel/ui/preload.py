"""What visitors need next is prepared while no page is being drawn, so that nobody waits for it.

A server imports what its first page needs as soon as it is up. All else takes the cores from the
pages and the browsers on this machine, so it begins when no page has begun for a moment, and goes
on one by one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module

from judgepanel.service.basics import ServerProblem

QUIET_SECONDS = 1.0
"""No page has begun for this long: the last one is drawn, and its visitor reads."""
_FIRST = (
    "judgepanel.ui.frame",
    "judgepanel.ui.pages.start",
    "judgepanel.ui.pages.home",
    "judgepanel.votes.simulate",
    "judgepanel.service.sql",
)
_NEXT = (
    "judgepanel.ui.pages.start_votes",
    "pandas.io.formats.style",
    "scipy.special",
    "judgepanel.ui.pages.curve",
    "judgepanel.ui.pages.recommended",
)


class Quiet:
    """Runs work one after the other in a thread, each once no page has begun for ``seconds``."""

    def __init__(self, seconds: float = QUIET_SECONDS) -> None:
        self._seconds = seconds
        self._last = time.monotonic()
        self._work: deque[Callable[[], object]] = deque()
        self._lock = threading.Condition()
        self._running = False

    def page(self) -> None:
        """A page begins: what has not begun waits."""
        self._last = time.monotonic()

    def add(self, *work: Callable[[], object]) -> None:
        """Run this when it is quiet, unless it waits for that already."""
        with self._lock:
            self._work.extend(each for each in work if each not in self._work)
            if self._work and not self._running:
                self._running = True
                threading.Thread(target=self._run, name="quiet", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                while (left := self._last + self._seconds - time.monotonic()) > 0.0:
                    self._lock.wait(left)
                if not self._work:
                    self._running = False
                    return
                work = self._work.popleft()
            with suppress(ServerProblem):  # The page that needs it says so.
                work()


QUIET = Quiet()


def prepare() -> None:
    """Import what the first page needs and open the database, then what most open next."""
    threading.Thread(target=_prepare, name="first-page", daemon=True).start()


def _prepare() -> None:
    for name in _FIRST:
        import_module(name)
    from judgepanel.ui.server import own_space  # noqa: PLC0415

    QUIET.page()
    with suppress(ServerProblem):
        space = own_space()
        QUIET.add(stand_by, *(partial(import_module, name) for name in _NEXT), space.start_workers)


def stand_by() -> None:
    """Have a process wait for the next file."""
    from judgepanel.intake import process  # noqa: PLC0415

    process.stand_by()
