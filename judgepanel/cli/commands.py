"""What each command does with its options: read, run, write, and print."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from judgepanel.api.panels import DOCUMENTS, RecommendedPanel, load_panel, text_of
from judgepanel.api.reports import report_studies, write_report
from judgepanel.api.running import StudyRun, check_jobs, run_study, study_spec
from judgepanel.api.studies import TABLES, StudyResult
from judgepanel.api.votes import Votes
from judgepanel.api.votes import inspect as inspect_votes
from judgepanel.render.terminal import terminal_text
from judgepanel.studies.settings import Settings
from judgepanel.votes import InputError, load_votes
from judgepanel.votes.samples import sample_votes, write_panel
from judgepanel.votes.simulate import simulate as simulated
from judgepanel.votes.simulation_spec import SimulationSpec
from judgepanel.votes.table import check_size
from judgepanel.words.output import check_output, write_whole
from judgepanel.words.outputs import coverage_sentence, coverage_text
from judgepanel.words.scored import scored_text
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.tables import csv_text
from judgepanel.words.terminal import printable


def inspect(options: argparse.Namespace) -> None:
    """What a file holds, and its checks."""
    try:
        votes, lacking = _load(options), None
    except InputError as error:
        votes, lacking = _load(options, need_labels=False), error
        if votes.coverage is None:
            raise error from None
    if lacking is None:
        inspection = inspect_votes(
            votes, orientation=options.orientation, group_duplicates=options.group_duplicates
        )
        options.notes += inspection.oriented.notices
        print(inspection)
    else:
        options.notes.append(f"To study these votes more is needed: {lacking}")
        print(votes_sentence(votes.matrix, group_duplicates=options.group_duplicates))
        if votes.coverage is not None:
            print(printable(coverage_sentence(votes.coverage)))
    if votes.coverage is not None:
        print(printable("\n" + coverage_text(votes.coverage)))


def study(options: argparse.Namespace) -> None:
    """Run one study."""
    _check_out(options, *TABLES)
    _check_out(options, ".csv", option="dictionary")
    spec = spec_of(options)
    result = StudyResult(*_run(options, spec))
    if options.out is not None:
        write_whole(options.out, result.text(options.out).encode())
    if options.dictionary is not None:
        write_whole(options.dictionary, csv_text(result.columns()).encode())
    print(terminal_text(result.blocks()))


def recommend(options: argparse.Namespace) -> None:
    """Choose a panel; write it and its report."""
    _check_out(options, ".json")
    _check_out(options, *DOCUMENTS, option="report")
    spec = spec_of(options)
    recommended = RecommendedPanel(*_run(options, spec))
    if options.out is not None:
        recommended.save(options.out)
    if options.report is not None:
        recommended.report(options.report)
    print(terminal_text(recommended.blocks()))


def report(options: argparse.Namespace) -> None:
    """Compute studies, and write what they say to one file."""
    _check_out(options, *DOCUMENTS)
    settings = _settings(options)
    names = report_studies(options.studies)
    votes = _load(options)
    options.notes += write_report(
        votes,
        options.out,
        None if options.studies is None else names,
        settings,
        options.jobs,
        keep_interrupted=False,
    )
    print(printable(f"Written: {options.out.name}."))


def score(options: argparse.Namespace) -> None:
    """Probabilities of new votes."""
    _check_out(options, ".csv")
    panel = load_panel(options.panel)
    scored = panel.scored(_load(options, need_labels=False).matrix)
    options.notes += scored.warnings
    write_whole(options.out, csv_text(scored.frame()).encode())
    print(scored_text(scored, printable(options.out.name)))


def simulate(options: argparse.Namespace) -> None:
    """Write a simulated panel."""
    _check_out(options)
    spec_options = {
        option.name: getattr(options, option.name)
        for option in fields(SimulationSpec)
        if getattr(options, option.name, None) is not None
    }
    if options.sample is not None and spec_options:
        raise InputError(
            "a sample is fixed",
            value=", ".join(spec_options),
            allowed="--sample alone, or options alone",
        )
    spec = None if options.sample else SimulationSpec(**spec_options)
    if spec is not None:
        check_size(spec.n_items, spec.n_judges)
    votes = sample_votes(options.sample) if spec is None else simulated(spec)
    folder = options.out.resolve().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".simulate-") as beside:
        write_panel(votes, Path(beside) / options.out.name)
        made = sorted(Path(beside).iterdir(), key=lambda path: path.name != options.out.name)
        for result in made:
            write_whole(folder / result.name, result.read_bytes())
    print(votes_sentence(votes))
    print(printable("Written: " + " and, beside it, ".join(output.name for output in made) + "."))


def collect(options: argparse.Namespace) -> int:
    """Ask judges, and make votes of what they wrote."""
    # Here, since no other command should wait for what asks servers.
    from judgepanel.cli.collecting import run_collect  # noqa: PLC0415

    return run_collect(options)


def import_outputs(options: argparse.Namespace) -> None:
    """Turn what another tool wrote into a file of outputs."""
    # Here, as `collect`.
    from judgepanel.cli.importing import run_import  # noqa: PLC0415

    _check_out(options, ".jsonl")
    run_import(options)


def health(options: argparse.Namespace) -> int:
    """Does the dashboard answer, and its database?"""
    # Here, since no other command should wait for what reads a database.
    from judgepanel.cli.health import database_state, server_state  # noqa: PLC0415

    states = [] if options.url is None else [server_state(options.url)]
    states.append(database_state())
    for _, sentence in states:
        print(sentence)
    return 0 if all(good for good, _ in states) else 1


def backup(options: argparse.Namespace) -> None:
    """Copy the dashboard's SQLite database."""
    # Here, as `health`.
    from judgepanel.cli.backups import run_backup  # noqa: PLC0415

    run_backup(options)


def restore(options: argparse.Namespace) -> None:
    """Bring a backup of the dashboard's SQLite database back."""
    # Here, as `health`.
    from judgepanel.cli.backups import run_restore  # noqa: PLC0415

    run_restore(options)


def spec_of(options: argparse.Namespace) -> Any:
    """The spec of a study from its options."""
    given = {
        name.removeprefix("option_"): text
        for name, text in vars(options).items()
        if name.startswith("option_") and text is not None
    }
    return study_spec(options.study, _settings(options), given)


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        orientation=options.orientation,
        protocol=options.protocol,
        judges=_judges(options),
        splits=options.splits,
        fraction=options.fraction,
        seed=options.seed,
        group_duplicates=options.group_duplicates,
    )


def _judges(options: argparse.Namespace) -> tuple[str, ...] | None:
    """Judges of the file, then those named one by one; None where neither is given."""
    if options.judges is None and options.judge is None:
        return None
    names = list(options.judge or ())
    if options.judges is not None:
        lines = text_of(options.judges).split("\n")
        names = [line.strip() for line in lines if line.strip()] + names
        if not names:
            raise InputError("names no judge", file=options.judges.name, allowed="one judge a line")
    return tuple(names)


def _run(options: argparse.Namespace, spec: Any) -> tuple[Any, Any, Votes, StudyRun]:
    check_jobs(options.jobs)
    votes = _load(options)
    run = run_study(options.study, votes.matrix, spec, jobs=options.jobs)
    options.notes += run.notes
    return options.study, spec, votes, run


def _load(options: argparse.Namespace, *, need_labels: bool = True) -> Votes:
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
    return Votes.of(loaded)


def _check_out(options: argparse.Namespace, *kinds: str, option: str = "out") -> None:
    path = getattr(options, option)
    if path is not None:
        read = ("votes", "judge_table", "judges", "panel")
        inputs = [getattr(options, name, None) for name in read]
        check_output(path, inputs=[path for path in inputs if path], kinds=kinds)
