"""Several votes of one judge on one item: both orders, repeated runs, copies.

They are never merged silently, and none of them is taken because it is the last: what tells the
rows apart is found, and what it may be is asked where its name does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import errors, names
from judgepanel.votes.attributes import repeated
from judgepanel.votes.columns import Columns
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.orientation import turned_around
from judgepanel.votes.roles import CHOSEN, ColumnRole, Roles
from judgepanel.votes.table import RawTable
from judgepanel.votes.words import TIE

Codes = NDArray[np.intp]

_RUNS = names.RUN_WORDS - {"attempt", "try", "pass"}
"""Words of repeated runs; of attempts the last may be the only good one."""
_JUDGE_PARTS = names.JUDGE_WORDS | {"model", "metric", "prompt", "version", "evaluation", "name"}
_TELLING = _RUNS | _JUDGE_PARTS
"""Words of columns that may tell votes apart although they hold 0 and 1."""
_MOST_RUNS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """Votes by row (n_rows,): item, judge, meaning, and where known the grade, order and run.

    ``thresholds`` (n_judges,) cut the grades.
    """

    items: Codes
    raters: Codes
    codes: NDArray[np.int8]
    grades: NDArray[np.float64] | None = None
    thresholds: NDArray[np.float64] | None = None
    forward: NDArray[np.int8] | None = None
    runs: Codes | None = None

    @property
    def cells(self) -> Codes:
        """(n_rows,) one code for each combination of item and judge."""
        return self.items * (int(self.raters.max(initial=0)) + 1) + self.raters

    @property
    def cells_by_run(self) -> Codes:
        """(n_rows,) one code for each combination of item, judge and run."""
        if self.runs is None:
            return self.cells
        return self.cells * (int(self.runs.max(initial=0)) + 1) + self.runs

    def merged(self, first: Codes, group: Codes, codes: Codes, *, voted: bool) -> Cast:
        """Return one vote per group, whose rows begin with ``first``: its code, and its mean grade.

        ``voted`` leaves out the grade where the code is no vote. Judges with thresholds get the
        vote that their mean grade makes.
        """
        items, raters, grades = self.items[first], self.raters[first], None
        if self.grades is not None and self.thresholds is not None:
            given = ~np.isnan(self.grades)
            n = np.bincount(group, given)
            total = np.bincount(group, np.where(given, self.grades, 0.0))
            grades = np.where(n > 0, total / np.maximum(n, 1), np.nan)
            if voted:
                grades[codes < 0] = np.nan
            cuts = self.thresholds[raters]
            cut = np.where(grades == cuts, TIE, grades > cuts)
            cut = np.where(np.isnan(grades), MISSING, cut)
            codes = np.where(np.isnan(cuts), codes, cut)
        runs = None if self.runs is None else self.runs[first]
        return Cast(items, raters, codes.astype(np.int8), grades, self.thresholds, runs=runs)


def settled(table: RawTable, roles: Roles) -> tuple[RawTable, Roles]:
    """Return the table and roles with which every vote of a judge on an item has one row.

    Rows that are copies are read once, and a column is taken as runs or as part of the judge where
    its name says so; notes are added to those of the roles. Votes that nothing tells apart stay.

    Raises
    ------
    InputError
        Several votes of a judge on an item, and it is unclear what tells them apart.
    """
    key = [*roles.id_column, *roles.judge_column]
    if not roles.id_column or not table.frame.duplicated(key).any():
        return table, roles
    numbers = {name for name in table.columns if name.lower().startswith("unnamed:")}
    n_rows = table.n_rows
    table = _distinct(table, [name for name in table.columns if name not in numbers])
    roles, notes = _told_apart(table, roles, key)
    # Columns without a role do not make rows different, unless they tell votes apart.
    beside = [name for own in roles.beside.values() for name in own]
    asked = filter(None, (roles.order_column, roles.run_column))
    table = _distinct(table, list(dict.fromkeys((*roles.used, *asked, *beside))))
    if n_repeated := n_rows - table.n_rows:
        many = "rows repeat another row and are" if n_repeated > 1 else "row repeats another and is"
        notes.append(f"{n_repeated} {many} read once.")
    return table, replace(roles, notes=(*roles.notes, *notes))


def _distinct(table: RawTable, columns: list[str]) -> RawTable:
    """Return the table without rows equal to an earlier one in these columns."""
    again = table.frame.duplicated(columns).to_numpy()
    return table.taken(np.flatnonzero(~again)) if again.any() else table


def _told_apart(table: RawTable, roles: Roles, key: Sequence[str]) -> tuple[Roles, list[str]]:
    """Return roles with the column that tells repeated votes apart, and a note."""
    frame, known = table.frame, [*key, *filter(None, (roles.order_column,))]
    if roles.run_column is not None or not frame.duplicated(known).any():
        return roles, []
    free = [
        (role.column, {*names.tokens_of(role.column)})
        for role in roles.columns
        if role.role in ("ignore", "beside") and role.reason != CHOSEN
    ]
    columns = Columns(table)
    telling = {
        name: words
        for name, words in free
        if 1 < len(columns[name].given) <= max(_MOST_RUNS, table.n_rows // 10)
        and not names.MEASURE_WORDS & words
        and columns[name].kind not in ("texts", "dates")
        and (columns[name].kind != "verdicts" or _TELLING & words)
        and not frame.duplicated([*known, name]).any()
    }
    runs = [name for name, words in telling.items() if _RUNS & words]
    parts = [name for name, words in telling.items() if _JUDGE_PARTS & words]
    if len(runs) == 1 and not parts:
        named = _with_role(replace(roles, run_column=runs[0]), runs[0], "run")
        return named, [f"{quote_value(runs[0])} is read as repeated runs of a judge."]
    orders = any(map(names.names_order, telling))
    if len(parts) == 1 and not runs and not orders and roles.layout == "long":
        judge = (*roles.judge_column, parts[0])
        named = _with_role(replace(roles, judge_column=judge), parts[0], "judge name")
        return named, [f"A judge is named by {listed(judge)} together."]
    if not telling:
        return roles, []
    several = "a judge has several votes on an item"
    what = several if roles.judge_column else "items have several rows"
    problem, choices = f"{what}, told apart by {listed([*telling], 4)}", tuple(telling)
    allowed = "one vote for each item and judge"
    error = InputError(problem, allowed, errors.TELL_APART, choices=choices)
    raise error.in_header(table, choices[0])


def _different(table: RawTable, roles: Roles, first: int, second: int) -> list[str]:
    """Return columns without a role that differ between two rows, and tell all votes apart."""
    key, frame = [*roles.id_column, *roles.judge_column], table.frame
    free = [role.column for role in roles.columns if role.role in ("ignore", "text")]
    differ = [name for name in free if frame[name].iloc[first] != frame[name].iloc[second]]
    return [name for name in differ if not frame.duplicated([*key, name]).any()]


def _with_role(roles: Roles, name: str, role: Any) -> Roles:
    own = ColumnRole(name, role, "tells the votes of a judge on an item apart")
    columns = (own if entry.column == name else entry for entry in roles.columns)
    return replace(roles, columns=tuple(columns))


def combined(
    table: RawTable, cast: Cast, items: Sequence[str], judges: Sequence[str], roles: Roles
) -> tuple[Cast, list[str]]:
    """Return one vote per item and judge, and notes on orders and runs.

    Each row of the table holds as many votes. Raises InputError for two votes that nothing tells
    apart.
    """
    notes: list[str] = []
    if cast.forward is not None:
        cuts = None if cast.thresholds is None else cast.thresholds[cast.raters]
        codes, grades = turned_around(cast.codes, cast.forward == 0, cast.grades, cuts)
        cast = replace(cast, codes=codes, grades=grades)
    if repeated(cast.cells) is None:
        return cast, notes
    again = repeated(cast.cells_by_run * 2 + (0 if cast.forward is None else cast.forward))
    if again is not None:
        first, second = (place * table.n_rows // len(cast.items) for place in again)
        also = "" if cast.forward is None else " in this order"
        telling = _different(table, roles, first, second)
        remedy = f"{errors.REMOVE_ROW}, or name a column that tells the items apart"
        remedy = f"{remedy} {errors.CHOICE_CONTROLS['id_column']}"
        if telling:
            remedy = f"{listed(telling, 3)} differs: {errors.TELL_APART}"
        error = InputError(
            f"judge {quote_value(judges[cast.raters[again[1]]])} already has a vote on this item"
            f"{also} in row {table.row(first)}",
            "one row for each item and judge",
            remedy,
            value=items[cast.items[again[1]]],
            choices=tuple(telling),
        )
        raise error.in_record(table, roles.id_column[0], second)
    if cast.forward is not None:
        cast, note = _both_orders(cast, cast.forward)
        notes.append(note)
    if cast.runs is not None and repeated(cast.cells) is not None:
        cast, note = _over_runs(cast)
        notes.append(note)
    return cast, notes


def _counted(cast: Cast, cells: Codes) -> tuple[Codes, Codes, list[Codes]]:
    """Return the first row of each cell, the cell of each row, and its votes for 1, 0 and a tie."""
    group, _ = pd.factorize(cells)
    first = np.unique(group, return_index=True)[1]
    votes = [np.bincount(group[cast.codes == vote], minlength=len(first)) for vote in (1, 0, TIE)]
    return first, group, votes


def _both_orders(cast: Cast, forward: NDArray[np.int8]) -> tuple[Cast, str]:
    """Return what both orders say, or what one says beside none; a contradiction is no vote."""
    first, group, (ones, zeros, ties) = _counted(cast, cast.cells_by_run)
    contrary = (ones > 0) & (zeros > 0)
    silent = np.where((ones + zeros == 0) & (ties > 0), TIE, MISSING)
    codes = np.where((ones > 0) == (zeros > 0), silent, ones > 0)
    by_first = np.bincount(group, (cast.codes == forward) & (cast.codes >= 0)) == 2
    note = (
        f"{int((ones + zeros > 1).sum()):,} votes were given in both orders: "
        f"{int(contrary.sum()):,} contradict each other and count as none, "
        f"{int((contrary & by_first).sum()):,} of them twice for the response shown first. A "
        "verdict beside a tie counts."
    )
    return cast.merged(first, group, codes, voted=True), note


def _over_runs(cast: Cast) -> tuple[Cast, str]:
    """Return the majority of a judge's runs on an item, the mean where it gives grades."""
    first, group, (ones, zeros, _) = _counted(cast, cast.cells)
    codes = np.where(ones == zeros, np.where(ones > 0, TIE, MISSING), ones > zeros)
    share = 100.0 * np.minimum(ones, zeros).sum() / max((ones + zeros).sum(), 1)
    note = (
        f"A vote is the majority of up to {int(np.bincount(group).max())} runs of a judge on an "
        f"item; {share:.1f} % of the runs differ from it, and {int((codes == TIE).sum()):,} votes "
        "are ties."
    )
    return cast.merged(first, group, codes, voted=False), note
