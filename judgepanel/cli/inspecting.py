"""`inspect`: prints the contents of a file, and its checks."""

from __future__ import annotations

import argparse

from judgepanel.api.votes import Votes, inspect
from judgepanel.cli.reading import grouping_option, load, reading_options
from judgepanel.votes import InputError, errors, matrix
from judgepanel.words import outputs, sentences, text


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of the command."""
    reading_options(parser)
    parser.add_argument("--orientation", choices=matrix.POLICIES, default="auto")
    grouping_option(parser)
    parser.set_defaults(command=run_inspect)


def run_inspect(options: argparse.Namespace) -> None:
    """Run the command: read, check, and print."""
    grouped = options.group_duplicates
    try:
        votes, lacking = Votes.of(load(options)), None
    except InputError as error:
        votes, lacking = Votes.of(load(options, need_labels=False)), error
        if votes.coverage is None:
            raise error from None
    if lacking is None:
        inspection = inspect(votes, orientation=options.orientation, group_duplicates=grouped)
        options.notes += inspection.oriented.notices
        print(inspection)
    else:
        options.notes.append(f"Studying these votes needs more: {lacking}")
        if votes.reading is not None:
            print(text.printable(errors.in_terminal(votes.reading.sentence)))
        print(sentences.votes_sentence(votes.matrix, group_duplicates=grouped))
        if votes.coverage is not None:
            print(text.printable(outputs.coverage_sentence(votes.coverage)))
    if votes.coverage is not None:
        print(text.printable("\n" + outputs.coverage_text(votes.coverage)))
