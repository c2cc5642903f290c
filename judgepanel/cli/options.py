"""The options of every command, and the function that runs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from judgepanel import __version__
from judgepanel.cli import commands as run
from judgepanel.cli.terminal import refuse
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.present.registry import STUDIES, study_named
from judgepanel.studies.contract import Study
from judgepanel.studies.curve.panel_curve import PANEL_CURVE
from judgepanel.studies.options import spec_options_of, unknown_option
from judgepanel.votes import TASKS, InputError
from judgepanel.votes.imports import KINDS
from judgepanel.votes.orientation import POLICIES, PROTOCOLS
from judgepanel.votes.samples import SIMULATED
from judgepanel.votes.simulation_spec import SimulationSpec

_ABOUT = "Which judges to keep, on your own votes."
_STUDY_OUT = ".csv: the table; .json: all"
_STUDY_HELP = "run one study by name; `study NAME --help` lists its own options"
_METAVARS = {False: "X", True: "X,Y"}
_OPTION_TYPES = {int: int, float: float}


def read_options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of one command: ``command`` runs it, ``notes`` are to be printed at its end.

    Raises InputError for an option that the command does not take, SystemExit (status 2, one line
    on stderr) where argparse itself refuses.
    """
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["study"] and words[1:] and not words[1].startswith("-"):
        study_named(words[1])
    options, unknown = command_parser().parse_known_args(words)
    options.notes = []
    _take_all(options, unknown)
    return options


def _take_all(options: argparse.Namespace, unknown: Sequence[str]) -> None:
    """Refuse an option that this command does not take, with its value."""
    if not unknown:
        return
    name, _, value = unknown[0].partition("=")
    value = value or next(iter(unknown[1:2]), "")
    if "study" not in options:
        raise InputError(f"{options.taken} takes no {name}", value=value or None)
    raise unknown_option(options.taken, options.study, name, value or None)


class _Parser(argparse.ArgumentParser):
    """Argument errors in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        raise SystemExit(refuse(f"{message} (see {self.prog} --help)", self.prog))


def command_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(prog="judgepanel", allow_abbrev=False, description=_ABOUT)
    parser.add_argument("--version", action="version", version=f"judgepanel {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    inspect = _command(commands, "inspect", run.inspect, "what a file holds, and its checks")
    _reading(inspect)
    inspect.add_argument("--orientation", choices=POLICIES, default="auto")
    _grouping(inspect)

    named = commands.add_parser("study", help=_STUDY_HELP, description=_STUDY_HELP)
    studies = named.add_subparsers(required=True, metavar="NAME")
    for study in STUDIES.values():
        _studying_one(_dictionary(_command(studies, study.name, run.study, study.question)), study)

    curve = _command(commands, "curve", run.study, "the panel curve: keep all, or the top k?")
    _studying_one(_dictionary(curve), PANEL_CURVE)

    recommend = _command(commands, "recommend", run.recommend, "choose and export a panel")
    _studying_one(recommend, RECOMMEND, "the panel, a .json file for `score`")
    recommend.add_argument(
        "--report", type=Path, metavar="FILE", help=".html: a report with figures; .md: its words"
    )
    recommend.set_defaults(taken="recommend")

    reporting = _command(commands, "report", run.report, "compute studies, and write one report")
    _settings(reporting)
    reporting.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".html: figures too; .md: its words"
    )
    reporting.add_argument("--studies", metavar="X,Y", help="studies by name (default: all)")

    scoring = _command(commands, "score", run.score, "probabilities of new votes")
    scoring.add_argument("panel", type=Path, metavar="panel.json")
    _reading(scoring)
    scoring.add_argument("--out", type=Path, required=True, metavar="FILE")

    simulating = _command(commands, "simulate", run.simulate, "write a simulated panel")
    simulating.add_argument("--out", type=Path, required=True, metavar="FILE")
    simulating.add_argument("--sample", choices=[sample.name for sample in SIMULATED])
    _simulation_options(simulating)

    collecting = _command(commands, "collect", run.collect, "ask judges and make votes of it")
    collecting.add_argument("pairs", type=Path, metavar="PAIRS", help="JSONL, CSV or Parquet")
    collecting.add_argument("asked", type=Path, metavar="JUDGES", help="who, a .toml file")
    collecting.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="for the outputs and the votes"
    )
    collecting.add_argument("--max-cost", type=float, metavar="USD", help="never spend more")
    collecting.add_argument("--estimate", action="store_true", help="the cost, without any call")

    importing = _command(commands, "import", run.import_outputs, "what another tool wrote")
    importing.add_argument("kind", choices=tuple(KINDS), metavar="KIND", help=", ".join(KINDS))
    importing.add_argument("path", type=Path, metavar="PATH", help="a folder, a .zip, or a file")
    importing.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .jsonl file")
    importing.add_argument(
        "--task", choices=TASKS, help="what is read of a folder with pairs and single responses"
    )

    health = _command(
        commands, "health", run.health, "does the dashboard answer, and its database?"
    )
    health.add_argument(
        "--url", metavar="URL", help="where a dashboard is served, such as http://localhost:8501"
    )
    _backups(commands)
    return parser


def _backups(commands: Any) -> None:
    saving = _command(commands, "backup", run.backup, "copy the dashboard's SQLite database")
    saving.add_argument("file", type=Path, metavar="FILE", help="the copy to write")
    saving.add_argument("--force", action="store_true", help="replace FILE if it is there")

    restoring = _command(
        commands, "restore", run.restore, "bring a backup back, while no server runs"
    )
    restoring.add_argument("file", type=Path, metavar="FILE", help="a copy that `backup` wrote")
    restoring.add_argument(
        "--force", action="store_true", help="replace the database; it is kept beside"
    )


def _command(commands: Any, name: str, run_it: Any, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, allow_abbrev=False
    )
    parser.set_defaults(command=run_it, taken=name)
    return parser


def _reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("votes", type=Path, metavar="VOTES", help="CSV, .csv.gz, Parquet or JSONL")
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--id-column", metavar="NAME")
    parser.add_argument("--label-column", metavar="NAME")
    parser.add_argument("--group-column", metavar="NAME")
    parser.add_argument("--judge-table", type=Path, metavar="FILE", help="one row per judge")


def _grouping(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--group-duplicates",
        action="store_true",
        help="keep items that repeat each other in one group",
    )


def _settings(parser: argparse.ArgumentParser) -> None:
    _reading(parser)
    parser.add_argument("--orientation", choices=POLICIES, default="auto")
    _grouping(parser)
    parser.add_argument("--protocol", choices=PROTOCOLS, default="honest")
    parser.add_argument("--judges", type=Path, metavar="FILE", help="judges to use, one a line")
    parser.add_argument(
        "--judge", action="append", metavar="NAME", help="a judge to use; can be given repeatedly"
    )
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--fraction", type=float, default=0.5, help="share that calibrates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None, help="workers (default: all cores)")


def _dictionary(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument(
        "--dictionary", type=Path, metavar="FILE", help=".csv: what each column of the table holds"
    )
    return parser


def _studying_one(
    parser: argparse.ArgumentParser, study: Study[Any, Any, Any], out: str = _STUDY_OUT
) -> None:
    """Options of a study: what all share, and the options of its spec."""
    _settings(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help=out)
    parser.set_defaults(study=study, taken=f"the study {study.name}")
    for option in spec_options_of(study.spec):
        known = f" [{', '.join(option.choices)}]" if option.choices else ""
        default = f" (default: {option.default_text()})" if option.default_text() else ""
        text = f"{option.help}{known}{default}".strip().replace("%", "%%")
        parser.add_argument(
            option.flag, dest=f"option_{option.field}", metavar=_METAVARS[option.several], help=text
        )


def _simulation_options(parser: argparse.ArgumentParser) -> None:
    defaults = SimulationSpec()
    for option in fields(SimulationSpec):
        value = getattr(defaults, option.name)
        if type(value) in _OPTION_TYPES or isinstance(value, str):
            parser.add_argument(
                "--" + option.name.replace("_", "-"), type=type(value), default=None, metavar="X"
            )
