"""How much of the users' uploads a server holds at once, for each user and in total."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streamlit import runtime

from judgepanel.ui.uploads import kept_data
from judgepanel.votes.limits import MAX_UPLOAD_MB

LARGEST = MAX_UPLOAD_MB << 20
PER_USER, OF_ALL = 3 * LARGEST, 10 * LARGEST
SMALLEST = 1 << 16
"""Size that every file counts as at least, in bytes; otherwise millions of empty files would fit.
"""


class NoRoom(Exception):
    """There is no room for another file of this user."""


class UploadQuota:
    """Counts the bytes of files in transit and of files that sessions hold.

    A session holds a file until its page deletes it and keeps it no longer, or until two minutes
    after it was closed.
    ``held`` returns the sizes of a session's files, in bytes.
    """

    def __init__(self, held: Callable[[str], list[int]] | None = None) -> None:
        self._held = held or _held_by_session
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)
        self._coming: Counter[str] = Counter()

    @contextmanager
    def room(self, owner: str, session: str, size: int | None) -> Iterator[None]:
        """Reserve room for a file that a user sends to a session; raise NoRoom if there is none.

        ``size`` is in bytes, None if the request does not state it.
        """
        counted = LARGEST if size is None else max(size, SMALLEST)
        if self._of(owner) + counted > PER_USER or self._of_all() + counted > OF_ALL:
            raise NoRoom
        self._sessions[owner].add(session)
        self._coming[owner] += counted
        try:
            yield
        finally:
            self._coming[owner] -= counted
            self._forget_the_empty()

    def _of(self, owner: str) -> int:
        sessions = self._sessions.get(owner, set())
        return self._coming[owner] + sum(map(self._bytes, sessions))

    def _of_all(self) -> int:
        return sum(map(self._of, list(self._sessions)))

    def _bytes(self, session: str) -> int:
        return sum(max(size, SMALLEST) for size in self._held(session))

    def _forget_the_empty(self) -> None:
        for owner in list(self._sessions):
            if self._coming[owner] == 0:
                self._sessions[owner] = {s for s in self._sessions[owner] if self._held(s)}
                if not self._sessions[owner]:
                    del self._sessions[owner], self._coming[owner]


def _held_by_session(session: str) -> list[int]:
    """Sizes of the files that Streamlit holds, and of those that only a page still keeps."""
    files = runtime.get_instance().uploaded_file_mgr.file_storage.get(session, {})  # type: ignore[attr-defined]
    held = [file.data for file in list(files.values())]
    known = set(map(id, held))
    return [len(data) for data in (*held, *(d for d in kept_data(session) if id(d) not in known))]
