"""Duplicate rows of a file that agree, which are read once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judgepanel.votes.columns import Mapping
from judgepanel.votes.table import RawTable


def without_repeated_rows(table: RawTable, mapping: Mapping) -> tuple[RawTable, list[str]]:
    """Return the table without rows that duplicate an earlier row, and a note.

    Only columns with a role are compared, so an index column does not make rows different. Rows
    without an id are separate items, and rows with the same id that disagree are kept: the reader
    of their column refuses them.
    """
    key = [mapping.id_column]
    if mapping.layout == "long":
        key = [mapping.item_column, mapping.judge_column]
    names = [column for column in key if column is not None]
    if not names or not table.frame.duplicated(names).any():
        return table, []
    repeated = table.frame.duplicated(list(mapping.used)).to_numpy()
    if not repeated.any():
        return table, []
    rows = np.flatnonzero(~repeated)
    lines = np.array([table.row(int(row)) for row in rows], dtype=np.int32)
    n_repeated = int(repeated.sum())
    many = "rows repeat another row and are" if n_repeated > 1 else "row repeats another and is"
    smaller = replace(table, frame=table.frame.iloc[rows].reset_index(drop=True), lines=lines)
    return smaller, [f"{n_repeated} {many} read once."]
