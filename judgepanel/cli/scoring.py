"""`score`: probabilities of new votes from an exported panel."""

from __future__ import annotations

import argparse
from pathlib import Path

from judgepanel.cli.reading import check_out, load, reading_options
from judgepanel.decision.panel_file import load_panel
from judgepanel.decision.score import score
from judgepanel.votes.formats import text_of
from judgepanel.words.outputs import scored_text, write_whole
from judgepanel.words.tables import csv_text
from judgepanel.words.text import printable


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of the command."""
    parser.add_argument("panel", type=Path, metavar="panel.json")
    reading_options(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.set_defaults(command=run_score)


def run_score(options: argparse.Namespace) -> None:
    """Run the command: read panel and votes, score, write, and print."""
    check_out(options, ".csv")
    panel = load_panel(text_of(options.panel), name=options.panel.name)
    votes = load(options, need_labels=False, known=panel.known).votes
    scores = score(panel, votes)
    options.notes += scores.warnings
    write_whole(options.out, csv_text(scores.frame()).encode())
    print(scored_text(scores, printable(options.out.name)))
