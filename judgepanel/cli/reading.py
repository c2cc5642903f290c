"""Helpers of commands that read votes: their options, loading, and checks of output paths."""

from __future__ import annotations

import argparse
from pathlib import Path

from judgepanel.votes import TASKS, InputError, Loaded, load_votes
from judgepanel.votes.grades import NOTHING_KNOWN, KnownThresholds, Thresholds
from judgepanel.votes.name_list import split_names
from judgepanel.votes.role_file import with_roles
from judgepanel.words.output import check_output


def reading_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the file of votes and the roles of its columns."""
    parser.add_argument(
        "votes",
        type=Path,
        metavar="VOTES",
        help="CSV, .csv.gz, Excel, Parquet, Arrow, JSON or JSONL; or a dataset on disk",
    )
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument(
        "--records",
        metavar="PATH",
        help="the keys that lead to the list of votes in a JSON document, such as results.items",
    )
    parser.add_argument("--id-column", metavar="NAME")
    parser.add_argument("--label-column", metavar="NAME")
    parser.add_argument(
        "--labels", type=Path, metavar="FILE", help="the labels, one row per item with its id"
    )
    parser.add_argument("--group-column", metavar="NAME")
    parser.add_argument(
        "--judge-columns",
        action="extend",
        type=_names,
        default=[],
        metavar="A,B",
        help="the columns of the judges; no other column is a judge",
    )
    parser.add_argument(
        "--feature-column",
        action="append",
        default=[],
        metavar="NAME",
        help="a column that describes the items; can be given repeatedly",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="NAME",
        help="a column to leave out; can be given repeatedly",
    )
    parser.add_argument(
        "--threshold",
        action="append",
        type=_threshold,
        default=[],
        metavar="[JUDGE=]NUMBER",
        help="where scores (higher means label 1) are cut into votes, for all judges with scores "
        "or for one; can be given repeatedly",
    )
    parser.add_argument(
        "--roles",
        type=Path,
        metavar="FILE",
        help="what the columns are, in TOML; options given beside it take precedence",
    )
    parser.add_argument("--judge-table", type=Path, metavar="FILE", help="one row per judge")


def _names(text: str) -> list[str]:
    """Return names separated by commas, as an argument's type."""
    try:
        return split_names(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _threshold(text: str) -> tuple[str | None, float]:
    """Parse a judge, None for all judges, and a number."""
    judge, _, number = text.rpartition("=")
    return judge or None, float(number)


def _thresholds(pairs: list[tuple[str | None, float]]) -> Thresholds | None:
    """Return thresholds for ``load_votes``; InputError if there are two for the same judges."""
    defaults = [cut for judge, cut in pairs if judge is None]
    by_judge = {judge: cut for judge, cut in pairs if judge is not None}
    if len(defaults) > 1 or len(defaults) + len(by_judge) < len(pairs):
        raise InputError(
            "--threshold is given twice for the same judges",
            allowed="one number for all judges, and JUDGE=NUMBER for each that differs",
        )
    return Thresholds(defaults[0] if defaults else None, by_judge) if pairs else None


def grouping_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that keeps copies of items together."""
    parser.add_argument(
        "--group-duplicates",
        action="store_true",
        help="keep items that repeat each other in one group",
    )


def load(
    options: argparse.Namespace,
    *,
    need_labels: bool = True,
    known_thresholds: KnownThresholds = NOTHING_KNOWN,
) -> Loaded:
    """Return the votes selected by the options; warnings become notes.

    ``known_thresholds`` are those of the panel that is to score the votes.
    """
    given = {
        "task": options.task,
        "records": options.records,
        "id_column": options.id_column,
        "label_column": options.label_column,
        "group_column": options.group_column,
        "judge_columns": options.judge_columns,
        "features": options.feature_column,
        "ignore": options.ignore,
        "thresholds": _thresholds(options.threshold),
    }
    loaded = load_votes(
        options.votes,
        **with_roles(options.roles, given),
        labels=options.labels,
        judge_table=options.judge_table,
        need_labels=need_labels,
        known_thresholds=known_thresholds,
    )
    options.notes += loaded.warnings
    return loaded


def check_out(options: argparse.Namespace, *kinds: str, option: str = "out") -> None:
    """Refuse an invalid output path before anything is computed."""
    path = getattr(options, option)
    if path is not None:
        read = ("votes", "labels", "roles", "judge_table", "judges", "panel")
        inputs = [getattr(options, name, None) for name in read]
        check_output(path, inputs=[path for path in inputs if path], kinds=kinds)
