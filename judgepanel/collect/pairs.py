"""The pairs shown to judges: an instruction and two responses per item."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from judgepanel.votes.attributes import (
    feature_name,
    groups_in,
    labels_in,
    typed_column,
    unique_ids,
)
from judgepanel.votes.columns import FEATURE_PREFIX, GROUP_NAMES, ID_NAMES, LABEL_NAMES
from judgepanel.votes.errors import InputError
from judgepanel.votes.load import open_table
from judgepanel.votes.table import RawTable

INSTRUCTION_NAMES = ("instruction", "prompt", "question", "input", "task")
FIRST_NAMES = ("response_a", "output_1", "response_1", "answer_a", "solution_a", "a")
SECOND_NAMES = ("response_b", "output_2", "response_2", "answer_b", "solution_b", "b")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Items with their untrusted texts, and other columns about them.

    ``about`` has the columns that are copied into every output of the item: label, group, features.
    """

    ids: tuple[str, ...]
    instruction: pd.Series
    first: pd.Series
    second: pd.Series
    about: pd.DataFrame
    name: str

    def __len__(self) -> int:
        return len(self.ids)

    def texts(self, item: int) -> tuple[str, str, str]:
        """Instruction, first and second response of an item."""
        return (
            str(self.instruction.iloc[item]),
            str(self.first.iloc[item]),
            str(self.second.iloc[item]),
        )

    def fingerprint(self, item: int) -> str:
        """SHA-256 (16 digits) of the texts of an item."""
        text = json.dumps(self.texts(item)).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()[:16]

    def known(self, item: int) -> dict[str, str]:
        """Label, group and features of an item, by column."""
        return {str(name): str(value) for name, value in self.about.iloc[item].items()}


def read_pairs(source: str | Path | bytes, name: str | None = None) -> Pairs:
    """Read pairs from JSON Lines, CSV or Parquet.

    Raises
    ------
    InputError
        No id or text column, an empty or repeated id, an empty response, or a label, group or
        feature that reading the votes would refuse, after all judges had been paid.
    """
    table = open_table(source, name)
    try:
        return _pairs(table)
    except InputError as error:
        raise (error if error.file is not None else error.in_file(table.name)) from None


def _pairs(table: RawTable) -> Pairs:
    free = {column.lower(): column for column in reversed(table.columns)}

    def find(names: tuple[str, ...], what: str) -> str:
        hit = next((free[name] for name in names if name in free), None)
        if hit is None:
            raise InputError(
                f"there is no column for {what}",
                allowed=", ".join(names),
                remedy="rename the column that has it to one of these",
            )
        return hit

    instruction = find(INSTRUCTION_NAMES, "the instruction")
    first, second = find(FIRST_NAMES, "the first response"), find(SECOND_NAMES, "the second")
    names = tuple(name for name in ID_NAMES if free.get(name) not in {instruction, first, second})
    ids = unique_ids(table, find(names, "the item's id"))
    for column in (first, second):
        empty = (table.frame[column].astype(str).str.strip() == "").to_numpy()
        if empty.any():
            raise InputError(
                "the response is empty",
                row=table.row(int(empty.argmax())),
                column=column,
                allowed="two responses per item",
                remedy="fill it in, or remove the row",
            )
    known = [
        column
        for column in table.columns
        if column.startswith(FEATURE_PREFIX)
        or column in (free.get(name) for name in (*LABEL_NAMES[:5], *GROUP_NAMES[:2]))
    ]
    _check_known(table, known)
    frame = table.frame
    return Pairs(ids, frame[instruction], frame[first], frame[second], frame[known], table.name)


def _check_known(table: RawTable, known: list[str]) -> None:
    rows = np.arange(table.n_rows)
    for column in known:
        if column.startswith(FEATURE_PREFIX):
            feature_name(table, column)
            typed_column(table, column, rows)
        elif column.lower() in LABEL_NAMES:
            labels_in(table, column)
        else:
            groups_in(table, column, rows)
