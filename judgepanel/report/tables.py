"""Results as tables for people: one row an arm, numbers already in words."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.decision.recommend import REFERENCE
from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.report.numbers import fixed, interval, percent, signed
from judgepanel.report.terminal import one_line
from judgepanel.studies.judges.judge_table import JudgeTable
from judgepanel.votes import csv_safe

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


def candidate_table(found: Recommendation) -> pd.DataFrame:
    """Every candidate, best expected NLL first."""
    ranked = sorted(found.candidates, key=lambda row: row.nll)
    return pd.DataFrame(
        {
            "panel": [row.panel for row in ranked],
            "judges": [row.k for row in ranked],
            "aggregator": [row.aggregator for row in ranked],
            "calibrator": [row.calibrator for row in ranked],
            "NLL": [fixed(row.nll, 3) for row in ranked],
            "NLL 95 %": [interval(row.lo, row.hi, 3) for row in ranked],
            "skill": [percent(row.skill) for row in ranked],
            "difference": [_reference_or(row, signed(row.delta)) for row in ranked],
            "difference 95 %": [
                _reference_or(row, interval(row.delta_lo, row.delta_hi, sign=True))
                for row in ranked
            ],
            "Brier": [fixed(row.brier, 3) for row in ranked],
            "accuracy": [percent(row.accuracy, 3) for row in ranked],
            "ECE": [fixed(row.ece, 3) for row in ranked],
            "chosen in": [percent(row.chosen_share) for row in ranked],
        }
    )


def weights_table(found: Recommendation) -> pd.DataFrame:
    """Judges of the panel in panel order with weight and counts, then those that are not in it."""
    model = found.model
    kept = pd.DataFrame(
        {
            "judge": list(model.judges),
            "status": "kept",
            "weight": list(model.weights),
            "correct": [str(count) for count in model.correct],
            "voted": [str(count) for count in model.voted],
        }
    )
    others = [(name, "left out") for name in found.left_out]
    others += [(name, "set aside") for name in found.set_aside]
    rest = pd.DataFrame(others, columns=["judge", "status"]).assign(correct="", voted="")
    return pd.concat([kept, rest], ignore_index=True)


def _reference_or(row: CandidateFigures, text: str) -> str:
    return "reference" if (row.panel, row.aggregator, row.calibrator) == REFERENCE else text


def printed(table: pd.DataFrame) -> str:
    """A table as text: shares in per cent, other numbers to three decimals, blanks blank."""
    shown = table.copy()
    for name in shown.select_dtypes(["float"]):
        share = name in PERCENTS
        shown[name] = [
            "" if math.isnan(value) else percent(value, 3) if share else fixed(value, 3)
            for value in shown[name]
        ]
    return shown.to_string(index=False)


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
