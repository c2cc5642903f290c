"""The command line.

Commands: inspect, study, curve, recommend, estimate, report, score, simulate, collect, import, app,
health, backup, restore.

Exit status 0, or 2 with one line on stderr that names file, row, column, value and what is allowed;
1 if `health` finds a problem, `collect` has calls left or `estimate` fails a condition; 130 if
interrupted. Progress and notes go to stderr, a readable table to stdout.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from judgepanel.cli.options import never_fail_to_print, read_options, refuse
from judgepanel.votes import InputError
from judgepanel.votes.errors import in_terminal
from judgepanel.words.text import printable


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    never_fail_to_print()
    try:
        options = read_options(argv)
        status: int | None = options.command(options)
        sys.stdout.flush()
    except InputError as error:
        return refuse(str(error))
    except KeyboardInterrupt:
        refuse("interrupted.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        file = None if error.filename is None else str(error.filename)
        return refuse(str(InputError(f"{error.strerror or error}", file=file)))
    except MemoryError:
        return refuse("there is not enough memory for this.")
    for sentence in dict.fromkeys(options.notes):
        print(f"note: {printable(in_terminal(sentence))}", file=sys.stderr)
    return status or 0
