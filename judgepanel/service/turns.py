"""Whose turn it is where a server does few things at a time.

Work that somebody looks at goes first, then in the order it was asked for. Work that nobody has
looked at for a few seconds is paused while any other is looked at. Where nothing is looked at, as
with scripts, all of it goes on in its order. Uploads are read in the order they come, one of each
user's at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from judgepanel.studies.contract import Gate

WATCHED_SECONDS = 3.0
"""Work counts as looked at for so long after a party has asked how far it is."""
_LOOK_AGAIN_SECONDS = 1.0
"""Paused work asks so often whether those who looked at the other work have left."""


class Turns:
    """The work of one server in line, of which the first ``places`` run at once.

    A party is a user, or all readers of a user's links. ``clock`` tells seconds. Whoever shares
    the line between threads holds a lock around every call.
    """

    def __init__(self, places: int, clock: Callable[[], float]) -> None:
        self._places = places
        self._clock = clock
        self._looks: dict[str, dict[str, float]] = {}

    def add(self, key: str, by: str) -> None:
        """Put work at the end of the line; who asks for it looks at it."""
        self._looks[key] = {by: self._clock()}

    def remove(self, key: str) -> None:
        """Take work that has ended out of the line."""
        self._looks.pop(key, None)

    def look(self, key: str, by: str) -> bool:
        """A party looks at work in line; returns whether it is the first to."""
        is_first = not self.is_watched(key)
        self._looks[key][by] = self._clock()
        return is_first

    def leave(self, key: str, by: str) -> bool:
        """A party wants work no more; returns whether nobody does."""
        parties = self._looks.get(key, {})
        parties.pop(by, None)
        return not parties

    def wants(self, key: str, by: str) -> bool:
        """Whether a party has asked for work that is in line."""
        return by in self._looks.get(key, {})

    def is_watched(self, key: str, by: str | None = None) -> bool:
        """Whether this party looks at work in line, or any."""
        since = self._clock() - WATCHED_SECONDS
        return any(when >= since for who, when in self._looks[key].items() if by in (None, who))

    def ahead(self, key: str) -> int:
        """How many pieces of work go before this one; 0 when it is its turn."""
        watched = {other for other in self._looks if self.is_watched(other)}
        line = sorted(self._looks, key=lambda other: other not in watched)
        place = line.index(key)
        is_paused = bool(watched) and key not in watched
        return place if is_paused or place >= self._places else 0


class Turn(Gate):
    """The gate of one piece of work, open while it is its turn; ``waited`` counts the seconds."""

    def __init__(
        self, turns: Turns, lock: threading.Condition, key: str, flag: threading.Event
    ) -> None:
        self._turns, self._lock, self._key, self._flag = turns, lock, key, flag
        self.waited = 0.0

    def is_open(self) -> bool:
        with self._lock:
            return self._turns.ahead(self._key) == 0

    def wait(self) -> None:
        began = time.monotonic()
        with self._lock:
            while not self.is_open() and not self.cancelled():
                self._lock.wait(_LOOK_AGAIN_SECONDS)
        self.waited += time.monotonic() - began

    def cancelled(self) -> bool:
        return self._flag.is_set()


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A place in the queue; it is itself only."""

    owner: str


class Places:
    """A queue of users for ``most`` places; who comes first goes first, one place per user."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._going: list[Ticket] = []
        self._waiting: list[Ticket] = []

    def queue(self, owner: str) -> Ticket:
        """Stand in line."""
        ticket = Ticket(owner)
        with self._changed:
            self._waiting.append(ticket)
        return ticket

    def enter(self, ticket: Ticket, seconds: float) -> bool:
        """Whether the ticket has a place now, at the latest after so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_next(ticket), seconds):
                return False
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                self._going.append(ticket)
            return True

    def leave(self, ticket: Ticket) -> None:
        """Give the place to the next, or the wait up."""
        with self._changed:
            for tickets in (self._going, self._waiting):
                if ticket in tickets:
                    tickets.remove(ticket)
            self._changed.notify_all()

    def _is_next(self, ticket: Ticket) -> bool:
        going = list(self._going)
        for waiting in self._waiting:
            free = len(going) < self._most
            if free and waiting.owner not in {other.owner for other in going}:
                going.append(waiting)
        return ticket in going
