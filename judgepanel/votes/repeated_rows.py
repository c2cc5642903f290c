"""Rows that are in a file twice and agree: they are read once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judgepanel.votes.columns import Mapping
from judgepanel.votes.table import RawTable


def without_repeated_rows(table: RawTable, mapping: Mapping) -> tuple[RawTable, list[str]]:
    """The table without rows that say again what a row before them says, and a note.

    Only columns with a role are compared, so that an index column does not tell rows apart. Rows
    without an id are items of their own, and rows with the same id that disagree stay: they are
    refused where they are read.
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
