"""Read untrusted files in a separate process with limits on memory and time.

A file that makes a parser exhaust memory, loop forever or crash ends only that process. The process
has an environment without the server's secrets, opens no file for writing, and returns data only:
see ``judgepanel.intake.answer``. If its parent is killed, it ends when it reaches its limits.

Half a second of a reading are the imports of the process. So one process may have them behind it
and wait for the next file (:func:`stand_by`); it has seen nothing before that file.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import judgepanel
from judgepanel.intake.answer import MAX_ANSWER, Answer, Ask, BadAnswer, Refusal, unpacked
from judgepanel.intake.reader import Limits, out_of_memory
from judgepanel.studies.codec import to_plain
from judgepanel.votes import errors, formats, limits
from judgepanel.votes.errors import InputError, documentation

_PIECE = 1 << 20
_STANDBY_SECONDS = 600.0
_GOING: weakref.WeakSet[ReaderProcess] = weakref.WeakSet()
_LOG = logging.getLogger(__name__)
_ENVIRONMENT = {
    "PYTHONPATH": str(Path(judgepanel.__file__).resolve().parents[1]),
    # One thread per library, and no allocator that reserves gigabytes of address space.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
}


class _Standby:
    """At most one process that waits for a file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._until = 0.0

    def prepare(self) -> None:
        """Start a process, unless one waits already or the system has none to spare."""
        with self._lock, contextlib.suppress(OSError):
            if self._waiting() is None:
                self._process = _started()
                self._until = time.monotonic() + _STANDBY_SECONDS

    def take(self) -> subprocess.Popen[bytes]:
        """The process that waits, or else a new one; none waits from now on."""
        with self._lock:
            process, self._process = self._waiting(), None
        return process or _started()

    def end(self) -> None:
        """End the process that waits."""
        with self._lock:
            self._until = 0.0
            self._waiting()

    def _waiting(self) -> subprocess.Popen[bytes] | None:
        process = self._process
        if process is not None and (time.monotonic() > self._until or process.poll() is not None):
            process.kill()
            process.wait()
            _close_pipes(process)
            process = self._process = None
        return process


def _started() -> subprocess.Popen[bytes]:
    """A new process, which ends itself some time after it could be taken."""
    module = ("-P", "-s", "-X", "utf8", "-m", "judgepanel.intake.reader")
    return subprocess.Popen(
        [sys.executable, *module, str(_STANDBY_SECONDS + 60.0)],
        env=_ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


_STANDBY = _Standby()


def stand_by() -> None:
    """Have a process wait for the next file, for some minutes."""
    _STANDBY.prepare()


class ReaderProcess:
    """Files that are being read; leaving the ``with`` block stops the process."""

    def __init__(self, ask: Ask, *files: bytes) -> None:
        """Start reading; ``files`` are the contents of those that ``ask`` names.

        Raises InputError if one exceeds the upload limit.
        """
        for name, data in zip(ask.names, files, strict=True):
            with errors.in_file(name):
                formats.check_bytes(len(data))
        self._name = ask.votes
        self._process = _STANDBY.take()
        self._ends = time.monotonic() + limits.READER_WALL_SECONDS
        self._answer: list[bytes] = []
        self._too_late = False
        self._threads = [
            threading.Thread(target=self._give, args=(ask, files), daemon=True),
            threading.Thread(target=self._take, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        _GOING.add(self)

    def __enter__(self) -> ReaderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Process id of the reader."""
        return self._process.pid

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds`` and return whether the process has ended."""
        if time.monotonic() > self._ends:
            self._too_late = True
            self._process.kill()
        self._threads[1].join(seconds)
        if self._threads[1].is_alive():
            return False
        self._process.wait()
        return True

    @property
    def was_killed(self) -> bool:
        """Whether time or the system ended the process, which need not happen again."""
        return self._too_late or self._process.returncode == -signal.SIGKILL

    def answer(self) -> Answer:
        """Return the answer once the process has ended: a refusal if it exceeded a limit."""
        while not self.wait(1.0):
            pass
        status = self._process.returncode
        if self._too_late or -status in (signal.SIGXCPU, signal.SIGALRM):
            most = f"{limits.READER_CPU_SECONDS} s of computing"
            return self._refused("reading it takes too long", most, "split the file")
        if status == 0:
            data = b"".join(self._answer)
            self._answer.clear()
            try:
                return unpacked(data)
            except BadAnswer as error:
                _LOG.warning("a reader gave a bad answer: %s", error)
        elif -status in (signal.SIGABRT, signal.SIGKILL):
            return Answer(Refusal.of(out_of_memory(self._name)))
        _LOG.warning("a reader ended with status %s", status)
        problem = "it cannot be read, a parser failed on it"
        remedy = "write it again, as CSV for example"
        return self._refused(problem, f"a file as {documentation('limits')} describes", remedy)

    def _refused(self, problem: str, allowed: str, remedy: str) -> Answer:
        return Answer(Refusal.of(InputError(problem, allowed, remedy, file=self._name)))

    def end(self) -> None:
        """Stop reading, whatever has been read so far."""
        self._process.kill()
        self._process.wait()
        _GOING.discard(self)
        for thread in self._threads:
            thread.join()
        _close_pipes(self._process)

    def _give(self, ask: Ask, files: tuple[bytes, ...]) -> None:
        pipe = self._process.stdin
        if pipe is not None:
            asked = json.dumps(to_plain(ask)).encode()
            most = (limits.READER_MIB, limits.READER_CPU_SECONDS, limits.READER_WALL_SECONDS)
            with contextlib.suppress(OSError):  # The process needs no more input, or has ended.
                pipe.write(json.dumps(Limits(*most, len(asked))).encode() + b"\n")
                for data in (asked, *files):
                    pipe.write(data)
                pipe.close()

    def _take(self) -> None:
        pipe = self._process.stdout
        size = 0
        while pipe is not None and (piece := os.read(pipe.fileno(), _PIECE)):
            size += len(piece)
            if size > MAX_ANSWER:
                self._process.kill()
                return
            self._answer.append(piece)


def kill_readers() -> None:
    """End all reader processes of this process; called before it ends itself."""
    _STANDBY.end()
    for reading in list(_GOING):
        with contextlib.suppress(ProcessLookupError):
            os.kill(reading.pid, signal.SIGKILL)


atexit.register(kill_readers)


def read_apart(ask: Ask, *files: bytes) -> Answer:
    """Return the answer about files, read in a separate process."""
    with ReaderProcess(ask, *files) as reading:
        return reading.answer()
