"""Whose turn it is where a server does few things at a time, and one of each user's."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A place in the queue; it is itself only."""

    owner: str


class Places:
    """A queue of users for ``most`` places; who comes first goes first, one place a user."""

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
