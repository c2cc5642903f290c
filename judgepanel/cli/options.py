"""All commands by name: purpose, and the module with the options and the implementation.

The module is imported when its command is used, so that commands do not wait for each other's
imports.

Terminal behaviour of all commands: printing that never fails, and one-line refusals.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from judgepanel import ENGINE, __version__
from judgepanel.votes import InputError
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


_ABOUT = "Which judges to keep, on your own votes."
_COMMANDS = {
    "inspect": ("inspecting", "what a file holds, and its checks"),
    "study": ("studying", "run one study by name; `study NAME --help` lists its own options"),
    "curve": ("studying", "the panel curve: keep all, or the top k?"),
    "recommend": ("studying", "choose and export a panel"),
    "estimate": ("studying", "rates of all items and of groups, from all votes and few labels"),
    "report": ("studying", "compute studies, and write one report"),
    "score": ("scoring", "probabilities of new votes"),
    "simulate": ("making", "write a simulated panel"),
    "collect": ("collecting", "ask judges and turn their answers into votes"),
    "import": ("making", "what another tool wrote"),
    "app": ("serving", "serve the dashboard on this machine"),
    "health": ("upkeep", "do the dashboard and its database answer?"),
    "backup": ("upkeep", "copy the dashboard's SQLite database"),
    "restore": ("upkeep", "bring a backup back, while no server runs"),
}
"""Module of judgepanel.cli and purpose of every command."""


def read_options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of one command: ``command`` runs it, ``notes`` are printed at the end.

    Raises InputError for an option that the command does not accept, SystemExit (status 2, one line
    on stderr) if argparse itself refuses.
    """
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["study"] and words[1:] and not words[1].startswith("-"):
        _module("study").study_named(words[1])
    options, unknown = command_parser().parse_known_args(words)
    options.notes = []
    if "handed_on" in options:
        options.handed_on = tuple(unknown)
    elif unknown:
        name, _, given = unknown[0].partition("=")
        value = given or next(iter(unknown[1:2]), "") or None
        study = _module("study")
        if "study" not in options:
            remedy = study.similar_option(name, options.flags)
            raise InputError(f"{options.taken} takes no {name}", value=value, remedy=remedy)
        raise study.unknown_option(options.taken, options.study, name, value, options.flags)
    return options


def _module(command: str) -> ModuleType:
    return import_module(f"judgepanel.cli.{_COMMANDS[command][0]}")


class _Parser(argparse.ArgumentParser):
    """Parser that reports argument errors in one line, and adds options on demand."""

    options_of = ""
    words: Sequence[str] = ()

    def complete(self) -> None:
        """Add the options of the command, once."""
        name, self.options_of = self.options_of, ""
        if name:
            _module(name).add_options(self, name)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.words = args or ()
        self.complete()
        taken, unknown = super().parse_known_args(args, namespace)
        flags = [flag for action in self._actions for flag in action.option_strings]
        taken.flags = [*getattr(taken, "flags", ()), *flags]
        return taken, unknown

    def error(self, message: str) -> NoReturn:
        raise SystemExit(refuse(f"{message} (see {self.prog} --help)", self.prog))


def command_parser(*, complete: bool = False) -> argparse.ArgumentParser:
    """Return the parser of the command line; ``complete`` adds the options of every command."""
    parser = _Parser(prog="judgepanel", allow_abbrev=False, description=_ABOUT)
    version = f"judgepanel {__version__} (engine {ENGINE})"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (_, purpose) in _COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)
        command.set_defaults(taken=name)
        command.options_of = name
        if complete:
            command.complete()
    return parser
