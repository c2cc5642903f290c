"""Results as tables for people: one row per arm, numbers already in words."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.studies.judges.judge_table import JudgeTable
from judgepanel.votes import csv_safe
from judgepanel.words.numbers import fixed, percent
from judgepanel.words.terminal import one_line

PERCENTS = ("skill", "accuracy", "chosen in", "covered at 80 %", "covered at 90 %")
"""Columns of the tables here that hold shares."""

_QUOTED = frozenset(',;\t"\r\n')


def accuracy_table(judges: JudgeTable) -> pd.DataFrame:
    """Every judge, most accurate first; names as a terminal can show them."""
    frame = judges.frame()
    return pd.DataFrame(
        {
            "judge": [one_line(name) for name in frame["judge"]],
            "accuracy": [percent(share, 3) for share in frame["accuracy"]],
            "95 %": [
                f"[{percent(lo, 3)}, {percent(hi, 3)}]"
                for lo, hi in zip(frame["lo"], frame["hi"], strict=True)
            ],
            "right": frame["correct"],
            "of": frame["voted"],
            "coverage": [percent(share, 3) for share in frame["coverage"]],
        }
    )


def printed(table: pd.DataFrame) -> str:
    """A table as text: shares in per cent, other numbers to three decimals, blanks blank."""
    displayed = table.copy()
    for name in displayed.select_dtypes(["float"]):
        share = name in PERCENTS
        displayed[name] = [
            "" if math.isnan(value) else percent(value, 3) if share else fixed(value, 3)
            for value in displayed[name]
        ]
    return displayed.to_string(index=False)


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV; text that a spreadsheet would run as a formula gets an apostrophe.

    Numbers read back to the bit, missing ones are blank. (pandas leaves a lone carriage return
    unquoted, which breaks the row.)
    """
    columns = [[_csv_cell(value) for value in frame[name].tolist()] for name in frame.columns]
    rows = zip(*columns, strict=True)
    head = ",".join(_csv_cell(str(name)) for name in frame.columns)
    return "\n".join((head, *(",".join(row) for row in rows), ""))


def _csv_cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = csv_safe(str(value))
    if _QUOTED.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
