"""Coverage of judges' outputs, in words and tables."""

from __future__ import annotations

import pandas as pd

from judgepanel.studies.outputs import Positions
from judgepanel.votes.coverage import LEVELS, REASONS, Coverage, JudgeCoverage
from judgepanel.words.numbers import counted, percent
from judgepanel.words.tables import Column, Form, levels, numbers, text
from judgepanel.words.text import plain

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
