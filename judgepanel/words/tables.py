"""The table of judges, and frames as CSV."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from judgepanel.studies.judges.judge_table import JudgeTable
from judgepanel.votes import csv_safe
from judgepanel.words.cells import Column, numbers, text
from judgepanel.words.numbers import percent
from judgepanel.words.text import one_line

_QUOTED = frozenset(',;\t"\r\n')


def accuracy_table(judges: JudgeTable) -> dict[str, Column]:
    """Return every judge, most accurate first, with names safe for a terminal."""
    frame = judges.frame()
    ends = [
        f"[{percent(lo, 3)}, {percent(hi, 3)}]"
        for lo, hi in zip(frame["lo"], frame["hi"], strict=True)
    ]
    accuracy = frame["accuracy"].to_numpy()
    unknown = np.flatnonzero(np.isnan(accuracy)).tolist()
    return {
        "judge": text([one_line(name) for name in frame["judge"]]),
        "accuracy": Column(accuracy, "share", dict.fromkeys(unknown, "n/a")),
        "95 %": Column(frame["lo"].to_numpy(), "share", dict(enumerate(ends))),
        "right": numbers(frame["correct"], "whole"),
        "of": numbers(frame["voted"], "whole"),
        "coverage": numbers(frame["coverage"], "share"),
    }


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as CSV; text that a spreadsheet would run as a formula gets an apostrophe.

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
