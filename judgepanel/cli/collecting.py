"""`collect`: query judges, store every output, and convert the outputs to votes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from judgepanel import collect
from judgepanel.api.studies import ProgressLine
from judgepanel.cli.options import refuse
from judgepanel.votes import InputError, VoteMatrix, write_votes
from judgepanel.votes.errors import quote_value
from judgepanel.words.outputs import coverage_sentence, write_whole
from judgepanel.words.tables import csv_text
from judgepanel.words.text import printable

VOTES, JUDGES = "votes.csv", "judges.csv"


def add_options(parser: argparse.ArgumentParser, _name: str) -> None:
    """Add the options of the command."""
    parser.add_argument("pairs", type=Path, metavar="PAIRS", help="JSONL, CSV or Parquet")
    parser.add_argument("asked", type=Path, metavar="JUDGES", help="who, a .toml file")
    about = "for the outputs and the votes"
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help=about)
    parser.add_argument("--max-cost", type=float, metavar="USD", help="never spend more")
    parser.add_argument("--estimate", action="store_true", help="the cost, without any call")
    parser.set_defaults(command=run_collect)


def run_collect(options: argparse.Namespace) -> int:
    """Run the command; return 0 if all calls are finished, else 1."""
    cap = options.max_cost
    if cap is not None and not cap > 0:
        raise InputError("--max-cost must be positive", value=cap, allowed="dollars")
    pairs, plan = collect.read_pairs(options.pairs), collect.read_judges(options.asked)
    if options.out.exists() and not options.out.is_dir():
        raise InputError("this is a file, not a folder", file=options.out.name)
    if options.estimate and not options.out.exists():
        print(printable(_estimate_text(collect.estimate(pairs, plan, {}), 0.0)), file=sys.stderr)
        return 0
    with collect.Journal(options.out) as journal:
        completed, spent = collect.finished(journal, plan, pairs)
        rows = collect.estimate(pairs, plan, {name: len(own) for name, own in completed.items()})
        print(printable(_estimate_text(rows, spent)), file=sys.stderr)
        if options.estimate:
            return 0
        try:
            outcome = _asked(pairs, plan, journal, cap)
        except KeyboardInterrupt:
            refuse("interrupted; finished calls are kept, run the same command again for the rest.")
            return 130
        write_whole(options.out / JUDGES, csv_text(collect.judge_rows(journal, plan)).encode())
        lines = [
            f"{outcome.made:,} calls made, {outcome.finished:,} of {outcome.planned:,} finished, "
            f"{collect.dollars(outcome.dollars)} in all.",
            *outcome.troubles,
        ]
        if not outcome.complete:
            lines.append("Run the same command again for the rest.")
        print(printable("\n".join(lines)))
        if outcome.finished:
            loaded = collect.votes_of(journal, pairs)
            _write_votes(loaded.votes, options.out)
            options.notes += loaded.warnings
            if loaded.coverage is not None:
                print(printable(coverage_sentence(loaded.coverage)))
            written = f"{journal.path.name}, {VOTES}, {JUDGES}"
            print(printable(f"Written to {quote_value(str(options.out))}: {written}."))
    return 0 if outcome.complete else 1


def _asked(
    pairs: collect.Pairs, plan: collect.Plan, journal: collect.Journal, cap: float | None
) -> collect.Outcome:
    with ProgressLine() as line:

        def report(completed: int, planned: int, dollars_spent: float) -> None:
            line.show(f"{completed:,}/{planned:,} calls, {collect.dollars(dollars_spent)}")

        return collect.collect(pairs, plan, journal, max_cost=cap, on_progress=report)


def _write_votes(votes: VoteMatrix, folder: Path) -> None:
    """Write the votes atomically: a full disk leaves the previous file."""
    beside = folder / f".new.{VOTES}"
    try:
        write_votes(votes, beside)
        os.replace(beside, folder / VOTES)
    finally:
        beside.unlink(missing_ok=True)


def _estimate_text(rows: tuple[collect.Estimate, ...], spent: float) -> str:
    lines = [
        f"{row.judge}: {row.calls:,} calls, about {row.tokens_in:,.0f} tokens in, about "
        f"{collect.dollars(row.dollars)} if answers are as long as allowed, about "
        f"{_time(row.seconds)}"
        for row in rows
    ]
    calls, most = sum(row.calls for row in rows), sum(row.dollars for row in rows)
    longest = max(row.seconds for row in rows)
    before = f"; {collect.dollars(spent)} were spent before" if spent else ""
    total = (
        f"In all {calls:,} calls, about {collect.dollars(most)}, about {_time(longest)} if a call "
        f"takes {collect.SECONDS_A_CALL:.0f} s{before}."
    )
    return "\n".join([*lines, total])


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
