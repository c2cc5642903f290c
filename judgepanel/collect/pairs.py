"""The pairs shown to judges: an instruction and two responses per item.

The cost and duration of a run, estimated before it starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from judgepanel.collect.judges import Plan, fingerprint
from judgepanel.votes import attributes, names
from judgepanel.votes.companions import check_label_words
from judgepanel.votes.errors import InputError
from judgepanel.votes.load import open_table
from judgepanel.votes.table import RawTable

INSTRUCTION_NAMES = ("instruction", "prompt", "question", "input", "task")
FIRST_NAMES = ("response_a", "output_1", "response_1", "answer_a", "solution_a", "a")
SECOND_NAMES = ("response_b", "output_2", "response_2", "answer_b", "solution_b", "b")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Items with their untrusted texts, and other columns about them.

    ``shown`` are the instructions, the first and the second responses. ``about`` has the columns
    that are copied into every output of the item: label, group, features.
    """

    ids: tuple[str, ...]
    shown: tuple[pd.Series, pd.Series, pd.Series]
    about: pd.DataFrame
    name: str

    def __len__(self) -> int:
        return len(self.ids)

    def texts(self, item: int) -> tuple[str, str, str]:
        """Instruction, first and second response of an item."""
        instruction, first, second = (str(column.iloc[item]) for column in self.shown)
        return instruction, first, second

    def fingerprint(self, item: int) -> str:
        """SHA-256 (16 digits) of the texts of an item."""
        return fingerprint(self.texts(item))

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
    instruction = _find(table.columns, INSTRUCTION_NAMES, "the instruction")
    first = _find(table.columns, FIRST_NAMES, "the first response")
    second = _find(table.columns, SECOND_NAMES, "the second")
    shown = [instruction, first, second]
    rest = [column for column in table.columns if column not in shown]
    ids = attributes.unique_ids(table, (_find(rest, names.ID_NAMES, "the item's id"),))
    remedy = "fill it in, or remove the row"
    empty = InputError("the response is empty", "two responses per item", remedy)
    for column in (first, second):
        attributes.refuse_first(empty, ~attributes.filled(table, column), table, column)
    texts = (table.frame[instruction], table.frame[first], table.frame[second])
    return Pairs(ids, texts, table.frame[_known_in(table)], table.name)


def _find(columns: Sequence[str], wanted: tuple[str, ...], what: str) -> str:
    column = names.find_column(columns, wanted)
    if column is None:
        remedy = "rename the column that has it to one of these"
        raise InputError(f"there is no column for {what}", ", ".join(wanted), remedy)
    return column


def _known_in(table: RawTable) -> list[str]:
    """The columns of labels, groups and features, which must be what reading the votes accepts."""
    rows = np.arange(table.n_rows)
    known = []
    for column in table.columns:
        if column.startswith(names.FEATURE_PREFIX):
            attributes.feature_names(table, [column])
            attributes.typed_column(table, column, rows)
        elif column.lower() in names.LABEL_NAMES[:5]:
            check_label_words(table, column)
        elif column.lower() in names.GROUP_NAMES[:2]:
            attributes.groups_in(table, column, rows)
        else:
            continue
        known.append(column)
    return known


CHARACTERS_A_TOKEN = 4.0
"""A rule of thumb for English; other scripts take more tokens."""
SECONDS_A_CALL = 3.0


def dollars(amount: float | None) -> str:
    """Dollars as text: two decimals from a dollar on, three significant digits below."""
    if not amount or amount >= 1.0:
        return f"${amount or 0.0:,.2f}"
    return f"${amount:.{max(2, 2 - math.floor(math.log10(amount)))}f}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one judge: remaining calls, about how many tokens in, dollars, and seconds.

    ``dollars`` assumes answers as long as the judge's ``max_tokens``.

    ``seconds`` assumes ``SECONDS_A_CALL`` per call within the judge's limits.
    """

    judge: str
    calls: int
    tokens_in: float
    dollars: float
    seconds: float


def estimate(pairs: Pairs, plan: Plan, by_name: dict[str, int]) -> tuple[Estimate, ...]:
    """One row per judge, for the calls left by those that are finished (``by_name``, counts)."""
    lengths = sum(column.astype(str).map(len) for column in pairs.shown)
    mean = float(np.mean(lengths)) if len(pairs) else 0.0
    rows = []
    for judge in plan.judges:
        calls = max(0, plan.calls(len(pairs)) - by_name.get(judge.name, 0))
        tokens = (len(judge.template) + mean) / CHARACTERS_A_TOKEN
        cost = calls * judge.price(tokens, judge.max_tokens)
        pace = min(judge.per_minute / 60.0, judge.concurrency / SECONDS_A_CALL)
        rows.append(Estimate(judge.name, calls, calls * tokens, cost, calls / pace))
    return tuple(rows)
