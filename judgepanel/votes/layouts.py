"""The votes of a file as an array, from a wide (column per judge) or long (row per vote) layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import names_in, refuse_unknown, unique_ids
from judgepanel.votes.cells import unshield
from judgepanel.votes.columns import Mapping, is_role_name
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.remedies import CORRECT_CELL, JUDGE_OR_NOT, REMOVE_ROW, RENAME_COLUMN
from judgepanel.votes.table import RawTable, check_size
from judgepanel.votes.words import ALLOWED_VERDICTS, ties_in, verdicts_of

_PROBLEM = "not a verdict"


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Votes int8 (n_items, n_judges) in {0, 1, -1}, and the item of each row of the file.

    ``ties`` bool (n_items, n_judges) marks missing votes that were given as ties. ``items``
    (n_rows,) are positions in ``item_ids`` for a long file, None for a wide one (row i is item i).
    """

    votes: NDArray[np.int8]
    ties: NDArray[np.bool_]
    item_ids: tuple[str, ...]
    judges: tuple[str, ...]
    items: NDArray[np.intp] | None = None


def read_verdicts(table: RawTable, mapping: Mapping) -> Verdicts:
    """Return all votes of a file.

    Raises InputError for an unknown verdict word, an empty or repeated item id, an empty or
    repeated judge name, and two votes of one judge on one item.
    """
    return _wide(table, mapping) if mapping.layout == "wide" else _long(table, mapping)


def _wide(table: RawTable, mapping: Mapping) -> Verdicts:
    judges = _judge_names(table, mapping.judge_columns)
    item_ids = unique_ids(table, mapping.id_column)
    votes = np.empty((table.n_rows, len(judges)), dtype=np.int8, order="F")
    ties = np.zeros(votes.shape, dtype=bool, order="F")
    for position, column in enumerate(mapping.judge_columns):
        codes = verdicts_of(table.frame[column])
        refuse_unknown(table, column, codes, _PROBLEM, ALLOWED_VERDICTS, JUDGE_OR_NOT)
        votes[:, position] = codes
        ties[:, position] = ties_in(table.frame[column])
    return Verdicts(votes, ties, item_ids, judges)


def _judge_names(table: RawTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for column in columns:
        name = unshield(column, is_role_name)
        if name == "" or name in names:
            raise InputError(
                "the judge name is empty" if name == "" else "this judge is given twice",
                file=table.name,
                row=table.header_row,
                column=column,
                allowed="every judge name once",
                remedy=RENAME_COLUMN,
            )
        names[name] = column
    return tuple(names)


def _long(table: RawTable, mapping: Mapping) -> Verdicts:
    item_column, judge_column, verdict_column = (
        str(mapping.item_column),
        str(mapping.judge_column),
        str(mapping.verdict_column),
    )
    items, item_ids = _in_order(*names_in(table, item_column, "item id"))
    raters, judges = _in_order(*names_in(table, judge_column, "judge name", is_role_name))
    check_size(len(item_ids), len(judges))
    codes = verdicts_of(table.frame[verdict_column])
    refuse_unknown(table, verdict_column, codes, _PROBLEM, ALLOWED_VERDICTS, CORRECT_CELL)
    cells = items * len(judges) + raters
    twice = pd.Series(cells).duplicated().to_numpy()
    if twice.any():
        second = int(np.argmax(twice))
        first = table.row(int(np.argmax(cells == cells[second])))
        raise InputError(
            f"judge {quote_value(judges[raters[second]])} already has a vote on this item in row "
            f"{first}",
            file=table.name,
            row=table.row(second),
            column=item_column,
            value=item_ids[items[second]],
            allowed="one row for each item and judge",
            remedy=f"{REMOVE_ROW}, or name a column that tells the items apart with --id-column, "
            "or on Start under Columns",
        )
    votes = np.full(len(item_ids) * len(judges), MISSING, dtype=np.int8)
    votes[cells] = codes
    ties = np.zeros(len(votes), dtype=bool)
    ties[cells] = ties_in(table.frame[verdict_column])
    shape = (len(item_ids), len(judges))
    return Verdicts(votes.reshape(shape), ties.reshape(shape), item_ids, judges, items)


def _in_order(
    codes: NDArray[np.intp], names: list[str]
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return the names renumbered in order of first occurrence."""
    ordered, first = pd.factorize(codes)
    return np.asarray(ordered, dtype=np.intp), tuple(names[code] for code in first)
