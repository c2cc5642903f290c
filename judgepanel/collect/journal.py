"""Finished calls, one line each, written as soon as they end, so that they survive a crash.

A journal is a file of outputs that `votes/transcripts.py` reads. Only complete lines count: an
incomplete last line, left by a process that died, is cut off when the journal is opened. Lines from
versions up to 1.0 whose output no file of votes can hold are then escaped as well.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from judgepanel.collect.completion import count_of, name_of, output_of, tokens_of
from judgepanel.votes.errors import InputError
from judgepanel.votes.transcripts import UNUSABLE

FILE = "outputs.jsonl"
LOCK = ".lock"
_MENDED = ".outputs.new"
_LONGEST = 1 << 20
_IMPOSSIBLE = 1e12
"""Dollars or seconds that no call takes."""
_DAMAGED = re.compile(rb'\\u(?:0000|[dD][89a-fA-F])|"(?:text|served_by|finish)": [^"]')
"""Marks of a line that may hold what no file of votes can; ordinary lines have none."""
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that JSON leaves unescaped but terminals obey, readers cannot see or UTF-8 lacks."""


class Journal:
    """The journal of one folder, locked by one process; a context manager.

    Raises InputError if another process has locked it, if it cannot be written, and for lines that
    are not outputs.
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
            self._mend()
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

    def _mend(self) -> None:
        """Escape lines that older versions wrote unescaped; the file is replaced atomically."""
        with self.path.open("rb") as lines:
            if not any(_DAMAGED.search(line) for line in lines):
                return
            beside = self.folder / _MENDED
            lines.seek(0)
            try:
                with beside.open("wb") as mended:
                    for number, line in enumerate(lines, start=1):
                        mended.write(_line(_entry(line, number)) if _DAMAGED.search(line) else line)
                    mended.flush()
                    os.fsync(mended.fileno())
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
        os.replace(beside, self.path)
        os.close(self._file)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND)

    def entries(self) -> Iterator[dict[str, Any]]:
        """All finished calls, one at a time; impossible numbers become None."""
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield _entry(line, number)

    def add(self, entry: dict[str, Any]) -> None:
        """Append one finished call completely or not at all; OSError if the disk is full."""
        line = _line(entry)
        before = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            os.ftruncate(self._file, before)
            raise


def _entry(line: bytes, number: int) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(line)
        if not all(isinstance(entry[name], str) for name in ("item_id", "judge", "order", "asked")):
            raise TypeError
        written = entry.get("text", "")
        text, unusable = output_of("" if written is None else written, _LONGEST)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise InputError(
            "not a finished call", file=FILE, row=number, allowed="lines of this journal"
        ) from None
    entry["text"] = text
    if unusable:
        entry[UNUSABLE] = unusable
    entry["served_by"] = name_of(entry.get("served_by"))
    entry["finish"] = name_of(entry.get("finish"))
    counts = (entry.get("tokens_in"), entry.get("tokens_out"))
    usage = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))
    entry["tokens_in"], entry["tokens_out"] = tokens_of(usage, text)
    wrong = any(count is not None and count_of(count) is None for count in counts)
    for name in ("cost", "most", "seconds"):
        if not _is_amount(entry.get(name)) or (wrong and name == "cost"):
            entry[name] = None
    return entry


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _IMPOSSIBLE


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, allow_nan=False)
    return (_UNSEEN.sub(lambda bad: f"\\u{ord(bad[0]):04x}", text) + "\n").encode()


def _hold(handle: int, folder: Path) -> None:
    """Lock the folder for this process; the system releases the lock whenever the process ends."""
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
