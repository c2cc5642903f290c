"""The command line: inspect, study, curve, recommend, score, simulate.

Exit status 0, or 2 with one line on stderr that names file, row, column, value and what is
allowed; 130 when interrupted. Progress goes to stderr, a readable table to stdout.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from judgepanel import __version__
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND, Recommendation, RecommendSpec
from judgepanel.decision.registry import STUDIES, study_named
from judgepanel.decision.score import score
from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.kernels.prefixes import AGGREGATORS, RANKINGS
from judgepanel.report.sentences import (
    certainty_sentence,
    curve_sentence,
    optimism_sentence,
    recommendation_sentence,
    votes_sentence,
)
from judgepanel.report.tables import candidate_table, comparison_table, csv_text
from judgepanel.studies.contract import Study
from judgepanel.studies.panel_curve import PANEL_CURVE, PanelCurve, PanelCurveSpec
from judgepanel.studies.result_file import result_content, result_json
from judgepanel.studies.runner import Progress, default_jobs, run
from judgepanel.studies.settings import Settings
from judgepanel.votes import (
    TASKS,
    InputError,
    Loaded,
    load_votes,
)
from judgepanel.votes.checks import check_orientation
from judgepanel.votes.orientation import POLICIES, PROTOCOLS, orient
from judgepanel.votes.samples import SAMPLES, sample_votes, write_panel
from judgepanel.votes.simulate import simulate
from judgepanel.votes.simulation_spec import SimulationSpec


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        options.command(options)
        sys.stdout.flush()
    except InputError as error:
        print(f"judgepanel: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("judgepanel: interrupted; nothing was written.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class _Parser(argparse.ArgumentParser):
    """Argument errors in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        text = " ".join(message.split())
        print(f"{self.prog}: {text} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="judgepanel", description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--version", action="version", version=f"judgepanel {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    inspect = _command(commands, "inspect", _inspect, "what a file holds, and its checks")
    _reading(inspect)
    inspect.add_argument("--orientation", choices=POLICIES, default="auto")

    study = _command(commands, "study", _study, "run one study: " + ", ".join(STUDIES))
    study.add_argument("name", metavar="NAME", help=", ".join(STUDIES))
    _studying(study)
    _curving(study)

    curve = _command(commands, "curve", _study, "the panel curve: keep all, or the top k?")
    curve.set_defaults(name=PANEL_CURVE.name)
    _studying(curve)
    _curving(curve)

    recommend = _command(commands, "recommend", _recommend, "choose and export a panel")
    _studying(recommend)

    scoring = _command(commands, "score", _score, "probabilities of new votes")
    scoring.add_argument("panel", type=Path, metavar="panel.json")
    _reading(scoring)
    scoring.add_argument("--out", type=Path, required=True, metavar="FILE")

    simulating = _command(commands, "simulate", _simulate, "write a simulated panel")
    simulating.add_argument("--out", type=Path, required=True, metavar="FILE")
    simulating.add_argument("--sample", choices=[sample.name for sample in SAMPLES])
    _simulation_knobs(simulating)
    return parser


def _command(commands: Any, name: str, run_it: Any, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(command=run_it)
    return parser


def _reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("votes", type=Path, metavar="VOTES", help="CSV, .csv.gz, Parquet or JSONL")
    parser.add_argument("--task", choices=TASKS, default="pairwise")
    parser.add_argument("--id-column", metavar="NAME")
    parser.add_argument("--label-column", metavar="NAME")
    parser.add_argument("--group-column", metavar="NAME")
    parser.add_argument("--judge-table", type=Path, metavar="FILE", help="one row a judge")


def _studying(parser: argparse.ArgumentParser) -> None:
    _reading(parser)
    parser.add_argument("--orientation", choices=POLICIES, default="auto")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="honest")
    parser.add_argument("--judges", type=Path, metavar="FILE", help="judges to use, one a line")
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--fraction", type=float, default=0.5, help="share that calibrates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None, help="workers (default: all cores)")
    parser.add_argument("--out", type=Path, metavar="FILE", help=".csv: the table; .json: all")


def _curving(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--aggregator", choices=AGGREGATORS, default="one_coin")
    parser.add_argument("--calibrators", metavar="A,B", help=", ".join(CALIBRATORS))
    parser.add_argument("--ranking", choices=RANKINGS, default="accuracy")
    parser.add_argument("--k", metavar="3,5", help="panel sizes, or `every`")
    parser.add_argument("--top", default="3,5,10", metavar="3,5", help="sizes held against all")


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
    _warn(loaded.warnings)
    return loaded


def _settings(options: argparse.Namespace) -> Settings:
    judges = None
    if options.judges is not None:
        judges = tuple(line for line in _text(options.judges).splitlines() if line.strip())
    return Settings(
        orientation=options.orientation,
        protocol=options.protocol,
        judges=judges,
        splits=options.splits,
        fraction=options.fraction,
        seed=options.seed,
    )


def _numbers(text: str, option: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError(
            f"{option} takes whole numbers", value=text, allowed="for instance 3,5,10"
        ) from None


def _curve_spec(options: argparse.Namespace) -> PanelCurveSpec:
    default: tuple[str, ...] = ("none", "temperature", "beta")
    if options.protocol == "paper":
        default = ("none", "beta_clipped")
    names = default
    if options.calibrators:
        names = tuple(dict.fromkeys(part.strip() for part in options.calibrators.split(",")))
    ks = None
    if options.k is not None:
        ks = () if options.k == "every" else _numbers(options.k, "--k")
    return PanelCurveSpec(
        settings=_settings(options),
        aggregator=options.aggregator,
        calibrators=names,  # type: ignore[arg-type]
        ranking=options.ranking,
        ks=ks,
        compare=_numbers(options.top, "--top"),
    )


def _inspect(options: argparse.Namespace) -> None:
    loaded = _load(options)
    votes = loaded.votes
    oriented = orient(votes, options.orientation)
    print(votes_sentence(votes))
    check = check_orientation(votes)
    print(f"\n{check.title}: {check.outcome}. {check.why}\n{check.advice}")
    print(f"Items are used {oriented.policy}.")
    _warn(oriented.notices)
    cast = votes.votes[votes.labelled]
    right = (cast == votes.labels[votes.labelled, None]).sum(axis=0)
    known = (cast >= 0).sum(axis=0)
    table = pd.DataFrame(
        {
            "judge": [_printable(name) for name in votes.judges],
            "coverage": [f"{share:.1%}" for share in votes.coverage],
            "right": right,
            "of": known,
            "accuracy": [f"{a / b:.1%}" if b else "n/a" for a, b in zip(right, known, strict=True)],
        }
    ).sort_values("right", ascending=False, kind="stable")
    print(f"\nSHA-256 {votes.sha256}\n")
    print(table.to_string(index=False))


def _study(options: argparse.Namespace) -> None:
    study = study_named(options.name)
    _check_out(options.out)
    loaded = _load(options)
    if study is RECOMMEND:
        spec: Any = RecommendSpec(settings=_settings(options))
    else:
        spec = _curve_spec(options)
    result = _run(study, loaded, spec, options.jobs)
    _print_result(result)
    if options.out is not None:
        if options.out.suffix == ".csv":
            _write(options.out, csv_text(result.frame()))
        else:
            _write(options.out, result_json(result_content(study, loaded.votes, spec, result)))


def _recommend(options: argparse.Namespace) -> None:
    _check_out(options.out)
    loaded = _load(options)
    spec = RecommendSpec(settings=_settings(options))
    result = _run(RECOMMEND, loaded, spec, options.jobs)
    _print_result(result)
    if options.out is not None:
        checks = (check_orientation(loaded.votes),)
        _write(options.out, panel_json(export_panel(result, loaded.votes, spec, checks)))


def _score(options: argparse.Namespace) -> None:
    _check_out(options.out)
    panel = load_panel(_text(options.panel), name=options.panel.name)
    loaded = _load(options, need_labels=False)
    scored = score(panel, loaded.votes)
    _warn(scored.warnings)
    frame = scored.frame()
    _write(options.out, csv_text(frame))
    decided = int((frame["decision"] != "").sum())
    print(f"{len(frame):,} items scored, {decided:,} decided, written to {options.out.name}.")


def _simulate(options: argparse.Namespace) -> None:
    _check_out(options.out)
    knobs = {
        knob.name: getattr(options, knob.name)
        for knob in fields(SimulationSpec)
        if getattr(options, knob.name, None) is not None
    }
    if options.sample is not None and knobs:
        raise InputError(
            "a sample is fixed", value=", ".join(knobs), allowed="--sample alone, or knobs alone"
        )
    votes = sample_votes(options.sample) if options.sample else simulate(SimulationSpec(**knobs))
    write_panel(votes, options.out)
    print(votes_sentence(votes))


def _run(study: Study[Any, Any, Any], loaded: Loaded, spec: Any, jobs: int | None) -> Any:
    if jobs is not None and jobs < 1:
        raise InputError("--jobs must be at least 1", value=jobs)
    shown = sys.stderr.isatty()

    def report(progress: Progress[Any, Any, Any]) -> None:
        if shown:
            left = f"about {progress.remaining:.0f} s left"
            print(f"\r{progress.done}/{progress.total} parts, {left}  ", end="", file=sys.stderr)

    result = run(study, loaded.votes, spec, jobs=jobs or default_jobs(), on_progress=report)
    if shown:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    _warn(result.warnings)
    return result


def _print_result(result: PanelCurve | Recommendation) -> None:
    if isinstance(result, Recommendation):
        print(recommendation_sentence(result))
        print(certainty_sentence(result) + "\n")
        print(candidate_table(result).to_string(index=False))
        return
    print(
        f"{result.n_splits} splits, {result.n_calibration:.0f} labels calibrate and "
        f"{result.n_evaluation:.0f} evaluate, orientation {result.orientation}, protocol "
        f"{result.protocol}, seed {result.seed}; null NLL {result.null_nll:.4f}."
    )
    for calibrator in result.calibrators:
        constant = float(result.constant_nll[result.row(calibrator)])
        print(f"\n{calibrator}: {curve_sentence(result, calibrator)}")
        if abs(constant - result.null_nll) > 0.001:
            print(f"A constant score through the same calibrator gives NLL {constant:.4f}.")
        print(comparison_table(result, calibrator).to_string(index=False))
        optimism = optimism_sentence(result, calibrator)
        if optimism:
            print(optimism)


def _warn(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        print(f"note: {_printable(sentence)}", file=sys.stderr)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path.name) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=path.name) from None


def _check_out(path: Path | None) -> None:
    if path is not None and not path.resolve().parent.is_dir():
        raise InputError("the folder to write to does not exist", file=str(path))


def _write(path: Path, text: str) -> None:
    """Write whole or not at all."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=path.resolve().parent, delete=False
        ) as stream:
            stream.write(text)
        os.chmod(stream.name, 0o644)
        os.replace(stream.name, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None


if __name__ == "__main__":
    raise SystemExit(main())
