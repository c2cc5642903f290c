"""What each command does with its options: read, run, write, and print."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from judgepanel.cli.terminal import ProgressLine
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.decision.score import score as score_votes
from judgepanel.present.recommendation_report import recommendation_report
from judgepanel.present.registry import ENTRIES
from judgepanel.present.study import study_blocks
from judgepanel.render.html import html_text
from judgepanel.render.markdown import markdown_text
from judgepanel.render.terminal import terminal_text
from judgepanel.report.commands import column_options, recommend_command
from judgepanel.report.output import check_output, write_whole
from judgepanel.report.outputs import coverage_sentence, coverage_text
from judgepanel.report.scored import scored_text
from judgepanel.report.sentences import votes_sentence
from judgepanel.report.tables import accuracy_table, csv_text
from judgepanel.report.terminal import printable
from judgepanel.studies.contract import Study
from judgepanel.studies.curve.panel_curve import PANEL_CURVE
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.studies.knobs import read_spec
from judgepanel.studies.result_file import result_content, result_json
from judgepanel.studies.runner import AUTO, Progress, default_jobs, run
from judgepanel.studies.settings import Settings
from judgepanel.studies.split_result import SplitResult
from judgepanel.votes import InputError, Loaded, VoteMatrix, load_votes
from judgepanel.votes.checks import item_checks
from judgepanel.votes.orientation import orient
from judgepanel.votes.samples import sample_votes, write_panel
from judgepanel.votes.simulate import simulate as simulated
from judgepanel.votes.simulation_spec import SimulationSpec
from judgepanel.votes.table import check_size


def inspect(options: argparse.Namespace) -> None:
    """What a file holds, and its checks."""
    try:
        loaded, lacking = _load(options), None
    except InputError as error:
        loaded, lacking = _load(options, need_labels=False), error
        if loaded.coverage is None:
            raise error from None
    if lacking is None:
        checked = _checked(loaded.votes, options)
    else:
        checked = ""
        options.notes.append(f"To study these votes more is needed: {lacking}")
    print(votes_sentence(loaded.votes, group_duplicates=options.group_duplicates))
    if loaded.coverage is not None:
        print(printable(coverage_sentence(loaded.coverage)))
    print(checked, end="")
    if loaded.coverage is not None:
        print(printable("\n" + coverage_text(loaded.coverage)))


def _checked(votes: VoteMatrix, options: argparse.Namespace) -> str:
    """P0 and the judges, of votes with labels."""
    oriented = orient(votes, options.orientation)
    options.notes += oriented.notices
    checks = item_checks(votes, group_duplicates=options.group_duplicates)
    lines = (
        *(
            printable(line)
            for check in checks
            for line in (f"\n{check.title}: {check.outcome}. {check.why}", check.advice)
        ),
        f"Items are used {oriented.policy}.",
        f"\nSHA-256 {votes.sha256}\n",
        accuracy_table(judge_table(votes)).to_string(index=False),
    )
    return "".join(f"{line}\n" for line in lines)


def study(options: argparse.Namespace) -> None:
    """Run one study."""
    study = options.study
    _check_out(options, ".csv", ".json")
    spec = spec_of(options)
    loaded = _load(options)
    result = _run(study, loaded, spec, options)
    if options.out is not None:
        if options.out.name.lower().endswith(".csv"):
            text = csv_text(result.frame())
        else:
            text = result_json(result_content(study, loaded.votes, spec, result))
        write_whole(options.out, text.encode())
    print(terminal_text(study_blocks(ENTRIES[study.name], result, spec)))


def recommend(options: argparse.Namespace) -> None:
    """Choose a panel; write it and its report."""
    _check_out(options, ".json")
    _check_out(options, ".html", ".md", option="report")
    spec = spec_of(options)
    loaded = _load(options)
    result = _run(RECOMMEND, loaded, spec, options)
    checks = item_checks(loaded.votes, group_duplicates=options.group_duplicates)
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
    print(terminal_text(study_blocks(ENTRIES[RECOMMEND.name], result, spec)))


def score(options: argparse.Namespace) -> None:
    """Probabilities of new votes."""
    _check_out(options, ".csv")
    panel = load_panel(_text(options.panel), name=options.panel.name)
    loaded = _load(options, need_labels=False)
    scored = score_votes(panel, loaded.votes)
    options.notes += scored.warnings
    write_whole(options.out, csv_text(scored.frame()).encode())
    print(scored_text(scored, printable(options.out.name)))


def simulate(options: argparse.Namespace) -> None:
    """Write a simulated panel."""
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
    votes = sample_votes(options.sample) if spec is None else simulated(spec)
    folder = options.out.resolve().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".simulate-") as beside:
        write_panel(votes, Path(beside) / options.out.name)
        made = sorted(Path(beside).iterdir(), key=lambda path: path.name != options.out.name)
        for one in made:
            write_whole(folder / one.name, one.read_bytes())
    print(votes_sentence(votes))
    print(printable("Written: " + " and, beside it, ".join(one.name for one in made) + "."))


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
        name.removeprefix("knob_"): text
        for name, text in vars(options).items()
        if name.startswith("knob_") and text is not None
    }
    if options.study is PANEL_CURVE and options.protocol == "paper":
        given.setdefault("calibrators", "none,beta_clipped")
    return read_spec(options.study, _settings(options), given)


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
        lines = _text(options.judges).split("\n")
        names = [line.strip() for line in lines if line.strip()] + names
        if not names:
            raise InputError("names no judge", file=options.judges.name, allowed="one judge a line")
    return tuple(names)


def _run(
    study: Study[Any, Any, Any], loaded: Loaded, spec: Any, options: argparse.Namespace
) -> Any:
    jobs = options.jobs
    if jobs is not None and jobs < 1:
        raise InputError("--jobs must be at least 1", value=jobs, allowed="1 or more")
    workers = min(jobs or default_jobs(), len(study.plan(spec)))
    with ProgressLine() as line:

        def report(progress: Progress[Any, Any, Any]) -> None:
            left = f"about {progress.remaining:.0f} s left"
            line.show(f"{progress.done}/{progress.total} parts, {left}")

        result = run(study, loaded.votes, spec, jobs=workers, backend=AUTO, on_progress=report)
    if isinstance(result, SplitResult) and result.planned_splits < spec.settings.splits:
        options.notes.append(
            f"This study uses {result.planned_splits} of the {spec.settings.splits} splits."
        )
    return result


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


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path.name) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=path.name) from None
