"""Helpers of commands that read votes: their options, loading, and checks of output paths."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from judgepanel.votes import TASKS, InputError, Loaded, load_votes
from judgepanel.votes.cells import split_names
from judgepanel.votes.choices import OPTIONS, SEVERAL, Option, Thresholds, roles_text, with_roles
from judgepanel.words.outputs import check_output, write_whole


def reading_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the file of votes and the roles of its columns."""
    about = "CSV, .csv.gz, Excel, Parquet, Arrow, JSON or JSONL; or a dataset on disk"
    parser.add_argument("votes", type=Path, metavar="VOTES", help=about)
    for option in OPTIONS:
        parser.add_argument(option.flag, dest=option.choice, help=option.help, **_kind(option))
    about = "the labels, one row per item with its id"
    parser.add_argument("--labels", type=Path, metavar="FILE", action=_Once, help=about)
    about = "what the columns are, in TOML; options given beside it take precedence"
    parser.add_argument("--roles", type=Path, metavar="FILE", help=about)
    parser.add_argument("--judge-table", type=Path, metavar="FILE", help="one row per judge")
    about = "refuse a file of which anything is guessed"
    parser.add_argument("--strict", action="store_true", help=about)
    about = "write how the file was read, for --roles with the next one"
    parser.add_argument("--write-roles", type=Path, metavar="FILE", help=about)


class _Once(argparse.Action):
    """Keeps the value of an option, and refuses a second one instead of dropping the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store the value."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice: put the rows of both files into one")
        setattr(namespace, self.dest, values)


def _kind(option: Option) -> dict[str, Any]:
    """Return how the values of an option are parsed."""
    if option.choice == "task":
        return {"choices": TASKS}
    if option.metavar is None:
        return {"action": "store_true"}
    named: dict[str, Any] = {"metavar": option.metavar}
    if option.choice == "judge_columns":
        return {**named, "action": "extend", "type": _names, "default": []}
    if option.choice == "thresholds":
        return {**named, "action": "append", "type": _threshold, "default": []}
    if option.choice == "label_threshold":
        return {**named, "type": float}
    return {**named, "action": "append", "default": []} if option.choice in SEVERAL else named


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
        allowed = "one number for all judges, and JUDGE=NUMBER for each that differs"
        raise InputError("--threshold is given twice for the same judges", allowed)
    return Thresholds(defaults[0] if defaults else None, by_judge) if pairs else None


def grouping_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that keeps copies of items together."""
    about = "keep items that repeat each other in one group"
    parser.add_argument("--group-duplicates", action="store_true", help=about)


def load(
    options: argparse.Namespace, *, need_labels: bool = True, known: dict[str, float] | None = None
) -> Loaded:
    """Return the votes selected by the options; warnings become notes.

    ``known`` are judges of the panel that is to score the votes (:class:`Choices`).
    """
    loaded = _loaded(options, need_labels=need_labels, known=known or {})
    options.notes += loaded.warnings
    guesses = loaded.reading.guesses
    if options.strict and guesses:
        more = f" And {len(guesses) - 3} more." if len(guesses) > 3 else ""
        several = "guesses are" if len(guesses) > 1 else "guess is"
        shown = " ".join(guesses[:3]) + more
        problem = f"{len(guesses)} {several} not allowed with --strict: {shown.rstrip('.')}"
        keep = "keep the guesses with --write-roles FILE and read the file with --roles FILE"
        raise InputError(problem, remedy=f"give each with an option, or {keep}", file=loaded.file)
    if options.write_roles is not None:
        write_whole(options.write_roles, roles_text(loaded).encode())
    return loaded


def texts_of(options: argparse.Namespace, ids: Sequence[str]) -> pd.DataFrame | None:
    """Return the texts of items, taken from the file again."""
    return _loaded(options, need_labels=False, texts_of=ids).texts


def _loaded(options: argparse.Namespace, **more: Any) -> Loaded:
    given = {option.choice: getattr(options, option.choice) for option in OPTIONS}
    given["thresholds"] = _thresholds(options.thresholds)
    given = with_roles(options.roles, given)
    return load_votes(
        options.votes, **given, labels=options.labels, judge_table=options.judge_table, **more
    )


def check_out(options: argparse.Namespace, *kinds: str, option: str = "out") -> None:
    """Refuse an invalid output path before anything is computed."""
    path = getattr(options, option)
    if path is not None:
        read = ("votes", "labels", "roles", "judge_table", "judges", "panel")
        inputs = [getattr(options, name, None) for name in read]
        check_output(path, inputs=[path for path in inputs if path], kinds=kinds)
