"""Loading a vote matrix from a path or an upload in one call.

A table whose rows are people and whose columns are items is turned before it has roles.

RawTable and roles -> VoteMatrix, with warnings about the data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from judgepanel.votes import attributes, cells, checks, companions, errors, outputs, reading, texts
from judgepanel.votes.choices import NO_CHOICES, SINGLE, Choices
from judgepanel.votes.columns import Columns, with_choices_joined, without_header_rows
from judgepanel.votes.errors import PAIRWISE, InputError, listed, quote_value
from judgepanel.votes.formats import check_bytes, read_table
from judgepanel.votes.grades import DIFFERENCES, grade_notes, scales_of
from judgepanel.votes.imports import read_source, recognised
from judgepanel.votes.layouts import Reader, Verdicts, cut_column, read_verdicts, settled
from judgepanel.votes.matrix import MISSING, Task, VoteMatrix, turned_around
from judgepanel.votes.reading import Reading
from judgepanel.votes.roles import Roles, guess_roles
from judgepanel.votes.sources import source_of
from judgepanel.votes.table import Coverage, LabelSource, RawTable, column_names


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A vote matrix, how its file was read, and warnings about it (full sentences).

    ``judge_file`` is the file name of the judge table, None if there is none; ``labels`` is where
    the labels were read from, None if they are in the votes file; ``coverage`` is what was read
    from the judges' outputs, None if the file holds votes. ``forms`` says how verdicts are written:
    ``A/B``, ``yes/no``, ...; ``choices`` are what the user said about the file; ``group`` is a
    column that may tell which items belong together, empty if there is none; ``texts`` are those of
    the items that were asked for (:func:`~judgepanel.votes.texts.texts_of_items`).
    """

    votes: VoteMatrix
    roles: Roles
    warnings: tuple[str, ...]
    file: str
    reading: Reading
    judge_file: str | None = None
    coverage: Coverage | None = None
    forms: str = "0/1"
    labels: LabelSource | None = None
    choices: Choices = field(default_factory=Choices)
    group: str = ""
    texts: pd.DataFrame | None = None


def build_votes(
    table: RawTable,
    roles: Roles,
    choices: Choices = NO_CHOICES,
    *,
    judge_table: RawTable | None = None,
    need_labels: bool = True,
    texts_of: Sequence[str] = (),
) -> Loaded:
    """Return the vote matrix of a table whose column roles are known.

    ``judge_table`` has a ``judge`` column and is matched to the judges by name. ``need_labels``
    refuses votes whose labels do not allow any study: no labels, a class with a single item, or, in
    a pointwise task, a single class. ``texts_of`` are ids of items whose texts are wanted.

    Raises
    ------
    InputError
        With file, row, column, value and what is allowed.
    """
    with errors.in_file(table.name):
        reader = Reader.of(table, roles, choices)
        task, unsaid = reading.task_of(reader, choices)
        reader = reader.for_task(task)
        scales = scales_of(table, roles, task, choices.thresholds, choices.known)
        graded = [n for n in roles.judge_columns if cells.unshield(n, cells.is_role_name) in scales]
        if scales and roles.layout == "long":
            graded = list(roles.verdicts)
        verdicts = read_verdicts(reader, scales)
        labels = _labels(reader, choices, verdicts)
        if choices.turn:
            every, cuts = np.ones(1, dtype=bool), verdicts.thresholds
            cast, grades = turned_around(verdicts.votes, every, verdicts.grades, cuts)
            notes = (*verdicts.notes, "All votes are turned around, as asked.")
            verdicts = replace(verdicts, votes=cast, grades=grades, notes=notes)
        group, rows_of = roles.group_column, partial(_item_rows, table, verdicts)
        groups = None if group is None else attributes.groups_in(table, group, rows_of(group))
        columns = (*roles.feature_columns, *roles.system_column)
        described = {}
        for name, column in attributes.feature_names(table, columns).items():
            described[name] = attributes.typed_column(table, column, rows_of(column))
        if need_labels:
            check_labels(labels, task, roles.label_column)
        about, unmatched = None, list[str]()
        if judge_table is not None:
            about, unmatched = companions.match_judges(judge_table, verdicts.judges)
        features = pd.DataFrame(described) if described else None
        ids, judges, ties = verdicts.item_ids, verdicts.judges, verdicts.ties
        grades, cuts = verdicts.grades, verdicts.thresholds
        votes = VoteMatrix(
            verdicts.votes, labels, ids, judges, task, groups, features, about, ties, grades, cuts
        )
        guessed = DIFFERENCES in scales.values() and choices.thresholds.default is None
        if guessed and not choices.turn:
            reading.refuse_reversed_scale(table, votes)
    hinted, offered = reading.group_hint(table, roles, votes, verdicts.items)
    warnings = [
        *table.notes,
        unsaid if task == "pointwise" else "",
        *(() if table.coverage is None else table.coverage.notes),
        checks.reversal(votes),
        *roles.notes,
        *verdicts.notes,
        *_rewritten(reader, graded),
        *grade_notes(scales, votes),
        *reading.vote_warnings(votes, need_labels=need_labels),
        *reading.column_warnings(reader, graded),
        offered,
        *unmatched,
    ]
    given = choices.thresholds.default is not None or choices.thresholds.by_judge
    scaled = () if given else dict.fromkeys(f"Grades are read as {s}." for s in scales.values())
    guesses = [*filter(None, (unsaid, *scaled)), *verdicts.notes]
    return Loaded(
        *(votes, roles, tuple(filter(None, warnings)), table.name),
        reading.reading_of(reader, votes, reading.meaning_of_one(reader, choices, task), guesses),
        judge_file=None if judge_table is None else judge_table.name,
        coverage=table.coverage,
        forms=reading.forms_sentence(reader, graded),
        labels=table.labels,
        choices=replace(choices, task=task, records=table.records or choices.records),
        group=hinted,
        texts=texts.texts_of_items(reader, verdicts, choices, texts_of) if texts_of else None,
    )


def _rewritten(reader: Reader, graded: Sequence[str]) -> list[str]:
    """Return sentences on words that mean something in this file alone."""
    labels, twos = reader.roles.of("label"), cells.TWOS if reader.vocabulary.twos else frozenset()
    names = [name for name in (*labels, *reader.roles.verdicts) if name not in graded]
    numbered = [name for name in names if not twos.isdisjoint(reader.columns[name].given)]
    notes = {
        "Names of models are read as the first or the second response": reader.named_models(),
        "1 is read as the first response and 2 as the second": numbered,
        "0.5 is read as a tie": [n for n in names if n not in labels and reader.has_halves(n)],
    }
    return [f"{note}: {listed(columns)}." for note, columns in notes.items() if columns]


def _labels(reader: Reader, choices: Choices, verdicts: Verdicts) -> NDArray[np.int8]:
    """Return the label (n_items,) of each item, -1 without one."""
    table, name = reader.table, reader.roles.label_column
    if name is None:
        return np.full(len(verdicts.item_ids), MISSING, dtype=np.int8)
    column = reader.columns[name]
    codes = reader.meanings(name, halves=False)
    if choices.label_threshold is not None:
        # A word beside numbers is no label.
        cut, words = np.array([choices.label_threshold]), np.minimum(codes, MISSING)
        codes, _ = cut_column(column, cut, words)
    companions.refuse_unknown_labels(table, column, codes == cells.UNKNOWN, reader.vocabulary)
    labels = np.maximum(codes, MISSING).astype(np.int8)
    if verdicts.items is None:
        return labels
    given = labels != MISSING
    rows = attributes.given_rows(table, name, labels, given, verdicts.items, len(verdicts.item_ids))
    return np.asarray(labels[rows], dtype=np.int8)


def check_labels(labels: NDArray[np.int8], task: Task, column: str | None) -> None:
    """Refuse labels (n_items,) that do not allow any study; ``column`` is where they were read.

    Raises InputError if there are no labels, if a class has a single item, and in a pointwise task
    if there is a single class.
    """
    counts = [int((labels == label).sum()) for label in (0, 1)]
    if sum(counts) == 0:
        remedy = errors.correct_or_name("label")
        raise InputError("all labels are missing", "labels 0 and 1", remedy, column=column)
    allowed = "at least 2 items of each class"
    for label, count in enumerate(counts):
        if count == 1:
            problem = f"only one item has the label {label}"
            remedy = "label more items, or leave that label blank"
            raise InputError(problem, allowed, remedy, column=column)
        if count == 0 and task == "pointwise":
            problem, allowed = f"every label is {1 - label}", f"{allowed} in a pointwise task"
            remedy = f"label items of both classes; if the items are pairs, say so {PAIRWISE}"
            raise InputError(problem, allowed, remedy, column=column)


def _item_rows(table: RawTable, verdicts: Verdicts, column: str) -> NDArray[np.intp]:
    """Return for each item the row of the file that gives its value in a column."""
    if verdicts.items is None:
        return np.arange(table.n_rows)
    (codes, _), given = cells.distinct(table.frame[column]), attributes.filled(table, column)
    n_items = len(verdicts.item_ids)
    return attributes.given_rows(table, column, codes, given, verdicts.items, n_items)


def load_votes(
    source: str | Path | bytes | RawTable,
    *,
    name: str | None = None,
    labels: str | Path | bytes | RawTable | None = None,
    judge_table: str | Path | bytes | RawTable | None = None,
    need_labels: bool = True,
    texts_of: Sequence[str] = (),
    **given: Any,
) -> Loaded:
    """Read votes from a path, from the bytes of an upload called ``name``, or from a raw table.

    ``given`` is what is known about the file, the fields of :class:`Choices`; all else is guessed.
    ``labels`` is a table of labels (see ``with_labels``), of which ``label_column`` is then a
    column. ``texts_of`` are ids of items whose texts are wanted.

    Raises
    ------
    InputError
        One sentence with file, row, column, value and what is allowed.
    """
    choices = Choices.of(**given)
    table = open_table(source, name, task=choices.task, records=choices.records)
    beside = {"the label table": labels, "the judge table": judge_table}
    label_table, about_judges = (
        None if own is None else open_table(own, None, unnamed) for unnamed, own in beside.items()
    )
    table, choices = prepared(table, choices, label_table)
    table, roles = settled(table, guess_roles(table, choices, need_label=need_labels))
    wanted: Any = {"need_labels": need_labels, "texts_of": texts_of}
    return build_votes(table, roles, choices, judge_table=about_judges, **wanted)


def prepared(
    table: RawTable, choices: Choices, labels: RawTable | None = None
) -> tuple[RawTable, Choices]:
    """Return a table whose columns can have roles, and the choices that fit it.

    Outputs of judges become verdicts, further rows of a header are left out, a choice that is
    written as several flags is one column, rows that are judges become columns, and labels of
    another file are a new column.
    """
    table, notes = without_header_rows(table)
    table = outputs.transcribed(replace(table, notes=(*table.notes, *notes)), choices)
    gone = [name for name in SINGLE if getattr(choices, name) in table.as_outputs]
    unsaid: dict[str, Any] = dict.fromkeys(gone)
    choices = replace(choices, **unsaid)
    joined_table, joined = with_choices_joined(table)
    flags = [name for own in joined.values() for name in own]
    if choices.columns.isdisjoint(flags):
        notes = [f"{listed(own)} are read together as '{stem}'." for stem, own in joined.items()]
        frame = joined_table.frame.drop(columns=flags)
        table = replace(joined_table, frame=frame, notes=(*table.notes, *notes))
    own = choices if labels is None else replace(choices, label_column=None)
    if choices.transpose:
        table = transposed(table)
    elif not own.named:
        _refuse_people_as_rows(table, own)
    if labels is not None:
        votes = guess_roles(table, own, need_label=False)
        table, label = companions.with_labels(table, votes, labels, choices)
        choices = replace(choices, label_column=label)
    return table, choices


def open_table(
    source: str | Path | bytes | RawTable,
    name: str | None = None,
    unnamed: str = "the upload",
    *,
    task: Task | None = None,
    records: str | None = None,
) -> RawTable:
    """Return the raw table in a file, or in bytes called ``name``.

    Files written by other tools (see ``judgepanel.votes.imports``) are recognised by their content;
    ``task`` selects pairs or single responses if such a file holds both. ``records`` is the path of
    the list of records in a JSON document, which is then not taken for another tool's. The files of
    a folder or archive that have the same columns are one table. A table is returned as it is.
    """
    if isinstance(source, RawTable):
        return source
    path = None if isinstance(source, bytes) else Path(source)
    name = name or (unnamed if path is None else path.name)
    if path is not None and path.is_dir():
        return _released(read_source(source_of(path), task))
    with errors.in_file(name):
        data = source if isinstance(source, bytes) else _bytes_of(Path(source), name)
        check_bytes(len(data))
        table = recognised(data, name, task) if records is None else None
        table = read_table(data, name, records) if table is None else table
    return _released(table if records is None else replace(table, records=records))


def _released(table: RawTable) -> RawTable:
    # Arrow would keep what reading took: a fifth of a gigabyte for a million rows.
    pa.default_memory_pool().release_unused()
    return table


def _bytes_of(path: Path, name: str) -> bytes:
    try:
        check_bytes(path.stat().st_size)
        return path.read_bytes()
    except OSError as error:
        raise errors.unopened(error, name) from None


_NUMBERED = re.compile(r"(.*?)\d+")
_MANY = 10
_PEOPLE = cells.JUDGE_WORDS | {"response", "respondent", "person", "pid", "name", "id"}


def numbered_items(table: RawTable) -> list[str]:
    """Return columns of verdicts with numbered names, such as Q1 to Q60, if they may be items.

    There are many of them, more than rows, and a column tells the rows apart.
    """
    columns = Columns(table)
    by_stem: dict[str, list[str]] = {}
    for name in table.columns:
        match = _NUMBERED.fullmatch(name)
        if match is not None and columns[name].is_few and columns[name].kind != "empty":
            by_stem.setdefault(match[1], []).append(name)
    items = max(by_stem.values(), key=len, default=[])
    rest = [name for name in table.columns if name not in items]
    many = len(items) >= _MANY and len(items) > table.n_rows
    return items if many and _names_of_rows(table, rest) is not None else []


def _names_of_rows(table: RawTable, rest: Sequence[str]) -> str | None:
    columns = Columns(table)
    unique = [n for n in rest if columns[n].is_unique and columns[n].kind not in ("dates", "texts")]
    named = [name for name in unique if _PEOPLE & set(cells.tokens_of(name))]
    return next(iter(named or unique), None)


def transposed(table: RawTable) -> RawTable:
    """Return a table with one row per numbered item, or per column if none is numbered.

    The rows become columns, called by the column that tells them apart or by their numbers.
    """
    items = numbered_items(table)
    names_from = _names_of_rows(table, [name for name in table.columns if name not in items])
    items = items or [name for name in table.columns if name != names_from]
    if not items:
        raise InputError("no columns to turn into rows", remedy=f"do without it {errors.TRANSPOSE}")
    rows = [f"row {table.row(k)}" for k in range(table.n_rows)]
    if names_from is not None:
        rows = table.frame[names_from].astype(str).str.strip().tolist()
    names = column_names(rows, None)
    id_name = next(name for name in cells.ID_NAMES if name not in names)
    content, ids = table.frame[items].to_numpy().T, pd.Index(items, name=id_name)
    frame = pd.DataFrame(content, ids, names).reset_index().astype("category")
    dropped = [n for n in table.columns if n not in items and n != names_from]
    named = "" if names_from is None else f", named by {quote_value(names_from)},"
    unused = f"; not used: {listed(dropped)}." if dropped else "."
    notes = (*table.notes, f"Rows are judges{named} and {len(items)} columns are items{unused}")
    return replace(table, frame=frame, first_row=1, lines=None, header_row=None, notes=notes)


def _refuse_people_as_rows(table: RawTable, choices: Choices) -> None:
    """Refuse a table without a label whose columns are numbered items, so that rows are judges."""
    items = numbered_items(table)
    if not items or guess_roles(table, choices, need_label=False).label_column:
        return
    span = f"{quote_value(items[0])} to {quote_value(items[-1])}"
    problem = f"rows seem to be judges and columns items, from {span}"
    labels = "labels may be a row of it, or stand in another file by the names of these columns"
    remedy = f"turn the table {errors.TRANSPOSE}; {labels}"
    raise InputError(problem, "one row per item, or one row per vote", remedy).in_header(table)
