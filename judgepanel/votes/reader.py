"""The process that reads one untrusted file, ``python -m judgepanel.votes.reader`` SECONDS.

It waits so long for a :class:`Request`, a line of JSON on standard input. The file follows it; the
answer (see ``judgepanel.votes.answer``) goes to standard output. This process is started by
``judgepanel.votes.sandbox``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from judgepanel.votes.answer import packed, packed_error
from judgepanel.votes.errors import InputError
from judgepanel.votes.limits import READER_MIB
from judgepanel.votes.load import open_table
from judgepanel.votes.matrix import Task

VIRTUAL_MIB = 256
"""Address space that libraries reserve but never touch (measured: 230 MiB after the imports)."""


class Request(NamedTuple):
    """What is to be read, and how much it may take.

    Attributes
    ----------
    name, task, records : the file's name, and what ``open_table`` takes beside it.
    size : of the file, in bytes.
    mib, cpu, wall : memory in MiB, and seconds of computing and in all.
    """

    name: str
    task: Task | None
    records: str | None
    size: int
    mib: int
    cpu: int
    wall: int


def main(patience: float) -> None:
    """Read the file of a request that comes in time, and write the answer."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, patience)
    # Library output must not end up in the answer.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    if not line:  # Whoever started this has ended.
        return
    request = Request(*json.loads(line))
    limit(request.mib, request.cpu, request.wall)
    pieces: Iterator[bytes]
    try:
        data = sys.stdin.buffer.read(request.size)
        table = open_table(data, request.name, task=request.task, records=request.records)
        # The first piece takes the memory; it must not be taken after the answer has begun.
        pieces = packed(table)
        pieces = chain([next(pieces)], pieces)
    except InputError as error:
        pieces = packed_error(error)
    except MemoryError:
        pieces = packed_error(out_of_memory(request.name))
    for piece in pieces:
        answer.write(piece)
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
    return InputError(
        "reading it takes too much memory",
        file=name,
        allowed=f"{READER_MIB:,} MiB",
        remedy="split the file, or leave out columns that are not needed",
    )


if __name__ == "__main__":
    main(float(sys.argv[1]))
