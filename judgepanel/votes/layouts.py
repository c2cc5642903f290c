"""The votes of a file as an array, from a wide (column per judge) or long (row per vote) layout.

Several votes of one judge on one item: both orders, repeated runs, copies.

They are never merged silently, and none of them is taken because it is the last: what tells the
rows apart is found, and what it may be is asked where its name does not say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats, Votes
from judgepanel.votes import cells, errors
from judgepanel.votes.attributes import Codes, names_in, refuse_first, repeated, unique_ids
from judgepanel.votes.cells import TIE, UNKNOWN, Vocabulary, is_role_name, side_of
from judgepanel.votes.choices import Choices
from judgepanel.votes.columns import (
    Column,
    Columns,
    are_by_place,
    failed,
    first_shown,
    given_order,
    says_orders,
)
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.grades import Scale, missing_codes, refuse_scores
from judgepanel.votes.matrix import MISSING, Task, check_judges, turned_around
from judgepanel.votes.roles import CHOSEN, ColumnRole, Roles
from judgepanel.votes.table import RawTable, check_size

_RUNS = cells.RUN_WORDS - {"attempt", "try", "pass"}
"""Words of repeated runs; of attempts the last may be the only good one."""
_JUDGE_PARTS = cells.JUDGE_WORDS | {"model", "metric", "prompt", "version", "evaluation", "name"}
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
    codes: Votes
    grades: Floats | None = None
    thresholds: Floats | None = None
    forward: Votes | None = None
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
    names = [
        r.column for r in roles.columns if r.role in ("ignore", "beside") and r.reason != CHOSEN
    ]
    free = {name: {*cells.tokens_of(name)} for name in names}
    columns = Columns(table)
    telling = {
        name: words
        for name, words in free.items()
        if 1 < len(columns[name].given) <= max(_MOST_RUNS, table.n_rows // 10)
        and not cells.MEASURE_WORDS & words
        and columns[name].kind not in ("texts", "dates")
        and (columns[name].kind != "verdicts" or _TELLING & words)
        and not frame.duplicated([*known, name]).any()
    }
    runs = [name for name, words in telling.items() if _RUNS & words]
    parts = [name for name, words in telling.items() if _JUDGE_PARTS & words]
    if len(runs) == 1 and not parts:
        named = _with_role(replace(roles, run_column=runs[0]), runs[0], "run")
        return named, [f"{quote_value(runs[0])} is read as repeated runs of a judge."]
    orders = any(map(cells.names_order, telling))
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
        # Columns without a role that differ between the two rows, and tell all votes apart.
        key, frame = [*roles.id_column, *roles.judge_column], table.frame
        free = [role.column for role in roles.columns if role.role in ("ignore", "text")]
        differ = [name for name in free if frame[name].iloc[first] != frame[name].iloc[second]]
        telling = [name for name in differ if not frame.duplicated([*key, name]).any()]
        remedy = f"{errors.REMOVE_ROW}, or name a column that tells the items apart"
        remedy = f"{remedy} {errors.CHOICE_CONTROLS['id_column']}"
        if telling:
            remedy = f"{listed(telling, 3)} differs: {errors.TELL_APART}"
        judge = quote_value(judges[cast.raters[again[1]]])
        problem = f"judge {judge} already has a vote on this item{also} in row {table.row(first)}"
        allowed, item = "one row for each item and judge", items[cast.items[again[1]]]
        error = InputError(problem, allowed, remedy, value=item, choices=tuple(telling))
        raise error.in_record(table, roles.id_column[0], second)
    if cast.forward is not None:
        cast, note = _both_orders(cast, cast.forward)
        notes.append(note)
    if cast.runs is not None and repeated(cast.cells) is not None:
        cast, note = _over_runs(cast)
        notes.append(note)
    return cast, notes


def _counted(cast: Cast, codes: Codes) -> tuple[Codes, Codes, list[Codes]]:
    """Return the first row of each code, the group of each row, and its votes for 1, 0 and a tie.

    The groups are the distinct codes (n_rows,).
    """
    group, _ = pd.factorize(codes)
    first = np.unique(group, return_index=True)[1]
    votes = [np.bincount(group[cast.codes == vote], minlength=len(first)) for vote in (1, 0, TIE)]
    return first, group, votes


def _both_orders(cast: Cast, forward: Votes) -> tuple[Cast, str]:
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


Scales = Mapping[str, Scale]


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Votes int8 (n_items, n_judges) in {0, 1, -1}, and the item of each row of the file.

    ``ties`` bool (n_items, n_judges) marks missing votes that were given as ties. ``grades``
    float64 (n_items, n_judges) and ``thresholds`` (n_judges,) are NaN if missing, and None if no
    judge gives grades. ``items`` (n_rows,) are positions in ``item_ids`` for a long file, None for
    a wide one (row i is item i). ``notes`` are sentences on failures, orders and runs.
    """

    votes: Votes
    ties: Bools
    item_ids: tuple[str, ...]
    judges: tuple[str, ...]
    items: Codes | None = None
    grades: Floats | None = None
    thresholds: Floats | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """How the verdicts of one table are read: the roles of columns, and the meaning of words."""

    table: RawTable
    roles: Roles
    columns: Columns
    vocabulary: Vocabulary

    @classmethod
    def of(cls, table: RawTable, roles: Roles, choices: Choices) -> Reader:
        """Return the reader of a table; refuse words of two kinds."""
        reader = cls(table, roles, Columns(table), Vocabulary(choices.words)).for_task("pointwise")
        reader._refuse_mixed()
        return reader

    @property
    def named(self) -> tuple[str, ...]:
        """The columns of the judges, and the label."""
        return (*self.roles.verdicts, *self.roles.of("label"))

    def for_task(self, task: Task) -> Reader:
        """Return the reader for a task: 1 and 2 may name the two responses of a pair."""
        words = [self.columns[name].given for name in self.named]
        known = Vocabulary.of(words, pairwise=task == "pairwise", given=self.vocabulary.given)
        return replace(self, vocabulary=known)

    def meanings(self, name: str, *, halves: bool = True) -> Votes:
        """Return meanings (n_rows,) of the cells of a column; names of models are sides."""
        column = self.columns[name]
        codes = self.vocabulary.meanings(column.words, halves=halves)[column.codes]
        pair = self.columns.pair
        if pair is not None and (codes == UNKNOWN).any():
            texts = (self.columns[n].cells.astype("str").str.strip() for n in (name, *pair))
            given, first, second = (text.to_numpy() for text in texts)
            side = np.where(given == first, 1, 0)
            codes = np.where((given == first) != (given == second), side, codes)
        return np.asarray(codes, dtype=np.int8)

    def has_halves(self, name: str) -> bool:
        """Whether .5 is a tie in a column."""
        return not np.array_equal(self.meanings(name), self.meanings(name, halves=False))

    def named_models(self) -> list[str]:
        """Return columns of verdicts in which names of models are read as sides."""
        models = self.columns.models()
        return [name for name in self.named if models & {*self.columns[name].given}]

    def refuse_unknown(self, name: str, codes: Votes, *, wide: bool) -> None:
        """Refuse the first cell of a column of verdicts whose word is not known."""
        if not (codes == UNKNOWN).any():
            return
        column, unknown = self.columns[name], codes == UNKNOWN
        first, is_number = int(np.argmax(unknown)), ~np.isnan(column.numbers[column.codes])
        remedy = errors.JUDGE_OR_NOT if wide else errors.CORRECT_CELL
        verdicts = ~is_number & (codes >= 0)
        words = cells.counted_unknown(column.cells, self.vocabulary)
        problem, mapped = f"not a verdict; unknown: {words}", f"{errors.MAP_WORDS}; {remedy}"
        allowed = "0, 1, yes, no, pass, fail, A, B, A>B, B>A, tie, ..., or blank for no verdict"
        if not words or (is_number[first] and 0 < verdicts.sum() < is_number.sum()):
            problem, mapped = "a verdict in a column of scores", remedy
            allowed = "a number, or blank for no score"
            unknown = verdicts if verdicts.any() else unknown
        elif is_number[first]:
            raise refuse_scores(self.table, column, first, remedy)
        refuse_first(InputError(problem, allowed, mapped), unknown, self.table, name)

    def _refuse_mixed(self) -> None:
        """Refuse words of two kinds, in a column of the kind that is in fewer columns."""
        said, words = self.vocabulary.given, {}
        for name in self.named:
            words[name] = {word for word in self.columns[name].given if word.lower() not in said}
        texts = sorted({word.strip().lower() for word in chain.from_iterable(words.values())})
        word_better = next((word for word in texts if side_of(word) is not None), None)
        word_good = next((word for word in texts if cells.is_good_or_bad(word)), None)
        if word_better is None or word_good is None:
            return
        better = [name for name, own in words.items() if any(side_of(w) is not None for w in own)]
        good = [name for name, own in words.items() if any(map(cells.is_good_or_bad, own))]
        raise InputError(
            f"{word_better!r} says which response is better and {word_good!r} whether one is good",
            "one kind of words in the label and in all judges",
            f"{errors.MAP_WORDS}, or leave this column out {errors.IGNORE}",
        ).in_header(self.table, min(better, good, key=len)[0])


def read_verdicts(reader: Reader, scales: Scales) -> Verdicts:
    """Return all votes of a file; ``scales`` are those of judges with grades (:mod:`votes.grades`).

    Raises InputError for an unknown verdict word, an empty or repeated item id, an empty or
    repeated judge name, and two votes of one judge on one item that nothing tells apart.
    """
    table, roles = reader.table, reader.roles
    wide, raters = roles.layout == "wide", None
    if wide:
        judges = _judge_names(table, roles.judge_columns)
        items, item_ids = _items_of_rows(table, roles)
    else:
        items, item_ids = in_order(*names_in(table, roles.id_column, "item id"))
        raters, judges = in_order(*names_in(table, roles.judge_column, "judge name", is_role_name))
        check_judges(len(judges))
        check_size(len(item_ids), len(judges))
    shape = (table.n_rows, len(roles.verdicts))
    codes = np.empty(shape, dtype=np.int8)
    thresholds, grades, notes = None, None, []
    if scales:
        cuts = [scales[judge].threshold if judge in scales else np.nan for judge in judges]
        thresholds, grades = np.array(cuts), np.full(shape, np.nan)
    for place, name in enumerate(roles.verdicts):
        codes[:, place] = reader.meanings(name, halves=wide or not scales)
        if thresholds is not None and grades is not None:
            cut = thresholds[[place] if raters is None else raters]
            column = reader.columns[name]
            codes[:, place], grades[:, place] = cut_column(column, cut, codes[:, place])
        reader.refuse_unknown(name, codes[:, place], wide=wide)
        is_failed, note = failed(reader.columns, name, roles.beside.get(name, ()), codes[:, place])
        if note or not wide:
            codes[is_failed, place] = MISSING
            if grades is not None:
                grades[is_failed, place] = np.nan
        notes.append(note)
    forward = None
    if roles.order_column is not None:
        forward, note = _forward(reader, codes, None if wide else items)
        notes.append(note)
    elif items is not None and not wide:
        _refuse_unused_order(reader, codes[:, 0], items)
    if items is None and forward is not None:
        codes, grades = turned_around(codes, forward[:, None] == 0, grades, thresholds)
    elif items is not None:
        run = None if roles.run_column is None else reader.columns[roles.run_column].codes
        cast = Cast(
            np.repeat(items, shape[1]),
            np.tile(np.arange(len(judges)), table.n_rows) if raters is None else raters,
            codes.ravel(),
            None if grades is None else grades.ravel(),
            thresholds,
            None if forward is None else np.repeat(forward, shape[1]),
            None if run is None else np.repeat(run, shape[1]),
        )
        cast, more = combined(table, cast, item_ids, judges, roles)
        places, shape = cast.items * len(judges) + cast.raters, (len(item_ids), len(judges))
        codes, grades = np.full(shape, MISSING, np.int8), None
        codes.ravel()[places] = cast.codes
        if cast.grades is not None:
            grades = np.full(shape, np.nan)
            grades.ravel()[places] = cast.grades
        notes += more
    votes, sentences = np.maximum(codes, MISSING), tuple(filter(None, notes))
    return Verdicts(votes, codes == TIE, item_ids, judges, items, grades, thresholds, sentences)


def _items_of_rows(table: RawTable, roles: Roles) -> tuple[Codes | None, tuple[str, ...]]:
    """Return the item of each row of a wide file, None if no item has several rows; and all ids."""
    repeated = roles.run_column is not None or roles.order_column is not None
    if repeated and roles.id_column and table.frame.duplicated(list(roles.id_column)).any():
        return in_order(*names_in(table, roles.id_column, "item id"))
    return None, unique_ids(table, roles.id_column)


def cut_column(column: Column, threshold: Floats, codes: Votes) -> tuple[Votes, Floats]:
    """Return meanings and grades (n_rows,) in a column, NaN where a cell holds no grade.

    ``codes`` are meanings as words, which stay where a judge has no threshold. Elsewhere a word may
    say that there is no vote; other verdicts are unknown.
    """
    numbers = column.numbers.copy()
    numbers[missing_codes(column)] = np.nan
    ungraded = np.isnan(threshold)
    values = np.where(ungraded, np.nan, numbers[column.codes])
    cut = np.where(values == threshold, TIE, values > threshold)
    cut = np.where(np.isnan(values), MISSING, cut)
    word = np.isnan(column.numbers)[column.codes]
    cut = np.where(word, np.where(codes < 0, codes, UNKNOWN), cut)
    return np.where(ungraded, codes, cut).astype(np.int8), values


def _judge_names(table: RawTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of judges in a header; refuse two that are the same."""
    names = tuple(cells.unshield(column, is_role_name) for column in columns)
    again = pd.Index(names).duplicated()
    if again.any():
        problem, allowed = "this judge is given twice", "every judge name once"
        refusal = InputError(problem, allowed, errors.RENAME_COLUMN)
        raise refusal.in_header(table, columns[int(np.argmax(again))])
    return names


def in_order(codes: Codes, names: list[str]) -> tuple[Codes, tuple[str, ...]]:
    """Return the names renumbered in order of first occurrence."""
    ordered, first = pd.factorize(codes)
    return np.asarray(ordered, dtype=np.intp), tuple(names[code] for code in first)


# --- orders ----------------------------------------------------------------------------------


def _forward(reader: Reader, codes: Votes, items: Codes | None) -> tuple[Votes | None, str]:
    """Return the order (n_rows,) by which verdicts are to be turned back, None if by none; a note.

    ``codes`` are (n_rows, n_columns), ``items`` (n_rows,) those of a long file. Raises
    InputError if it cannot be told whether verdicts are by place.
    """
    name = str(reader.roles.order_column)
    labels = _labels_of_rows(reader, items)
    column, ways, shown = reader.columns[name], None, None
    if labels is not None and codes.shape[1] == 1 and not says_orders(column):
        ways = given_order(codes[:, 0], labels, column)
    if ways is not None:
        rows = [column.codes == column.words.index(word) for word in ways]
        forward = np.select(rows, [1, 0], MISSING).astype(np.int8)
        notes = [f"{quote_value(ways[0])} is read as the order as given, by the labels."]
    else:
        forward, notes = first_shown(reader.table, name)
    if labels is not None:
        repeated = (np.repeat(own, codes.shape[1]) for own in (labels, forward))
        shown = are_by_place(codes.ravel(), *repeated)
    words = {word for verdict in reader.roles.verdicts for word in reader.columns[verdict].given}
    sides = any(side_of(word) is not None for word in words) or reader.vocabulary.places
    if shown is None and sides and not reader.named_models():
        shown = True
    quoted = quote_value(name)
    if shown is None and not any(map(cells.is_good_or_bad, words)) and not reader.named_models():
        raise InputError(
            f"{quoted} says which response was shown first, and it cannot be told whether verdicts "
            "are by place or were turned back already",
            "A and B, or first and second, for verdicts by place",
            errors.BY_PLACE_OR_NOT,
        ).in_header(reader.table, name)
    if not shown:
        return None, f"Verdicts are not turned by {quoted}: they are meant alike in both orders."
    return forward, " ".join((f"Verdicts are by place and were turned back by {quoted}.", *notes))


def _refuse_unused_order(reader: Reader, codes: Votes, items: Codes) -> None:
    """Refuse a long file with a column that is not used, by which verdicts are turned around."""
    labels = _labels_of_rows(reader, items)
    for own in reader.roles.columns:
        if labels is None or own.role != "ignore" or own.reason == CHOSEN:
            continue
        words = given_order(codes, labels, reader.columns[own.column])
        if words is not None:
            agree, turned = map(quote_value, words)
            raise InputError(
                f"verdicts are for the label where this is {agree} and against it where it is "
                f"{turned}, as if it said which response was shown first",
                "verdicts that mean the same in all rows, or a column of the order",
                errors.BY_PLACE_OR_NOT,
            ).in_header(reader.table, own.column)


def _labels_of_rows(reader: Reader, items: Codes | None) -> Votes | None:
    """Return the label (n_rows,) of each row's item, -1 if unknown; None without labels."""
    name = reader.roles.label_column
    if name is None:
        return None
    codes = np.maximum(reader.meanings(name, halves=False), MISSING)
    if items is None:
        return codes
    given = np.flatnonzero(codes >= 0)
    of_item = np.full(int(items.max()) + 1, MISSING, dtype=np.int8)
    of_item[items[given]] = codes[given]
    return of_item[items]
