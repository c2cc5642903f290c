"""The command line: inspect, study, curve, recommend, score, simulate, collect, import, health.

Exit status 0, or 2 with one line on stderr that names file, row, column, value and what is
allowed; 1 where `health` finds something wrong or `collect` has calls left; 130 when interrupted.
Progress and notes go to stderr, a readable table to stdout.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from judgepanel import __version__
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.decision.registry import STUDIES
from judgepanel.decision.score import score
from judgepanel.report.commands import column_options, recommend_command
from judgepanel.report.document import html_text, markdown_text
from judgepanel.report.output import check_output, write_whole
from judgepanel.report.outputs import coverage_sentence, coverage_text
from judgepanel.report.recommendation_report import recommendation_report
from judgepanel.report.scored import scored_text
from judgepanel.report.sentences import votes_sentence
from judgepanel.report.summaries import result_text
from judgepanel.report.tables import accuracy_table, csv_text
from judgepanel.report.terminal import one_line, printable
from judgepanel.studies.contract import Study
from judgepanel.studies.curve.panel_curve import PANEL_CURVE
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.studies.knobs import knobs_of, read_spec
from judgepanel.studies.result_file import result_content, result_json
from judgepanel.studies.runner import AUTO, Progress, default_jobs, run
from judgepanel.studies.settings import Settings
from judgepanel.votes import TASKS, InputError, Loaded, load_votes
from judgepanel.votes.checks import check_orientation
from judgepanel.votes.imports import KINDS
from judgepanel.votes.orientation import POLICIES, PROTOCOLS, orient
from judgepanel.votes.samples import SAMPLES, sample_votes, write_panel
from judgepanel.votes.simulate import simulate
from judgepanel.votes.simulation_spec import SimulationSpec
from judgepanel.votes.table import check_size

_LONGEST_MESSAGE = 1000
_STUDY_OUT = ".csv: the table; .json: all"
_STUDY_HELP = "run one study by name; `study NAME --help` lists its own options"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    _never_fail_to_print()
    options, unknown = _parser().parse_known_args(argv)
    options.notes = []
    try:
        _take_all(options, unknown)
        status: int | None = options.command(options)
        sys.stdout.flush()
    except InputError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        _refuse("interrupted; nothing was written.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _refuse(str(InputError(f"{error.strerror or error}", file=_file_of(error))))
    except MemoryError:
        return _refuse("there is not enough memory for this.")
    for sentence in dict.fromkeys(options.notes):
        print(f"note: {printable(sentence)}", file=sys.stderr)
    return status or 0


def _take_all(options: argparse.Namespace, unknown: Sequence[str]) -> None:
    """Refuse an option that this command does not take, with its value."""
    if not unknown:
        return
    name, _, value = unknown[0].partition("=")
    value = value or next(iter(unknown[1:2]), "")
    if "study" not in options:
        raise InputError(f"{options.taken} takes no {name}", value=value or None)
    known = ", ".join(knob.option for knob in knobs_of(options.study.spec))
    raise InputError(
        f"{options.taken} takes no {name}", value=value or None, allowed=known or "no such options"
    )


def _never_fail_to_print() -> None:
    """A terminal that lacks a character gets its code instead of a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _refuse(message: str, prog: str = "judgepanel") -> int:
    """One line on stderr; returns the exit status."""
    print(f"{prog}: {one_line(message, _LONGEST_MESSAGE)}", file=sys.stderr)
    return 2


def _file_of(error: OSError) -> str | None:
    return None if error.filename is None else str(error.filename)


class _Parser(argparse.ArgumentParser):
    """Argument errors in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        raise SystemExit(_refuse(f"{message} (see {self.prog} --help)", self.prog))


def _parser() -> argparse.ArgumentParser:
    about = __doc__.split("\n")[0] if __doc__ else None
    parser = _Parser(prog="judgepanel", allow_abbrev=False, description=about)
    parser.add_argument("--version", action="version", version=f"judgepanel {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    inspect = _command(commands, "inspect", _inspect, "what a file holds, and its checks")
    _reading(inspect)
    inspect.add_argument("--orientation", choices=POLICIES, default="auto")

    named = commands.add_parser("study", help=_STUDY_HELP, description=_STUDY_HELP)
    studies = named.add_subparsers(required=True, metavar="NAME")
    for one in STUDIES.values():
        _studying_one(_command(studies, one.name, _study, one.question), one)

    curve = _command(commands, "curve", _study, "the panel curve: keep all, or the top k?")
    _studying_one(curve, PANEL_CURVE)

    recommend = _command(commands, "recommend", _recommend, "choose and export a panel")
    _studying_one(recommend, RECOMMEND, "the panel, a .json file for `score`")
    recommend.add_argument(
        "--report", type=Path, metavar="FILE", help=".html: a report with figures; .md: its words"
    )
    recommend.set_defaults(taken="recommend")

    scoring = _command(commands, "score", _score, "probabilities of new votes")
    scoring.add_argument("panel", type=Path, metavar="panel.json")
    _reading(scoring)
    scoring.add_argument("--out", type=Path, required=True, metavar="FILE")

    simulating = _command(commands, "simulate", _simulate, "write a simulated panel")
    simulating.add_argument("--out", type=Path, required=True, metavar="FILE")
    simulating.add_argument("--sample", choices=[sample.name for sample in SAMPLES])
    _simulation_knobs(simulating)

    collecting = _command(commands, "collect", _collect, "ask judges and make votes of it")
    collecting.add_argument("pairs", type=Path, metavar="PAIRS", help="JSONL, CSV or Parquet")
    collecting.add_argument("asked", type=Path, metavar="JUDGES", help="who, a .toml file")
    collecting.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="for the outputs and the votes"
    )
    collecting.add_argument("--max-cost", type=float, metavar="USD", help="never spend more")
    collecting.add_argument("--estimate", action="store_true", help="the cost, without any call")

    importing = _command(commands, "import", _import, "what another tool wrote")
    importing.add_argument("kind", choices=tuple(KINDS), metavar="KIND", help=", ".join(KINDS))
    importing.add_argument("path", type=Path, metavar="PATH", help="a folder, a .zip, or a file")
    importing.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .jsonl file")

    health = _command(commands, "health", _health, "does the dashboard answer, and its database?")
    health.add_argument(
        "--url", metavar="URL", help="where a dashboard is served, such as http://localhost:8501"
    )
    return parser


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
    parser.add_argument("--judge-table", type=Path, metavar="FILE", help="one row a judge")


def _studying(parser: argparse.ArgumentParser, out: str) -> None:
    _reading(parser)
    parser.add_argument("--orientation", choices=POLICIES, default="auto")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="honest")
    parser.add_argument("--judges", type=Path, metavar="FILE", help="judges to use, one a line")
    parser.add_argument(
        "--judge", action="append", metavar="NAME", help="a judge to use; can be given repeatedly"
    )
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--fraction", type=float, default=0.5, help="share that calibrates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None, help="workers (default: all cores)")
    parser.add_argument("--out", type=Path, metavar="FILE", help=out)


def _studying_one(
    parser: argparse.ArgumentParser, study: Study[Any, Any, Any], out: str = _STUDY_OUT
) -> None:
    """Options of a study: what all share, and the knobs of its spec."""
    _studying(parser, out)
    parser.set_defaults(study=study, taken=f"the study {study.name}")
    for knob in knobs_of(study.spec):
        known = f" [{', '.join(knob.choices)}]" if knob.choices else ""
        usual = f" (default: {knob.shown()})" if knob.shown() else ""
        text = f"{knob.help}{known}{usual}".strip().replace("%", "%%")
        parser.add_argument(
            knob.option, dest=f"knob_{knob.field}", metavar=_METAVARS[knob.several], help=text
        )


_METAVARS = {False: "X", True: "X,Y"}
_KNOB_TYPES = {int: int, float: float}


def _simulation_knobs(parser: argparse.ArgumentParser) -> None:
    defaults = SimulationSpec()
    for knob in fields(SimulationSpec):
        value = getattr(defaults, knob.name)
        if type(value) in _KNOB_TYPES or isinstance(value, str):
            parser.add_argument(
                "--" + knob.name.replace("_", "-"), type=type(value), default=None, metavar="X"
            )


def _load(options: argparse.Namespace, *, need_labels: bool = True) -> Loaded:
    loaded = load_votes(
        options.votes,
        task=options.task,
        id_column=options.id_column,
        label_column=options.label_column,
        group_column=options.group_column,
        judge_table=options.judge_table,
        need_labels=need_labels,
    )
    options.notes += loaded.warnings
    return loaded


def _check_out(options: argparse.Namespace, *kinds: str, option: str = "out") -> None:
    path = getattr(options, option)
    if path is not None:
        read = ("votes", "judge_table", "judges", "panel")
        inputs = [getattr(options, name, None) for name in read]
        check_output(path, inputs=[path for path in inputs if path], kinds=kinds)


def _judges(options: argparse.Namespace) -> tuple[str, ...] | None:
    """Judges of the file, then those named one by one; None where neither is given."""
    if options.judges is None and options.judge is None:
        return None
    names = list(options.judge or ())
    if options.judges is not None:
        lines = _text(options.judges).split("\n")
        names = [line.strip() for line in lines if line.strip()] + names
        if not names:
            raise InputError("names no judge", file=options.judges.name, allowed="one judge a line")
    return tuple(names)


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        orientation=options.orientation,
        protocol=options.protocol,
        judges=_judges(options),
        splits=options.splits,
        fraction=options.fraction,
        seed=options.seed,
    )


def _spec(options: argparse.Namespace) -> Any:
    """The spec of a study from its options."""
    given = {
        name.removeprefix("knob_"): text
        for name, text in vars(options).items()
        if name.startswith("knob_") and text is not None
    }
    if options.study is PANEL_CURVE and options.protocol == "paper":
        given.setdefault("calibrators", "none,beta_clipped")
    return read_spec(options.study, _settings(options), given)


def _inspect(options: argparse.Namespace) -> None:
    loaded = _load(options)
    votes = loaded.votes
    oriented = orient(votes, options.orientation)
    check = check_orientation(votes)
    options.notes += oriented.notices
    print(votes_sentence(votes))
    if loaded.coverage is not None:
        print(printable(coverage_sentence(loaded.coverage)))
    print(printable(f"\n{check.title}: {check.outcome}. {check.why}"))
    print(printable(check.advice))
    print(f"Items are used {oriented.policy}.")
    print(f"\nSHA-256 {votes.sha256}\n")
    print(accuracy_table(judge_table(votes)).to_string(index=False))
    if loaded.coverage is not None:
        print(printable("\n" + coverage_text(loaded.coverage)))


def _study(options: argparse.Namespace) -> None:
    study = options.study
    _check_out(options, ".csv", ".json")
    spec = _spec(options)
    loaded = _load(options)
    result = _run(study, loaded, spec, options)
    if options.out is not None:
        if options.out.name.lower().endswith(".csv"):
            text = csv_text(result.frame())
        else:
            text = result_json(result_content(study, loaded.votes, spec, result))
        write_whole(options.out, text.encode())
    print(result_text(study, result))


def _recommend(options: argparse.Namespace) -> None:
    _check_out(options, ".json")
    _check_out(options, ".html", ".md", option="report")
    spec = _spec(options)
    loaded = _load(options)
    result = _run(RECOMMEND, loaded, spec, options)
    checks = (check_orientation(loaded.votes),)
    if options.out is not None:
        text = panel_json(export_panel(result, loaded.votes, spec, checks))
        write_whole(options.out, text.encode())
    if options.report is not None:
        command = recommend_command(
            loaded.file, spec, task=loaded.votes.task, columns=column_options(loaded)
        )
        document = recommendation_report(
            loaded.file,
            loaded.votes,
            spec,
            result,
            command=command,
        )
        as_html = options.report.name.lower().endswith(".html")
        text = html_text(document) if as_html else markdown_text(document)
        write_whole(options.report, text.encode())
    print(result_text(RECOMMEND, result))


def _score(options: argparse.Namespace) -> None:
    _check_out(options, ".csv")
    panel = load_panel(_text(options.panel), name=options.panel.name)
    loaded = _load(options, need_labels=False)
    scored = score(panel, loaded.votes)
    options.notes += scored.warnings
    write_whole(options.out, csv_text(scored.frame()).encode())
    print(scored_text(scored, printable(options.out.name)))


def _simulate(options: argparse.Namespace) -> None:
    _check_out(options)
    knobs = {
        knob.name: getattr(options, knob.name)
        for knob in fields(SimulationSpec)
        if getattr(options, knob.name, None) is not None
    }
    if options.sample is not None and knobs:
        raise InputError(
            "a sample is fixed", value=", ".join(knobs), allowed="--sample alone, or knobs alone"
        )
    spec = None if options.sample else SimulationSpec(**knobs)
    if spec is not None:
        check_size(spec.n_items, spec.n_judges)
    votes = sample_votes(options.sample) if spec is None else simulate(spec)
    folder = options.out.resolve().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".simulate-") as beside:
        write_panel(votes, Path(beside) / options.out.name)
        made = sorted(Path(beside).iterdir(), key=lambda path: path.name != options.out.name)
        for one in made:
            write_whole(folder / one.name, one.read_bytes())
    print(votes_sentence(votes))
    print(printable("Written: " + " and, beside it, ".join(one.name for one in made) + "."))


def _collect(options: argparse.Namespace) -> int:
    # Here, since no other command should wait for what asks servers.
    from judgepanel.cli.collecting import run_collect  # noqa: PLC0415

    return run_collect(options)


def _import(options: argparse.Namespace) -> None:
    # Here, as `collect`.
    from judgepanel.cli.importing import run_import  # noqa: PLC0415

    _check_out(options, ".jsonl")
    run_import(options)


def _health(options: argparse.Namespace) -> int:
    # Here, since no other command should wait for what reads a database.
    from judgepanel.cli.health import database_state, server_state  # noqa: PLC0415

    states = [] if options.url is None else [server_state(options.url)]
    states.append(database_state())
    for _, sentence in states:
        print(sentence)
    return 0 if all(good for good, _ in states) else 1


def _run(
    study: Study[Any, Any, Any], loaded: Loaded, spec: Any, options: argparse.Namespace
) -> Any:
    jobs = options.jobs
    if jobs is not None and jobs < 1:
        raise InputError("--jobs must be at least 1", value=jobs, allowed="1 or more")
    shown = sys.stderr.isatty()

    def report(progress: Progress[Any, Any, Any]) -> None:
        if shown:
            left = f"about {progress.remaining:.0f} s left"
            text = f"\r{progress.done}/{progress.total} parts, {left}  "
            print(text, end="", file=sys.stderr, flush=True)

    workers = min(jobs or default_jobs(), len(study.plan(spec)))
    try:
        result = run(study, loaded.votes, spec, jobs=workers, backend=AUTO, on_progress=report)
    finally:
        if shown:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
    options.notes += result.warnings
    return result


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path.name) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=path.name) from None
