"""Coverage of judges' outputs, in words and tables.

Output files: written completely or not at all, and never over an input.

Scores of new votes in words: how many, and their NLL on the labels of the file.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from judgepanel.decision.score import Labelled, Scored
from judgepanel.studies.understand.judge_table import Positions
from judgepanel.votes import InputError
from judgepanel.votes.table import LEVELS, REASONS, Coverage, JudgeCoverage
from judgepanel.words.tables import Column, Form, levels, numbers, text
from judgepanel.words.text import counted, percent, plain, sig, with_interval

FORM_TITLES = {
    "bracket": "[[A]]",
    "field": "JSON field",
    "bold": "**A**",
    "stated": "'A is better'",
    "closing": "named at the end",
    "opening": "named on the first line",
    "letter": "bare last letter",
    "score": "higher score",
}
"""Names of the forms of a verdict."""


def coverage_sentence(coverage: Coverage) -> str:
    """Say how many outputs were readable, and the judge with the lowest share."""
    rates = sorted(coverage.judges, key=lambda judge: judge.rate)
    read = f"{percent(coverage.rate, 3)} of {counted(coverage.outputs, 'output')}"
    least: JudgeCoverage = rates[0]
    answer = f"{read} {'is' if coverage.outputs == 1 else 'are'} read as a verdict"
    if least.rate == 1 or len(rates) == 1:
        return f"{answer}."
    return f"{answer}; {plain(least.judge, 60)} the least, {percent(least.rate, 2)}."


def coverage_table(coverage: Coverage) -> dict[str, Column]:
    """Return the table of the page: forms and reasons that occur, by name."""
    frame = coverage.frame()
    columns = {"judge": text([plain(name, 120) for name in frame["judge"]])}
    for name in frame.columns[1:]:
        if frame[name].any() or name not in (*LEVELS, *REASONS):
            form: Form = "share" if name == "rate" else "whole"
            columns[FORM_TITLES.get(name, name)] = numbers(frame[name], form)
    return columns


def coverage_text(coverage: Coverage) -> str:
    """Return the same table for a terminal."""
    cells = {name: column.texts() for name, column in coverage_table(coverage).items()}
    return pd.DataFrame(cells).to_string(index=False)


def position_sentence(positions: Positions) -> str:
    """Say which judge changes its verdict most with the order, and in which direction."""
    # By the upper end, because a share from few items is uncertain.
    least = int(positions.consistent.hi.argmin())
    share, lo, hi = (percent(end, 2) for end in positions.consistent[least])
    lean = [
        f"{counted(int(count), 'judge')} {'prefers' if count == 1 else 'prefer'} what is shown "
        f"{place}"
        for count, place in (
            (positions.lean.above().sum(), "first"),
            (positions.lean.below().sum(), "second"),
        )
        if count
    ]
    answer = (
        f"{counted(len(positions.judges), 'judge')} saw items in both orders. The least consistent "
        f"by the upper limit, {plain(positions.judges[least], 60)}, says the same in both on "
        f"{share} [{lo}, {hi}] of {counted(int(positions.both[least]), 'item')}."
    )
    return f"{answer} {'; '.join(lean) or 'No judge is shown to prefer a position'}."


def position_table(positions: Positions) -> dict[str, Column]:
    """Return one row per judge, with columns in words."""
    return {
        "judge": text([plain(name, 120) for name in positions.judges]),
        "items": numbers(positions.both, "whole"),
        "same in both orders": levels(positions.consistent),
        "lean to the first": levels(positions.lean),
    }


def check_output(path: Path, *, inputs: Sequence[Path] = (), kinds: Sequence[str] = ()) -> None:
    """Refuse an invalid output path before any work is done.

    ``kinds`` are the allowed extensions; a device or pipe accepts any content. ``inputs`` are the
    files that are read, which must not be overwritten.

    Raises
    ------
    InputError
        Another extension, a missing folder, a folder, or one of the inputs.
    """
    name = path.name
    if path.is_dir():
        raise InputError("this is a folder, not a file to write to", file=name)
    if not path.resolve().parent.is_dir():
        raise InputError("the folder to write to does not exist", file=name, value=path.parent)
    if _is_special(path):
        return
    if kinds and not path.name.lower().endswith(tuple(kinds)):
        allowed = f"a name that ends in {' or '.join(kinds)}"
        raise InputError("cannot write this kind of file", file=name, allowed=allowed)
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(
                "this would write over what is read", file=name, allowed="another name"
            )


def write_whole(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file atomically; devices and pipes are written directly.

    ``mode`` are the permissions of a new file, reduced by the process's umask.
    """
    if _is_special(path):
        path.write_bytes(data)
        return
    target = path.resolve()
    if target.exists():
        mode = target.stat().st_mode & 0o777
    beside = target.with_name(f".{secrets.token_hex(8)}.new")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(data)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _is_special(path: Path) -> bool:
    """Whether the path is something other than a regular file or folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


_FEW_WRONG = 10


def scored_text(scored: Scored, file: str) -> str:
    """Return what was written to ``file``, and the NLL on labels if the file has any."""
    decided = int((scored.frame()["decision"] != "").sum())
    lines = [f"{len(scored.p):,} items scored, {decided:,} decided, written to {file}."]
    if scored.labelled is not None:
        lines.append(labelled_sentence(scored.labelled))
    return "\n".join(lines)


def labelled_sentence(labelled: Labelled) -> str:
    """Return the NLL on labelled new items with interval and null, or why there is none."""
    if labelled.figures is None:
        if labelled.n_seen > labelled.n:
            return (
                f"{counted(labelled.n_seen, 'labelled item')} of this file took part in making the "
                "panel; no NLL is given, since it would flatter."
            )
        return "There are too few labelled new items for an NLL."
    figures = labelled.figures
    which = "(it is not known whether they are new)"
    if labelled.checked:
        which = "that the panel has not seen"
    text = (
        f"On {counted(labelled.n, 'labelled item')} {which}: NLL {with_interval(*figures.nll)}, "
        f"the base rate alone {sig(figures.null_nll)} (skill {percent(figures.skill)}), accuracy "
        f"{percent(figures.accuracy)}."
    )
    if figures.n_wrong < _FEW_WRONG:
        text += f" It rests on {counted(figures.n_wrong, 'wrong answer')}, so take it as rough."
    if labelled.n_seen:
        seen = counted(labelled.n_seen, "labelled item")
        text += f" {seen} that took part in making it left out."
    if labelled.measures_coding:
        text += " Nearly all labels are alike: this measures the coding, not the judges."
    return text
