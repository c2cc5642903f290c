"""What every command does with a terminal: one-line refusals, and a line of progress."""

from __future__ import annotations

import io
import sys
from types import TracebackType

from judgepanel.report.terminal import one_line

_LONGEST_MESSAGE = 1000


def never_fail_to_print() -> None:
    """A terminal that lacks a character gets its code instead of a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def refuse(message: str, prog: str = "judgepanel") -> int:
    """One line on stderr; returns the exit status."""
    print(f"{prog}: {one_line(message, _LONGEST_MESSAGE)}", file=sys.stderr)
    return 2


class ProgressLine:
    """A line on stderr that is written over again and is gone at the end; none in a file."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._widest = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._write("\r" + " " * self._widest + "\r")

    def show(self, text: str) -> None:
        """Write ``text`` in place of what stands there."""
        self._write("\r" + text.ljust(self._widest))
        self._widest = max(self._widest, len(text))

    def _write(self, text: str) -> None:
        if self._on_terminal:
            print(text, end="", file=sys.stderr, flush=True)
