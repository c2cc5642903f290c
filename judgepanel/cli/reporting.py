"""`report`: compute studies, and write one report."""

from __future__ import annotations

import argparse
from pathlib import Path

from judgepanel.api.panels import DOCUMENTS
from judgepanel.api.reports import report_studies, write_report
from judgepanel.api.votes import Votes
from judgepanel.cli.reading import check_out, load
from judgepanel.cli.studying import one_line, settings_of, settings_options, workers_of
from judgepanel.words.text import printable


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of `report`."""
    settings_options(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".html: figures too; .md: its words"
    )
    parser.add_argument("--studies", metavar="X,Y", help="studies by name (default: all)")
    parser.set_defaults(command=run_report)


def run_report(options: argparse.Namespace) -> None:
    """Compute studies, and write their report to one file."""
    check_out(options, *DOCUMENTS)
    settings = settings_of(options)
    names, workers = report_studies(options.studies), workers_of(options)
    votes = Votes.of(load(options))
    with one_line():
        options.notes += write_report(
            votes,
            options.out,
            None if options.studies is None else names,
            settings,
            workers,
            keep_interrupted=False,
        )
    print(printable(f"Written: {options.out.name}."))
