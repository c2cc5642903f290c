"""The role of a column without a role name: a judge, a feature, or ignored.

A column computed from the judges, or one that describes the items, would be a judge that knows the
answer; a column of texts or dates is not a reason to refuse the votes beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError, quote_value
from judgepanel.votes.remedies import COLUMN_LISTS, name_column
from judgepanel.votes.table import RawTable, no_column
from judgepanel.votes.words import (
    UNKNOWN,
    decimal_of,
    distinct,
    is_missing,
    is_verdict,
    verdicts_of,
)

ColumnKind = Literal[
    "id", "label", "group", "feature", "judge", "item", "judge name", "verdict", "text", "ignore"
]
CHOSEN = "chosen by name"

FEATURE_NAMES = frozenset(
    (
        *("difficulty", "hard", "is_hard", "is_easy", "is_adversarial", "category", "categories"),
        *("subset", "domain", "topic", "subject", "language", "lang", "dataset", "source"),
        *("split", "length", "n_tokens", "n_words", "n_chars", "turns", "n_turns"),
    )
)
AGGREGATE_NAMES = frozenset(
    (
        *("majority", "majority_vote", "maj_vote", "majority_label", "mode", "consensus", "mean"),
        *("average", "avg", "mean_vote", "mean_score", "vote_mean", "vote_sum", "vote_count"),
        *("n_votes", "agreement", "ensemble", "aggregate", "aggregated", "unanimous"),
    )
)
MODEL_NAMES = (
    *(("model_a", "model_b"), ("model_1", "model_2"), ("model1", "model2")),
    *(("model_left", "model_right"), ("generator_1", "generator_2"), ("system_a", "system_b")),
)
"""Names of columns that hold the models behind the first and the second response."""
_TEXT_NAMES = frozenset(
    (
        *("prompt", "instruction", "input", "question", "query", "response", "response_a"),
        *("response_b", "response_1", "response_2", "output_1", "output_2", "comment", "comments"),
        *("note", "notes", "reason", "reasoning", "rationale", "explanation", "text", "output"),
    )
)
_DATE_NAMES = frozenset(("timestamp", "date", "datetime", "time", "created", "created_at"))
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ].{0,40})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}(?: .{0,20})?")
_INDEX_NAME = re.compile(r"unnamed: ?\d+(?:_level_\d+)?|__index_level_\d+__", re.IGNORECASE)
_LONG_TEXT = 40
_MANY_WORDS = 12
_CONTESTED = 50
"""Items on which the others must disagree before a judge is identified as their majority."""
_MOST_COMPARED = 200
_FIRST_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """The role of a column and the reason (a clause without a full stop)."""

    column: str
    role: ColumnKind
    reason: str


def is_descriptive_name(name: str) -> bool:
    """Whether a column of this name is a feature or an aggregate even if it holds verdicts."""
    return name in FEATURE_NAMES or name in AGGREGATE_NAMES


def second_labels(
    table: RawTable, label: str | None, columns: Sequence[str], *, is_given: bool
) -> tuple[ColumnRole, ...]:
    """Return columns named as only a label is, which are ignored beside the label.

    Raises
    ------
    InputError
        The label was not given by name, and one of the columns differs from it.
    """
    if label is None:
        return ()
    for column in columns:
        if not (is_given or _say_the_same(table.frame[label], table.frame[column])):
            raise InputError(
                f"this may be the label, and so may {quote_value(label)}, which differs",
                file=table.name,
                row=table.header_row,
                column=column,
                allowed="one label column; another one is not read as a judge",
                remedy=name_column("label"),
            )
    reason = f"named as a label, beside {quote_value(label)}"
    return tuple(ColumnRole(column, "ignore", reason) for column in columns)


def _say_the_same(first: pd.Series, second: pd.Series) -> bool:
    """Whether two columns hold the same verdicts, and the same words for those that are not known.

    Names of models are such words: as codes they would all be alike.
    """
    codes = verdicts_of(first)
    unknown = codes == UNKNOWN
    words, others = (cells[unknown].astype("str").str.strip() for cells in (first, second))
    return np.array_equal(codes, verdicts_of(second)) and words.tolist() == others.tolist()


def roles_of(
    table: RawTable, columns: Sequence[str], readable: Mapping[str, bool]
) -> tuple[ColumnRole, ...]:
    """Return roles of the candidate judge columns; ``readable`` tells which hold verdicts only."""
    models = model_columns(table)
    first = [_role_of(table, column, readable[column], models or ()) for column in columns]
    judges = [role.column for role in first if role.role == "judge"]
    computed = _majorities(table, [column for column in judges if readable[column]])
    return tuple(
        ColumnRole(role.column, "ignore", "equal to the majority of the other judges")
        if role.column in computed
        else role
        for role in first
    )


def model_columns(table: RawTable) -> tuple[str, str] | None:
    """Return the columns with the names of the two models, None if there are none."""
    names = {name.lower(): name for name in reversed(table.columns)}
    for first, second in MODEL_NAMES:
        if first in names and second in names:
            pair = (names[first], names[second])
            if not any(is_verdict(word) for column in pair for word in _words(table, column)):
                return pair
    return None


def _role_of(table: RawTable, column: str, readable: bool, models: Iterable[str]) -> ColumnRole:
    kind, reason = _by_name(column, models) or (
        ("judge", "holds verdicts") if readable else _by_content(table, column)
    )
    return ColumnRole(column, kind, reason)


def _by_name(column: str, models: Iterable[str]) -> tuple[ColumnKind, str] | None:
    name = column.strip().lower()
    rules: tuple[tuple[bool, ColumnKind, str], ...] = (
        (column in models, "text", "the name of the model that wrote a response"),
        (_INDEX_NAME.fullmatch(name) is not None, "ignore", "an index column"),
        (name in AGGREGATE_NAMES, "ignore", "named as something computed from the judges"),
        (name in FEATURE_NAMES, "feature", "named as something that describes the items"),
    )
    return next(((kind, reason) for holds, kind, reason in rules if holds), None)


def _by_content(table: RawTable, column: str) -> tuple[ColumnKind, str]:
    """Return the role of a column that contains other words than verdicts."""
    name = column.strip().lower()
    words = _words(table, column)
    numbers = [word for word in words if is_number(decimal_of(word))]
    verdicts = [word for word in words if is_verdict(word)]
    long = sum(map(len, words)) > _LONG_TEXT * len(words)
    rules: tuple[tuple[bool, ColumnKind, str], ...] = (
        (name in _DATE_NAMES or all(map(_DATE.fullmatch, words)), "ignore", "dates or times"),
        (name in _TEXT_NAMES and not verdicts, "text", "named as a text about the item"),
        (len(numbers) == len(words), "judge", "numbers, which may be scores"),
        (bool(verdicts), "judge", "holds verdicts and other words"),
        (len(words) == 1 and table.n_rows > 1, "ignore", "the same word in every row"),
        (long, "text", "long texts"),
        (len(words) > _MANY_WORDS, "ignore", f"{len(words):,} different words, none a verdict"),
    )
    fallback: tuple[ColumnKind, str] = ("judge", "few words, which may be verdicts")
    return next(((kind, reason) for holds, kind, reason in rules if holds), fallback)


def _words(table: RawTable, column: str) -> list[str]:
    """Return the distinct non-missing words of a column, stripped of blanks."""
    words = (word.strip() for word in distinct(table.frame[column])[1])
    return [word for word in words if not is_missing(word)]


def _majorities(table: RawTable, judges: list[str]) -> frozenset[str]:
    """Return judges equal to the majority of all others on every item, and to no single judge."""
    if not 4 <= len(judges) <= _MOST_COMPARED or table.n_rows < _CONTESTED:
        return frozenset()
    first = table.frame[judges].head(_FIRST_ROWS)
    if table.n_rows > _FIRST_ROWS and not _agreeing(_signs(first), contested=0):
        return frozenset()  # Nearly every judge is told from a majority by its first votes.
    signs = _signs(table.frame[judges])
    return frozenset(
        judge
        for judge in _agreeing(signs, contested=_CONTESTED)
        if not any(
            other != judge and bool((signs[other] == signs[judge]).all()) for other in judges
        )
    )


def _signs(cells: pd.DataFrame) -> dict[str, NDArray[np.int8]]:
    """Return the votes of every column as -1, 1 and 0 for none."""
    votes = {str(judge): verdicts_of(column) for judge, column in cells.items()}
    return {judge: np.where(v < 0, 0, 2 * v - 1).astype(np.int8) for judge, v in votes.items()}


def _agreeing(signs: Mapping[str, NDArray[np.int8]], *, contested: int) -> list[str]:
    """Return judges equal to the majority of all others, where so many votes are contested."""
    none = np.zeros(len(next(iter(signs.values()))), dtype=np.int16)
    total = sum(signs.values(), start=none)
    given = sum((sign != 0 for sign in signs.values()), start=none)
    suspects = []
    for judge, sign in signs.items():
        others = total - sign
        decided = (others != 0) & (sign != 0)
        split = decided & (np.abs(others) < given - np.abs(sign))
        if split.sum() >= contested and bool((np.sign(others)[decided] == sign[decided]).all()):
            suspects.append(judge)
    return suspects


def check_chosen(
    table: RawTable, chosen: Iterable[tuple[str, Sequence[str]]], single: Iterable[str | None]
) -> None:
    """Refuse columns chosen by an option that are not in the file or were chosen twice."""
    seen = {column for column in single if column is not None}
    existing = set(table.columns)
    for option, columns in chosen:
        for column in columns:
            if column not in existing:
                remedy = f"name a column of the file {COLUMN_LISTS[option]}"
                raise no_column(
                    table.columns, column, remedy, file=table.name, row=table.header_row
                )
            if column in seen:
                raise InputError(
                    "this column has two roles",
                    file=table.name,
                    column=column,
                    allowed="one role per column",
                    remedy=f"name it once, {COLUMN_LISTS[option]}",
                )
            seen.add(column)


def repeats_across_items(values: pd.Series) -> tuple[int, int] | None:
    """Return the numbers of distinct values and rows if a column's values recur, but not often."""
    codes, _ = distinct(values)
    counts = np.bincount(codes[codes >= 0])
    counts = counts[counts > 0]
    n_values, n_rows = len(counts), int(counts.sum())
    if n_values < 2 or n_values == n_rows or n_values * 10 < n_rows:
        return None
    return n_values, n_rows
