"""`import`: what a benchmark or an evaluation tool wrote, ready to be read as votes."""

from __future__ import annotations

import argparse

from judgepanel.votes import InputError, load_votes
from judgepanel.votes.imports import read_kind, source_of
from judgepanel.words.numbers import counted
from judgepanel.words.output import write_whole
from judgepanel.words.outputs import coverage_sentence
from judgepanel.words.sentences import votes_sentence
from judgepanel.words.terminal import printable


def run_import(options: argparse.Namespace) -> None:
    """Run the command: read, write, and say what was read and what was not."""
    outcome = read_kind(source_of(options.path), options.kind, options.task)
    lines = outcome.lines(options.path.name)
    write_whole(options.out, lines)
    rows = counted(lines.count(b"\n"), "row")
    print(printable(f"{rows} written to {options.out.name}."))
    for note in outcome.notes(most=None):
        print(printable(note))
    if outcome.task == "pointwise":
        print("Every item passes or does not: read the file with --task pointwise.")
    try:
        load_votes(options.out, task=outcome.task)
    except InputError as error:
        options.notes.append(f"To study these votes more is needed: {error}")
    loaded = load_votes(options.out, task=outcome.task, need_labels=False)
    options.notes += loaded.warnings
    print(votes_sentence(loaded.votes))
    if loaded.coverage is not None:
        print(printable(coverage_sentence(loaded.coverage)))
