"""RawTable and roles -> VoteMatrix, with warnings about the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import attributes, companions, reading
from judgepanel.votes.cells import unshield
from judgepanel.votes.checks import reversal
from judgepanel.votes.choices import NO_CHOICES, Choices
from judgepanel.votes.coverage import Coverage
from judgepanel.votes.errors import PAIRWISE, InputError, correct_or_name, listed
from judgepanel.votes.grades import DIFFERENCES, grade_notes, scales_of
from judgepanel.votes.layouts import Reader, Scales, Verdicts, cut_column, read_verdicts
from judgepanel.votes.matrix import MISSING, Task, VoteMatrix
from judgepanel.votes.names import is_role_name
from judgepanel.votes.orientation import turned_around
from judgepanel.votes.reading import Reading
from judgepanel.votes.roles import Roles
from judgepanel.votes.table import LabelSource, RawTable
from judgepanel.votes.words import TWOS, UNKNOWN, distinct


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A vote matrix, how its file was read, and warnings about it (full sentences).

    ``judge_file`` is the file name of the judge table, None if there is none; ``labels`` is where
    the labels were read from, None if they are in the votes file; ``coverage`` is what was read
    from the judges' outputs, None if the file holds votes. ``forms`` says how verdicts are written:
    ``A/B``, ``yes/no``, ...; ``choices`` are what the user said about the file; ``group`` is a
    column that may tell which items belong together, empty if there is none.
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


def build_votes(
    table: RawTable,
    roles: Roles,
    choices: Choices = NO_CHOICES,
    *,
    judge_table: RawTable | None = None,
    need_labels: bool = True,
) -> Loaded:
    """Return the vote matrix of a table whose column roles are known.

    ``judge_table`` has a ``judge`` column and is matched to the judges by name. ``need_labels``
    refuses votes whose labels do not allow any study: no labels, a class with a single item, or, in
    a pointwise task, a single class.

    Raises
    ------
    InputError
        With file, row, column, value and what is allowed.
    """
    try:
        reader = Reader.of(table, roles, choices)
        task, unsaid = reading.task_of(reader, choices)
        reader = reader.for_task(task)
        scales = scales_of(table, roles, task, choices.thresholds, choices.known)
        graded = _graded_columns(roles, scales)
        verdicts = read_verdicts(reader, scales)
        labels = _labels(reader, choices, verdicts)
        if choices.turn:
            verdicts = _turned(verdicts)
        group, rows_of = roles.group_column, partial(_item_rows, table, verdicts)
        groups = None if group is None else attributes.groups_in(table, group, rows_of(group))
        columns = (*roles.feature_columns, *roles.system_column)
        described = {
            name: attributes.typed_column(table, column, rows_of(column))
            for name, column in attributes.feature_names(table, columns).items()
        }
        if need_labels:
            check_labels(labels, task, roles.label_column)
        about, unmatched = None, list[str]()
        if judge_table is not None:
            about, unmatched = companions.match_judges(judge_table, verdicts.judges)
        votes = VoteMatrix(
            votes=verdicts.votes,
            labels=labels,
            item_ids=verdicts.item_ids,
            judges=verdicts.judges,
            task=task,
            groups=groups,
            features=pd.DataFrame(described) if described else None,
            judge_table=about,
            ties=verdicts.ties,
            grades=verdicts.grades,
            thresholds=verdicts.thresholds,
        )
        guessed = DIFFERENCES in scales.values() and choices.thresholds.default is None
        if guessed and not choices.turn:
            reading.refuse_reversed_scale(table, votes)
    except InputError as error:
        raise (error if error.file is not None else error.in_file(table.name)) from None
    hinted, offered = reading.group_hint(table, roles, votes, verdicts.items)
    warnings = [
        *table.notes,
        unsaid if task == "pointwise" else "",
        *(() if table.coverage is None else table.coverage.notes),
        reversal(votes),
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
    one = reading.meaning_of_one(reader, choices, task)
    return Loaded(
        *(votes, roles, tuple(filter(None, warnings)), table.name),
        reading.reading_of(reader, votes, one, guesses),
        judge_file=None if judge_table is None else judge_table.name,
        coverage=table.coverage,
        forms=reading.forms_sentence(reader, graded),
        labels=table.labels,
        choices=replace(choices, task=task, records=table.records or choices.records),
        group=hinted,
    )


def _graded_columns(roles: Roles, scales: Scales) -> list[str]:
    """Return the columns that hold grades."""
    if roles.layout == "long":
        return list(roles.verdicts) if scales else []
    return [name for name in roles.judge_columns if unshield(name, is_role_name) in scales]


def _rewritten(reader: Reader, graded: Sequence[str]) -> list[str]:
    """Return sentences on words that mean something in this file alone."""
    labels, twos = reader.roles.of("label"), TWOS if reader.vocabulary.twos else frozenset()
    names = [name for name in (*labels, *reader.roles.verdicts) if name not in graded]
    numbered = [name for name in names if not twos.isdisjoint(reader.columns[name].given)]
    notes = {
        "Names of models are read as the first or the second response": reader.named_models(),
        "1 is read as the first response and 2 as the second": numbered,
        "0.5 is read as a tie": [n for n in names if n not in labels and reader.has_halves(n)],
    }
    return [f"{note}: {listed(columns)}." for note, columns in notes.items() if columns]


def _turned(verdicts: Verdicts) -> Verdicts:
    """Return all votes turned around, with grades mirrored at their thresholds."""
    every, cuts = np.ones(1, dtype=bool), verdicts.thresholds
    votes, grades = turned_around(verdicts.votes, every, verdicts.grades, cuts)
    note = "All votes are turned around, as asked."
    return replace(verdicts, votes=votes, grades=grades, notes=(*verdicts.notes, note))


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
    companions.refuse_unknown_labels(table, column, codes == UNKNOWN, reader.vocabulary)
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
        remedy = correct_or_name("label")
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
    (codes, _), given = distinct(table.frame[column]), attributes.filled(table, column)
    n_items = len(verdicts.item_ids)
    return attributes.given_rows(table, column, codes, given, verdicts.items, n_items)
