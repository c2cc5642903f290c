"""A file about the judges (family, cost, ...) -> rows in the judge order of the votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgepanel.votes.attributes import names_in, typed_column
from judgepanel.votes.cells import unshield
from judgepanel.votes.columns import is_role_name
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.remedies import REMOVE_ROW
from judgepanel.votes.table import RawTable

JUDGE_COLUMN = "judge"


@dataclass(frozen=True, slots=True, eq=False)
class MatchedJudges:
    """Rows about the judges of a vote matrix, in judge order, without the ``judge`` column."""

    frame: pd.DataFrame
    warnings: tuple[str, ...]


def match_judges(table: RawTable, judges: tuple[str, ...]) -> MatchedJudges:
    """Return the table's rows for these judges; a judge without a row gets nan and empty texts.

    Raises InputError if there is no ``judge`` column, for an empty name and for a duplicate judge.
    """
    if JUDGE_COLUMN not in table.columns:
        raise InputError(
            "there is no judge column",
            file=table.name,
            row=table.header_row,
            allowed="a column named judge with the judges' names, and one row per judge",
            remedy="rename the column that has their names to judge",
        )
    codes, names = names_in(table, JUDGE_COLUMN, "judge name", is_role_name)
    twice = pd.Series(codes).duplicated().to_numpy()
    if twice.any():
        second = int(np.argmax(twice))
        raise InputError(
            "this judge has two rows",
            file=table.name,
            row=table.row(second),
            column=JUDGE_COLUMN,
            value=names[codes[second]],
            allowed="one row per judge",
            remedy=REMOVE_ROW,
        )
    row_of = {names[code]: row for row, code in enumerate(codes)}
    rows = np.array([row_of.get(judge, -1) for judge in judges], dtype=np.intp)
    columns = [column for column in table.columns if column != JUDGE_COLUMN]
    frame = pd.DataFrame(
        {
            unshield(column): _placed(typed_column(table, column, np.arange(table.n_rows)), rows)
            for column in columns
        },
        index=range(len(judges)),
    )
    without = [judge for judge, row in zip(judges, rows, strict=True) if row < 0]
    known = set(judges)
    unused = [name for name in row_of if name not in known]
    return MatchedJudges(frame, tuple(_mismatches(table.name, without, unused)))


def _placed(values: pd.Series, rows: np.ndarray) -> pd.Series:
    filler = np.nan if values.dtype == np.float64 else ""
    placed = values.iloc[rows].reset_index(drop=True)
    return placed.mask(pd.Series(rows < 0), filler)


def _mismatches(file: str, without: list[str], unused: list[str]) -> list[str]:
    warnings = []
    if without:
        warnings.append(f"The judge table {quote_value(file)} has no row for {listed(without)}.")
    if unused:
        warnings.append(
            f"The judge table {quote_value(file)} has rows for judges without a column of votes: "
            f"{listed(unused)}."
        )
    return warnings
