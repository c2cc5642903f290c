"""`import`: converts output of benchmarks and evaluation tools to votes."""

from __future__ import annotations

import argparse
from pathlib import Path

from judgepanel.cli.reading import check_out
from judgepanel.votes import TASKS, InputError, load_votes
from judgepanel.votes.errors import in_terminal
from judgepanel.votes.imports import KINDS, read_kind, source_of
from judgepanel.votes.load import check_labels
from judgepanel.words.outputs import coverage_sentence, write_whole
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.text import counted, printable


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of the command."""
    parser.add_argument("kind", choices=tuple(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("path", type=Path, metavar="PATH", help="a folder, a .zip, or a file")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .jsonl file")
    parser.add_argument(
        "--task", choices=TASKS, help="what is read of a folder with pairs and single responses"
    )
    parser.add_argument(
        "--strict", action="store_true", help="stop at the first file that cannot be read"
    )
    parser.set_defaults(command=run_import)


def run_import(options: argparse.Namespace) -> None:
    """Run the command: read, write, and report what was read and what was not."""
    check_out(options, ".jsonl")
    source = source_of(options.path)
    outcome = read_kind(source, options.kind, options.task, strict=options.strict)
    lines = outcome.lines(options.path.name)
    write_whole(options.out, lines)
    rows = counted(lines.count(b"\n"), "row")
    print(printable(f"{rows} written to {options.out.name}."))
    for note in outcome.left_out.notes(most=None):
        print(printable(note))
    if outcome.task == "pointwise":
        print("Every item passes or does not: read the file with --task pointwise.")
    try:
        loaded = load_votes(options.out, task=outcome.task, need_labels=False)
    except InputError as error:
        options.notes.append(f"Studying these votes needs more: {error}")
        return
    try:
        check_labels(loaded.votes.labels, loaded.votes.task, loaded.roles.label_column)
    except InputError as error:
        options.notes.append(f"Studying these votes needs more: {error}")
    options.notes += loaded.warnings
    print(printable(in_terminal(loaded.reading.sentence)))
    print(votes_sentence(loaded.votes))
    if loaded.coverage is not None:
        print(printable(coverage_sentence(loaded.coverage)))
