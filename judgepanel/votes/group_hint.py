"""A column to group items by, if the file has none: offered by its name, or by the judges' errors.

Items of one question are not independent. A column named as a question is offered if its values
repeat; any other feature or text whose values repeat is offered if judges err alike on items that
share a value. Of several such columns the most significant is offered, after correction for their
number (the first step of Holm's procedure). In a file with one row per vote such a column says the
same on all rows of an item.

An item's error is the mean over its votes of wrong minus the judge's share of wrong votes. The sum
over values of (sum of errors)² / items is compared with what it is when the values are dealt to the
items at random, which is exact for errors of any distribution and values of any sizes. Draws stop
once ``_ENOUGH`` of them are as large (Besag & Clifford 1991, doi:10.1093/biomet/78.2.301), so that
only a column that matters costs all of them. Cost: O(n K) for the errors, then O(n) for each draw,
n at most 20,000 items.

Values that stand for a measurement (a length, a count) repeat too, and errors may depend on them
although items are independent. So differences between the values of columns with few of them, and
a trend over numbers, are taken out of the errors first.
"""

from __future__ import annotations

from collections.abc import Mapping as Named
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import first_given
from judgepanel.votes.cells import is_number
from judgepanel.votes.columns import Mapping
from judgepanel.votes.errors import quote_value
from judgepanel.votes.matrix import MISSING, VoteMatrix
from judgepanel.votes.remedies import ROLE_COLUMN
from judgepanel.votes.roles import AGGREGATE_NAMES, repeats_across_items
from judgepanel.votes.table import RawTable, plain_name
from judgepanel.votes.words import decimal_of, distinct, is_missing

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

FEWEST_SHARED = 20
"""Values that several items must share before their errors are compared."""
DRAWS = 1_999
_ENOUGH = 20
_DEGREE = 3
_MOST_ITEMS = 20_000
LEVEL = 0.02
"""Chance that a column is offered by the errors if the errors depend on none."""
_NAMES = frozenset(
    ("query", "queryid", "prompt", "promptid", "question", "questionid", "instruction")
)
_MOST_STRATA = 30
_HARDLY = 1.05
_REMEDY = f"that column {ROLE_COLUMN['group']}."


def group_hint(
    table: RawTable, mapping: Mapping, votes: VoteMatrix, items: NDArray[np.intp] | None
) -> list[str]:
    """Return a sentence that offers a column to group items by; empty if there is none.

    ``items`` (n_rows,) are the items of the rows of a long file, None for a wide one.
    """
    if mapping.group_column is not None:
        return []
    exclusions = {*mapping.used} - {*mapping.feature_columns}
    for column in table.columns:
        if (
            column in exclusions
            or plain_name(column.strip().lower().removeprefix("feat_")) not in _NAMES
        ):
            continue
        cells = _cells_of_items(table, column, items, votes.n_items)
        repeats = None if cells is None else repeats_across_items(cells)
        if cells is not None and repeats is not None:
            return [
                f"{repeats[1]} items share {repeats[0]} values of {quote_value(column)}: intervals "
                "are too narrow unless such items stay together"
                f"{_wider(times_as_wide(votes, _values(cells)))}. Name {_REMEDY}"
            ]
    described = {
        column: _cells_of_items(table, column, items, votes.n_items)
        for column in _descriptions(mapping, items)
    }
    return _by_errors({name: own for name, own in described.items() if own is not None}, votes)


def _descriptions(mapping: Mapping, items: NDArray[np.intp] | None) -> list[str]:
    """Return the columns that may describe items.

    In a long file they have no role of their own. A column that is not used describes items if it
    is the same on all rows of an item, which has to show: most items must have several rows.
    """
    columns = [role.column for role in mapping.roles if role.role in ("feature", "text")]
    if items is None or 2 * (np.bincount(items) > 1).sum() < items.max() + 1:
        return columns
    unused = [role.column for role in mapping.roles if role.role == "ignore"]
    chosen = {column for _, column in mapping.chosen}
    plain = {column: column.strip().lower() for column in unused if column not in chosen}
    return columns + [column for column, name in plain.items() if name not in AGGREGATE_NAMES]


def _cells_of_items(
    table: RawTable, column: str, items: NDArray[np.intp] | None, n_items: int
) -> pd.Series | None:
    """Return the cell of each item in a column; None if the rows of an item differ."""
    cells = table.frame[column]
    if items is None:
        return cells
    codes, words = distinct(cells)
    given = np.array([word.strip() != "" for word in words], dtype=bool)[codes]
    rows, differing = first_given(codes, given, items, n_items)
    if len(differing):
        return None
    return cells.iloc[rows].cat.remove_unused_categories().reset_index(drop=True)


def _by_errors(described: Named[str, pd.Series], votes: VoteMatrix) -> list[str]:
    """Offer the column whose values explain the judges' errors best, if any does."""
    repeating, strata = {}, []
    for column, cells in described.items():
        if repeats_across_items(cells) is not None:
            repeating[column] = cells
        elif len(distinct(cells)[1]) <= _MOST_STRATA:
            strata.append(_values(cells))
    numbers = {column: _numbers(cells) for column, cells in repeating.items()}
    # Fractions are measurements; what they have in common is no origin.
    tested = [c for c, own in numbers.items() if own is None or not np.any(own % 1.0 > 0.0)]
    if not tested:
        return []
    errors = item_errors(votes, strata)
    p = [alike_p(errors, _values(repeating[c]), numbers[c]) for c in tested]
    if min(p) * len(tested) > LEVEL:
        return []
    column = tested[int(np.argmin(p))]
    times = times_as_wide(votes, _values(repeating[column]))
    if times < _HARDLY:
        return []
    return [
        f"Judges err alike on items that share a value of {quote_value(column)}: if such items "
        f"have one origin, intervals are too narrow unless they stay together{_wider(times)}. In "
        f"that case name {_REMEDY}"
    ]


def _wider(times: float) -> str:
    """Say how much wider intervals are with groups, if it is noticeable."""
    if times < _HARDLY:
        return ""
    return f" (by the errors of the judges they should be about {times:.1f} times as wide)"


def _values(cells: pd.Series) -> Codes:
    """Return codes (n_items,) of the values in a column, -1 if missing."""
    codes, words = distinct(cells)
    missing = np.array([is_missing(word.strip()) for word in words], dtype=bool)
    return np.where(missing[codes], -1, codes).astype(np.intp)


def _numbers(cells: pd.Series) -> Floats | None:
    """Return the numbers in a column (n_items,), NaN if missing; None if a cell is no number."""
    codes, words = distinct(cells)
    texts = ["nan" if is_missing(word) else decimal_of(word.strip()) for word in words]
    if not all(text == "nan" or is_number(text) for text in texts):
        return None
    return np.array([float(text) for text in texts])[codes]


def item_errors(votes: VoteMatrix, strata: Sequence[Codes] = ()) -> Floats:
    """Return the error of each item (n_items,); NaN without a label or votes.

    The mean error of each value of ``strata``, codes (n_items,) with -1 for missing, is taken out.
    """
    wrong, given = _errors(votes)
    counts = given.sum(axis=1)
    errors = np.where(counts > 0, wrong.sum(axis=1) / np.maximum(counts, 1), np.nan)
    for values in strata:
        used = (values >= 0) & ~np.isnan(errors)
        sizes = np.bincount(values[used])
        means = np.bincount(values[used], weights=errors[used]) / np.maximum(sizes, 1)
        errors[used] -= means[values[used]]
    return errors


def alike_p(errors: Floats, values: Codes, numbers: Floats | None = None) -> float:
    """Return p of errors (n_items,) as alike within ``values`` (n_items,) as they are.

    ``values`` are codes, -1 if missing; ``numbers`` (n_items,) are what they stand for if they are
    numbers. 1 if fewer than ``FEWEST_SHARED`` values, or less than half of the items, are shared.
    """
    used = np.flatnonzero((values >= 0) & ~np.isnan(errors))[:_MOST_ITEMS]
    _, codes, sizes = np.unique(values[used], return_inverse=True, return_counts=True)
    shared = sizes > 1
    if shared.sum() < FEWEST_SHARED or 2 * sizes[shared].sum() < len(codes):
        return 1.0
    centred = errors[used] - errors[used].mean()
    if numbers is not None:
        centred = _without_trend(centred, numbers[used])

    def between(dealt: Codes) -> float:
        return float((np.bincount(dealt, weights=centred) ** 2 / sizes).sum())

    # Rounding must not tell a draw from the values themselves.
    observed = between(codes) - 1e-9 * float((centred**2).sum())
    rng = np.random.default_rng(0)
    as_large = 0
    for draw in range(1, DRAWS + 1):
        as_large += between(rng.permutation(codes)) >= observed
        if as_large == _ENOUGH:
            return as_large / draw
    return (as_large + 1) / (DRAWS + 1)


def times_as_wide(votes: VoteMatrix, values: Codes) -> float:
    """Return how many times as wide intervals of accuracies are with ``values`` as groups.

    The root of the design effect of all judges' errors; an item without a value is alone.
    """
    errors, _ = _errors(votes)
    alone = float((errors**2).sum())
    if alone == 0.0:
        return 1.0
    own = values.max(initial=-1) + 1 + np.arange(len(values))
    _, groups = np.unique(np.where(values >= 0, values, own), return_inverse=True)
    sums = np.zeros((int(groups.max()) + 1, votes.n_judges))
    np.add.at(sums, groups, errors)
    return float(np.sqrt((sums**2).sum() / alone))


def _errors(votes: VoteMatrix) -> tuple[Floats, NDArray[np.bool_]]:
    """Return wrong less the judge's share of wrong votes, 0 without a vote, and where votes are."""
    given = (votes.votes != MISSING) & votes.labelled[:, None]
    wrong = (votes.votes != votes.labels[:, None]) & given
    rates = wrong.sum(axis=0) / np.maximum(given.sum(axis=0), 1)
    return np.where(given, wrong - rates, 0.0), given


def _without_trend(errors: Floats, numbers: Floats) -> Floats:
    """Return errors less a cubic in the ranks of the numbers."""
    _, ranks = np.unique(numbers, return_inverse=True)
    place = 2.0 * ranks / max(int(ranks.max()), 1) - 1.0
    basis = np.polynomial.legendre.legvander(place, _DEGREE)
    return np.asarray(errors - basis @ np.linalg.lstsq(basis, errors, rcond=None)[0])
