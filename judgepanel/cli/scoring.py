"""`score`: probabilities of new votes from an exported panel."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from judgepanel.cli.reading import check_out, load, reading_options
from judgepanel.decision.panel_file import load_panel
from judgepanel.decision.score import score
from judgepanel.votes.formats import text_of
from judgepanel.words import outputs, tables, text


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of the command."""
    parser.add_argument("panel", type=Path, metavar="panel.json")
    reading_options(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    about = "exit 1 if the votes are shown to be unlike those the panel was fitted on"
    parser.add_argument("--fail-on-drift", action="store_true", help=about)
    parser.set_defaults(command=run_score)


def run_score(options: argparse.Namespace) -> int:
    """Read panel and votes, score, write and print; exit status 1 if drift is to fail."""
    check_out(options, ".csv")
    panel = load_panel(text_of(options.panel), name=options.panel.name)
    scores = score(panel, load(options, need_labels=False, known=panel.known).votes)
    options.notes += scores.warnings
    outputs.write_whole(options.out, tables.csv_text(scores.frame()).encode())
    print(outputs.scored_text(scores, text.printable(options.out.name)))
    n_changes = len(scores.drift.significant) if options.fail_on_drift else 0
    if n_changes:
        print(
            "failed: these votes are not like those the panel was fitted on, by "
            f"{text.counted(n_changes, 'comparison')} of {len(scores.drift.changes)}.",
            file=sys.stderr,
        )
    return int(n_changes > 0)
