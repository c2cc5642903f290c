"""The process that reads one untrusted file, ``python -m judgepanel.votes.reader`` ARGUMENTS.

The seven arguments are the file's name, the task or an empty string, the path of the list of
records or an empty string, its size in bytes, memory in MiB, CPU time in seconds and wall-clock
time in seconds. The file arrives on standard input; the
answer (see ``judgepanel.votes.answer``) goes to standard output. ``judgepanel.votes.apart`` starts
this process.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable

from judgepanel.votes.answer import packed, packed_error
from judgepanel.votes.errors import InputError
from judgepanel.votes.limits import READER_MIB
from judgepanel.votes.load import open_table
from judgepanel.votes.matrix import TASKS

VIRTUAL_MIB = 256
"""Address space that libraries reserve but never touch (measured: 230 MiB after the imports)."""


def main(name: str, task: str, records: str, size: int, mib: int, cpu: int, wall: int) -> None:
    """Read the file and write the answer."""
    limit(mib, cpu, wall)
    # Library output must not end up in the answer.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    pieces: Iterable[bytes]
    chosen = next((known for known in TASKS if known == task), None)
    try:
        data = sys.stdin.buffer.read(size)
        pieces = packed(open_table(data, name, task=chosen, records=records or None))
    except InputError as error:
        pieces = packed_error(error)
    except MemoryError:
        pieces = packed_error(out_of_memory(name))
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
    main(sys.argv[1], sys.argv[2], sys.argv[3], *(int(word) for word in sys.argv[4:8]))
