"""`study`, `curve`, `recommend`, `estimate` and `report`: the commands that compute studies."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from judgepanel.api import panels, studies
from judgepanel.api.votes import Votes
from judgepanel.cli.options import refuse
from judgepanel.cli.reading import check_out, grouping_option, load, reading_options, texts_of
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.present.decide.estimate import failures
from judgepanel.present.registry import STUDIES, study_named
from judgepanel.render.text import terminal_text
from judgepanel.studies.contract import AUTO_SPLITS, AnyStudy, Settings, WorkersEnded
from judgepanel.studies.decide import estimate, panel_curve
from judgepanel.studies.options import similar_option, spec_options_of, unknown_option
from judgepanel.studies.runner import AUTO, BACKENDS, DASK, SCHEDULER, backend_of
from judgepanel.votes import InputError, errors, formats, matrix, texts
from judgepanel.words import outputs, tables
from judgepanel.words.text import counted, printable

__all__ = ["add_options", "similar_option", "spec_of", "study_named", "unknown_option"]

_STUDY_OUT = ".csv: the table; .json: all"
_METAVARS = {False: "X", True: "X,Y"}


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options of a command."""
    if name == "report":
        settings_options(parser)
        about = ".html: figures too; .md: its words"
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=about)
        parser.add_argument("--studies", metavar="X,Y", help="studies by name (default: all)")
        parser.set_defaults(command=run_report)
    elif name == "study":
        _add_study(parser)
    elif name == "estimate":
        _add_estimate(parser)
    elif name == "curve":
        parser.set_defaults(command=run_study_command)
        _studying_one(_dictionary(parser), panel_curve.PANEL_CURVE)
    else:
        _studying_one(parser, RECOMMEND, "the panel, a .json file for `score`")
        about = ".html: a report with figures; .md: its words"
        parser.add_argument("--report", type=Path, metavar="FILE", help=about)
        parser.set_defaults(command=run_recommend, taken="recommend")


def _add_study(parser: argparse.ArgumentParser) -> None:
    """Add the study that is asked for, so that no other is imported; all of them for a list."""
    named = parser.add_subparsers(required=True, metavar="NAME")
    asked = [name for name in getattr(parser, "words", ())[:1] if name in STUDIES]
    for study in map(STUDIES.__getitem__, asked or STUDIES):
        about = study.question
        command = named.add_parser(study.name, help=about, description=about, allow_abbrev=False)
        command.set_defaults(command=run_study_command)
        _studying_one(_dictionary(command), study)


def _add_estimate(parser: argparse.ArgumentParser) -> None:
    _studying_one(_dictionary(parser), estimate.ESTIMATE)
    about = "exit 1 if the rate is shown to be below"
    parser.add_argument("--fail-under", type=float, metavar="RATE", help=about)
    about = "exit 1 unless the group NEW is shown to be better than OLD"
    parser.add_argument("--fail-unless-better", nargs=2, metavar=("OLD", "NEW"), help=about)
    about = "how many items to draw for labelling next"
    parser.add_argument("--draw", type=int, metavar="N", help=about)
    about = ".csv: their ids, texts and features, for labels that --labels reads"
    parser.add_argument("--draw-to", type=Path, metavar="FILE", help=about)
    parser.set_defaults(command=run_estimate)


def settings_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all studies share."""
    reading_options(parser)
    parser.add_argument("--orientation", choices=matrix.POLICIES, default="auto")
    grouping_option(parser)
    parser.add_argument("--protocol", choices=matrix.PROTOCOLS, default="honest")
    parser.add_argument("--judges", type=Path, metavar="FILE", help="judges to use, one per line")
    about = "a judge to use; can be given repeatedly"
    parser.add_argument("--judge", action="append", metavar="NAME", help=about)
    about = "random splits of the items, or `auto` (default): as many as the verdict needs"
    most = Settings().splits
    parser.add_argument("--splits", type=_splits, default=most, metavar="N", help=about)
    parser.add_argument("--fraction", type=float, default=0.5, help="share that calibrates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None, help="workers (default: all cores)")
    about = "what computes (default: auto, on this machine)"
    parser.add_argument("--backend", choices=(*BACKENDS, DASK), help=about)
    about = "the Dask scheduler whose workers compute"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=about)


def _splits(text: str) -> int | None:
    """Read a number of splits, or ``auto`` as None."""
    try:
        return None if text == AUTO_SPLITS else int(text)
    except ValueError:
        problem = f"invalid number of splits: {text!r}, allowed: a whole number, or {AUTO_SPLITS}"
        raise argparse.ArgumentTypeError(problem) from None


def _dictionary(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    about = ".csv: what each column of the table holds"
    parser.add_argument("--dictionary", type=Path, metavar="FILE", help=about)
    return parser


def _studying_one(parser: argparse.ArgumentParser, study: AnyStudy, out: str = _STUDY_OUT) -> None:
    """Add the options of a study: the shared ones, and those of its spec."""
    settings_options(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help=out)
    parser.set_defaults(study=study, taken=f"the study {study.name}")
    for option in spec_options_of(study.spec):
        known = f" [{', '.join(option.choices)}]" if option.choices else ""
        default = f" (default: {option.default_text()})" if option.default_text() else ""
        text = f"{option.help}{known}{default}".strip().replace("%", "%%")
        field, metavar = f"option_{option.field}", _METAVARS[option.several]
        parser.add_argument(option.flag, dest=field, metavar=metavar, help=text)


def run_study_command(options: argparse.Namespace) -> None:
    """Run one study."""
    _run_and_print(options)


def run_estimate(options: argparse.Namespace) -> int:
    """Estimate rates; exit status 1 if they fail a condition."""
    check_out(options, ".csv", option="draw_to")
    if (options.draw is None) != (options.draw_to is None):
        problem = "items to label need their number and a file"
        raise InputError(problem, "--draw N --draw-to FILE.csv")
    if options.draw_to is not None and options.draw_to.exists():
        why = "this file already exists, and labels may have been filled in"
        remedy = "give --draw-to another name, or delete it"
        raise InputError(why, remedy=remedy, file=options.draw_to.name)
    result = _run_and_print(options)
    if options.draw is not None:
        drawn = studies.items_to_label(result, options.draw, options.seed)
        drawn = estimate.with_texts(drawn, texts_of(options, drawn[texts.ID].tolist()))
        outputs.write_whole(options.draw_to, tables.csv_text(drawn).encode())
        drawn_items = f"{counted(len(drawn), 'item')} to label written to {options.draw_to.name}"
        print(printable(f"{drawn_items}: fill in its column 'label', and give it with --labels."))
    pair = options.fail_unless_better
    reasons = failures(result.result, options.fail_under, None if pair is None else tuple(pair))
    for sentence in reasons:
        print(f"failed: {printable(errors.in_terminal(sentence))}", file=sys.stderr)
    return 1 if reasons else 0


def _run_and_print(options: argparse.Namespace) -> studies.StudyResult:
    check_out(options, *studies.TABLES)
    check_out(options, ".csv", option="dictionary")
    result = studies.StudyResult(*_run(options, spec_of(options)))
    if options.out is not None:
        outputs.write_whole(options.out, result.text(options.out).encode())
    if options.dictionary is not None:
        outputs.write_whole(options.dictionary, tables.csv_text(result.columns()).encode())
    print(terminal_text(result.blocks()))
    return result


def run_recommend(options: argparse.Namespace) -> None:
    """Choose a panel; write it and its report."""
    check_out(options, ".json")
    check_out(options, *panels.DOCUMENTS, option="report")
    recommended = panels.RecommendedPanel(*_run(options, spec_of(options)))
    if options.out is not None:
        recommended.save(options.out)
    if options.report is not None:
        recommended.report(options.report)
    print(terminal_text(recommended.blocks()))


def run_report(options: argparse.Namespace) -> None:
    """Compute studies, and write their report to one file."""
    from judgepanel.api.reports import report_studies, write_report  # noqa: PLC0415

    check_out(options, *panels.DOCUMENTS)
    settings = settings_of(options)
    names, workers = report_studies(options.studies), workers_of(options)
    votes = Votes.of(load(options))
    with one_line():
        chosen = None if options.studies is None else names
        options.notes += write_report(
            votes, options.out, chosen, settings, workers, keep_interrupted=False
        )
    print(printable(f"Written: {options.out.name}."))


@contextmanager
def one_line() -> Iterator[None]:
    """Turn repeatedly dying workers into a one-line refusal."""
    try:
        yield
    except WorkersEnded as error:
        raise SystemExit(refuse(str(error))) from None


def spec_of(options: argparse.Namespace) -> Any:
    """Return the spec of a study from its options."""
    own = {name: text for name, text in vars(options).items() if name.startswith("option_")}
    given = {name.removeprefix("option_"): text for name, text in own.items() if text is not None}
    return studies.study_spec(options.study, settings_of(options), given)


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings that all studies share."""
    given = {setting.name: getattr(options, setting.name) for setting in fields(Settings)}
    return Settings(**given | {"judges": _judges(options)})


def _judges(options: argparse.Namespace) -> tuple[str, ...] | None:
    """Return judges from the file, then those named one by one; None if neither is given."""
    if options.judges is None and options.judge is None:
        return None
    names = list(options.judge or ())
    if options.judges is not None:
        lines = formats.text_of(options.judges).split("\n")
        names = [line.strip() for line in lines if line.strip()] + names
        if not names:
            raise InputError("names no judge", "one judge per line", file=options.judges.name)
    return tuple(names)


def workers_of(options: argparse.Namespace) -> studies.Workers:
    """Return the workers; a scheduler's address alone implies the backend dask."""
    backend, scheduler = options.backend, options.scheduler
    if backend in (None, DASK):
        scheduler = scheduler or (os.environ.get(SCHEDULER) if backend == DASK else None)
        backend = DASK if backend == DASK or scheduler else AUTO
    return studies.Workers(options.jobs, backend_of(backend, scheduler, BACKENDS))


def _run(options: argparse.Namespace, spec: Any) -> tuple[Any, Any, Votes, studies.StudyRun]:
    workers = workers_of(options)
    votes = Votes.of(load(options))
    with one_line():
        run = studies.run_study(options.study, votes.matrix, spec, workers=workers)
    options.notes += run.notes
    return options.study, spec, votes, run
