"""Terminal behaviour of all commands: printing that never fails, and one-line refusals."""

from __future__ import annotations

import io
import sys

from judgepanel.votes.errors import in_terminal
from judgepanel.words.text import one_line

_LONGEST_MESSAGE = 1000


def never_fail_to_print() -> None:
    """Print escape codes for characters that the terminal lacks, instead of a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def refuse(message: str, prog: str = "judgepanel") -> int:
    """Print one line on stderr; return the exit status."""
    print(f"{prog}: {one_line(in_terminal(message), _LONGEST_MESSAGE)}", file=sys.stderr)
    return 2
