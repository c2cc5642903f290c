"""How much of what users send a server holds at once, for each of them and for all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streamlit import runtime

from judgepanel.votes.limits import MAX_UPLOAD_MB

LARGEST = MAX_UPLOAD_MB << 20
PER_USER, OF_ALL = 3 * LARGEST, 10 * LARGEST
SMALLEST = 1 << 16
"""A file counts as so many bytes at least, so that there are not millions of empty ones."""


class NoRoom(Exception):
    """There is no room for another file of this user."""


class UploadQuota:
    """Bytes of files on their way and of those that sessions hold.

    A session holds its files until its page takes them away, or has been closed for two minutes.
    ``held`` tells the sizes of a session's files.
    """

    def __init__(self, held: Callable[[str], list[int]] | None = None) -> None:
        self._held = held or _held_by_streamlit
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)
        self._coming: Counter[str] = Counter()

    @contextmanager
    def room(self, owner: str, session: str, size: int | None) -> Iterator[None]:
        """Room for a file that a user sends to a session; NoRoom where there is none.

        ``size`` is None where the request does not tell it.
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


def _held_by_streamlit(session: str) -> list[int]:
    files = runtime.get_instance().uploaded_file_mgr.file_storage.get(session, {})  # type: ignore[attr-defined]
    return [len(file.data) for file in list(files.values())]
