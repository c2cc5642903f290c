"""`import`: what a benchmark has published as outputs of judges, ready to be read as votes."""

from __future__ import annotations

import argparse
import json

from judgepanel.collect.imports import KINDS
from judgepanel.report.numbers import counted
from judgepanel.report.output import write_whole
from judgepanel.report.outputs import coverage_sentence
from judgepanel.report.sentences import votes_sentence
from judgepanel.report.terminal import printable
from judgepanel.votes import InputError, load_votes


def run_import(options: argparse.Namespace) -> None:
    """Run the command: read, write, and say what was read and what was not."""
    found = KINDS[options.kind](options.path)
    lines = [json.dumps(row, ensure_ascii=False) for row in found.rows]
    if not lines:
        raise InputError("holds no outputs", file=options.path.name)
    write_whole(options.out, ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
    print(printable(f"{counted(len(lines), 'output')} written to {options.out.name}."))
    for reason, count in found.left_out.most_common():
        print(f"Left out, {reason}: {count:,}.")
    loaded = load_votes(options.out, need_labels=False)
    options.notes += loaded.warnings
    print(votes_sentence(loaded.votes))
    if loaded.coverage is not None:
        print(printable(coverage_sentence(loaded.coverage)))
