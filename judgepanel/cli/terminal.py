"""What every command does with a terminal: output that never fails, and one-line refusals."""

from __future__ import annotations

import io
import sys

from judgepanel.words.terminal import one_line

_LONGEST_MESSAGE = 1000


def never_fail_to_print() -> None:
    """A terminal that lacks a character gets its code instead of a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def refuse(message: str, prog: str = "judgepanel") -> int:
    """One line on stderr; returns the exit status."""
    print(f"{prog}: {one_line(message, _LONGEST_MESSAGE)}", file=sys.stderr)
    return 2
