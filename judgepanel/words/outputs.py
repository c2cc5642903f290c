"""What was read of judges' outputs, in words and tables for people."""

from __future__ import annotations

import pandas as pd

from judgepanel.figures.outputs import FORM_TITLES
from judgepanel.studies.outputs.position import Positions
from judgepanel.votes.coverage import Coverage, JudgeCoverage
from judgepanel.votes.verdicts import LEVELS, REASONS
from judgepanel.words.numbers import counted, percent
from judgepanel.words.text import plain


def coverage_sentence(coverage: Coverage) -> str:
    """How much was read, and of whom the least."""
    rates = sorted(coverage.judges, key=lambda judge: judge.rate)
    read = f"{percent(coverage.rate, 3)} of {counted(coverage.outputs, 'output')}"
    least: JudgeCoverage = rates[0]
    text = f"{read} {'is' if coverage.outputs == 1 else 'are'} read as a verdict"
    if least.rate == 1 or len(rates) == 1:
        return f"{text}."
    return f"{text}; {plain(least.judge, 60)} the least, {percent(least.rate, 2)}."


def coverage_table(coverage: Coverage) -> pd.DataFrame:
    """The table of the page: forms and reasons that occur, under their names."""
    frame = coverage.frame()
    empty = [name for name in (*LEVELS, *REASONS) if not frame[name].any()]
    frame["judge"] = [plain(name, 120) for name in frame["judge"]]
    return frame.drop(columns=empty).rename(columns=FORM_TITLES)


def coverage_text(coverage: Coverage) -> str:
    """The same table for a terminal, with shares in per cent."""
    table = coverage_table(coverage)
    table["rate"] = [percent(rate, 3) for rate in table["rate"]]
    return table.to_string(index=False)


def position_sentence(positions: Positions) -> str:
    """Who changes its mind when the order is turned around, and which way."""
    frame = positions.frame()
    # By the upper limit: one item says little of a judge, whatever it says.
    least = frame.iloc[int(frame["consistent_hi"].argmin())]
    lean = [
        f"{counted(int(count), 'judge')} {'prefers' if count == 1 else 'prefer'} what is shown "
        f"{place}"
        for count, place in (
            ((frame["lean_lo"] > 0).sum(), "first"),
            ((frame["lean_hi"] < 0).sum(), "second"),
        )
        if count
    ]
    text = (
        f"{counted(len(frame), 'judge')} saw items in both orders. The least consistent by "
        f"the upper limit, {plain(str(least['judge']), 60)}, says the same in both on "
        f"{percent(least['consistent'], 2)} [{percent(least['consistent_lo'], 2)}, "
        f"{percent(least['consistent_hi'], 2)}] of {counted(int(least['items']), 'item')}."
    )
    return f"{text} {'; '.join(lean) or 'No judge is shown to prefer a place'}."


def position_table(positions: Positions) -> pd.DataFrame:
    """One row per judge, columns in words."""
    frame = positions.frame()
    frame["judge"] = [plain(name, 120) for name in frame["judge"]]
    return frame.rename(
        columns={
            "consistent": "same in both orders",
            "consistent_lo": "95 % from",
            "consistent_hi": "95 % to",
            "lean": "lean to the first",
            "lean_lo": "lean from",
            "lean_hi": "lean to",
        }
    )
