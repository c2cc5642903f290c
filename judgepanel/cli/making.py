"""`import` and `simulate`: write votes from what another tool wrote, or from a simulated panel."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import fields
from pathlib import Path

from judgepanel.cli.reading import check_out
from judgepanel.votes import TASKS, InputError, errors, load, load_votes, table
from judgepanel.votes.imports import KINDS, read_kind, source_of
from judgepanel.votes.simulate import SIMULATED, SimulationSpec, sample_votes, simulate, write_panel
from judgepanel.words import outputs, sentences, text


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options of one of the two commands."""
    if name == "import":
        parser.add_argument("kind", choices=tuple(KINDS), metavar="KIND", help=", ".join(KINDS))
        parser.add_argument("path", type=Path, metavar="PATH", help="a folder, a .zip, or a file")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .jsonl file")
        about = "what is read of a folder with pairs and single responses"
        parser.add_argument("--task", choices=TASKS, help=about)
        about = "stop at the first file that cannot be read"
        parser.add_argument("--strict", action="store_true", help=about)
        parser.set_defaults(command=run_import)
        return
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--sample", choices=[sample.name for sample in SIMULATED])
    defaults = SimulationSpec()
    for option in fields(SimulationSpec):
        value = getattr(defaults, option.name)
        if type(value) in (int, float, str):
            flag = "--" + option.name.replace("_", "-")
            parser.add_argument(flag, type=type(value), default=None, metavar="X")
    parser.set_defaults(command=run_simulate)


def run_import(options: argparse.Namespace) -> None:
    """Run the command: read, write, and report what was read and what was not."""
    check_out(options, ".jsonl")
    outcome = read_kind(source_of(options.path), options.kind, options.task, strict=options.strict)
    lines = outcome.lines(options.path.name)
    outputs.write_whole(options.out, lines)
    rows = text.counted(lines.count(b"\n"), "row")
    print(text.printable(f"{rows} written to {options.out.name}."))
    for note in outcome.left_out.notes(most=None):
        print(text.printable(note))
    if outcome.task == "pointwise":
        print("Every item passes or does not: read the file with --task pointwise.")
    try:
        loaded = load_votes(options.out, task=outcome.task, need_labels=False)
    except InputError as error:
        options.notes.append(f"Studying these votes needs more: {error}")
        return
    try:
        load.check_labels(loaded.votes.labels, loaded.votes.task, loaded.roles.label_column)
    except InputError as error:
        options.notes.append(f"Studying these votes needs more: {error}")
    options.notes += loaded.warnings
    print(text.printable(errors.in_terminal(loaded.reading.sentence)))
    print(sentences.votes_sentence(loaded.votes))
    if loaded.coverage is not None:
        print(text.printable(outputs.coverage_sentence(loaded.coverage)))


def run_simulate(options: argparse.Namespace) -> None:
    """Run the command: simulate, write complete files, and print."""
    check_out(options)
    given = {option.name: getattr(options, option.name, None) for option in fields(SimulationSpec)}
    spec_options = {name: value for name, value in given.items() if value is not None}
    if options.sample is not None and spec_options:
        names, allowed = ", ".join(spec_options), "--sample alone, or options alone"
        raise InputError("a sample is fixed", value=names, allowed=allowed)
    spec = None if options.sample else SimulationSpec(**spec_options)
    if spec is not None:
        table.check_size(spec.n_items, spec.n_judges)
    votes = sample_votes(options.sample) if spec is None else simulate(spec)
    target = options.out.resolve()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".simulate-") as beside:
        write_panel(votes, Path(beside) / target.name)
        files = sorted(Path(beside).iterdir(), key=lambda path: path.name != target.name)
        for file in files:
            outputs.write_whole(target.parent / file.name, file.read_bytes())
    print(sentences.votes_sentence(votes))
    print(text.printable("Written: " + " and, beside it, ".join(file.name for file in files) + "."))
