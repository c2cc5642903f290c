"""Finished calls, one line each, written as they end: what survives whatever happens next.

A journal is a file of outputs as `votes/transcripts.py` reads it. Only whole lines count: one that
was being written when the process died is cut off when the journal is opened again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from judgepanel.votes.errors import InputError

FILE = "outputs.jsonl"
LOCK = ".lock"


class Journal:
    """The journal of one folder, held by one process; a context manager.

    Raises InputError where another process holds it, where it cannot be written, and for lines
    that are no outputs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._lock = -1
        self._file = -1

    def __enter__(self) -> Journal:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            _hold(self._lock, self.folder)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            self._cut_off_half_a_line()
        except OSError as error:
            self.__exit__(None, None, None)
            raise InputError(
                f"cannot be written to: {error.strerror}", file=self.folder.name
            ) from None
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for handle in (self._file, self._lock):
            if handle >= 0:
                os.close(handle)
        self._file = self._lock = -1

    def _cut_off_half_a_line(self) -> None:
        size = os.fstat(self._file).st_size
        end = size
        while end > 0:
            start = max(0, end - (1 << 16))
            place = os.pread(self._file, end - start, start).rfind(b"\n")
            if place >= 0:
                end = start + place + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._file, end)

    def entries(self) -> Iterator[dict[str, Any]]:
        """All finished calls, one at a time."""
        with self.path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    entry = json.loads(line)
                    wanted = {"item_id", "judge", "order", "asked"} <= entry.keys()
                except (ValueError, AttributeError):
                    wanted = False
                if not wanted:
                    raise InputError(
                        "not a finished call",
                        file=FILE,
                        row=number,
                        allowed="lines of this journal",
                    )
                yield entry

    def add(self, entry: dict[str, Any]) -> None:
        """Write one finished call, whole or not at all; OSError where the disk takes no more."""
        line = (json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n").encode(
            "utf-8", "backslashreplace"
        )
        before = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            os.ftruncate(self._file, before)
            raise


def _hold(handle: int, folder: Path) -> None:
    """One process at a time; the system lets go of the lock when the process ends, however."""
    try:
        if os.name == "nt":
            import msvcrt  # noqa: PLC0415

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            "another run is collecting into this folder", file=folder.name, allowed="one at a time"
        ) from None
