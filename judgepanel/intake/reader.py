"""The process that reads untrusted files, ``python -m judgepanel.intake.reader`` SECONDS.

It waits so long for a request on standard input: a line with the limits, the length of an
:class:`~judgepanel.intake.answer.Ask` in JSON, that text, and the files one after the other. Its
answer goes to standard output. :mod:`judgepanel.intake.process` starts it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import NamedTuple

import pyarrow as pa

from judgepanel.intake.answer import Answer, Ask, Refusal, answer_to
from judgepanel.studies.codec import from_plain, pack
from judgepanel.votes.errors import InputError
from judgepanel.votes.limits import READER_MIB

VIRTUAL_MIB = 256
"""Address space that libraries reserve but never touch (measured: 230 MiB after the imports)."""


class Limits(NamedTuple):
    """Memory in MiB, seconds of computing and in all, and the length of what is asked."""

    mib: int
    cpu: int
    wall: int
    length: int


def main(patience: float) -> None:
    """Read the files of a request that comes in time, and write the answer."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, patience)
    # Library output must not end up in the answer.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    given = sys.stdin.buffer
    line = given.readline()
    if not line:  # Whoever started this has ended.
        return
    limits = Limits(*json.loads(line))
    limit(limits.mib, limits.cpu, limits.wall)
    ask = from_plain(Ask, json.loads(given.read(limits.length)))
    try:
        sizes = [ask.size, *([ask.labels_size] if ask.labels else ())]
        sizes += [ask.judges_size] if ask.judges else []
        data = pack(answer_to(ask, [given.read(size) for size in sizes]))
    except (MemoryError, pa.ArrowMemoryError):
        data = pack(Answer(Refusal.of(out_of_memory(ask.votes))))
    answer.write(data)
    answer.flush()
    os._exit(0)  # Freeing memory takes time and serves nothing here.


def limit(mib: int, cpu: int, wall: int) -> None:
    """Apply the limits to this process, as far as the operating system supports them.

    Windows supports none. macOS accepts the memory limit but does not enforce it.
    """
    try:
        import resource  # noqa: PLC0415
    except ImportError:
        return
    for kind, most, at_last in (
        (resource.RLIMIT_AS, (mib + VIRTUAL_MIB) << 20, 0),
        # If both limits are equal, Linux kills as if out of memory, without SIGXCPU.
        (resource.RLIMIT_CPU, cpu, 1),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        try:
            resource.setrlimit(kind, (most, most + at_last))
        except (ValueError, OSError):  # The system or the server's own limits allow less.
            continue
    signal.setitimer(signal.ITIMER_REAL, wall)


def out_of_memory(name: str) -> InputError:
    """The refusal of a file that needs too much memory."""
    most, remedy = f"{READER_MIB:,} MiB", "split the file, or leave out columns that are not needed"
    return InputError("reading it takes too much memory", most, remedy, file=name)


if __name__ == "__main__":
    main(float(sys.argv[1]))
