"""RawTable and roles -> VoteMatrix, with warnings about the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import (
    feature_name,
    given_rows,
    groups_in,
    refuse_unknown,
    typed_column,
)
from judgepanel.votes.cells import unshield
from judgepanel.votes.checks import reversal
from judgepanel.votes.choices import NO_CHOICES, Choices
from judgepanel.votes.companions import match_judges
from judgepanel.votes.coverage import Coverage
from judgepanel.votes.errors import MAP_WORDS, PAIRWISE, InputError, correct_or_name, listed
from judgepanel.votes.grades import (
    DIFFERENCES,
    grade_notes,
    missing_codes,
    refuse_label_scale,
    scales_of,
)
from judgepanel.votes.layouts import Reader, Scales, Verdicts, read_verdicts
from judgepanel.votes.matrix import MISSING, Task, VoteMatrix
from judgepanel.votes.names import is_role_name
from judgepanel.votes.reading import (
    Reading,
    column_warnings,
    forms_sentence,
    group_hint,
    label_warnings,
    meaning_of_one,
    reading_of,
    refuse_reversed_scale,
    role_warnings,
    task_of,
    vote_warnings,
)
from judgepanel.votes.roles import Roles
from judgepanel.votes.rows import turned_back
from judgepanel.votes.table import LabelSource, RawTable
from judgepanel.votes.words import (
    ALLOWED_LABELS,
    TWOS,
    UNKNOWN,
    counted_words,
    distinct,
)


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
        task, unsaid = task_of(reader, choices)
        reader = reader.for_task(task)
        scales = scales_of(table, roles, task, choices.thresholds, choices.known)
        graded = _graded_columns(roles, scales)
        verdicts = read_verdicts(reader, scales)
        labels = _labels(reader, choices, verdicts)
        if choices.turn:
            verdicts = _turned(verdicts)
        group = roles.group_column
        groups = (
            None if group is None else groups_in(table, group, _item_rows(table, group, verdicts))
        )
        described = {
            feature_name(table, name): typed_column(table, name, _item_rows(table, name, verdicts))
            for name in (*roles.feature_columns, *roles.system_column)
        }
        if need_labels:
            check_labels(labels, task, roles.label_column)
        matched = None if judge_table is None else match_judges(judge_table, verdicts.judges)
        votes = VoteMatrix(
            votes=verdicts.votes,
            labels=labels,
            item_ids=verdicts.item_ids,
            judges=verdicts.judges,
            task=task,
            groups=groups,
            features=pd.DataFrame(described) if described else None,
            judge_table=None if matched is None else matched.frame,
            ties=verdicts.ties,
            grades=verdicts.grades,
            thresholds=verdicts.thresholds,
        )
        if DIFFERENCES in scales.values() and choices.thresholds.default is None:
            refusal = None if choices.turn else refuse_reversed_scale(table, votes)
            if refusal is not None:
                raise refusal
    except InputError as error:
        raise (error if error.file is not None else error.in_file(table.name)) from None
    reversed_votes = reversal(votes)
    group, *offered = group_hint(table, roles, votes, verdicts.items)
    warnings = [
        *table.notes,
        *([unsaid] if unsaid and task == "pointwise" else ()),
        *(() if table.coverage is None else table.coverage.notes),
        *([reversed_votes] if reversed_votes else ()),
        *roles.notes,
        *verdicts.notes,
        *_rewritten(reader, graded),
        *grade_notes(scales, votes),
        *vote_warnings(votes),
        *(label_warnings(votes) if need_labels else ()),
        *column_warnings(reader, graded),
        *role_warnings(roles),
        *offered,
        *(matched.warnings if matched is not None else ()),
    ]
    given = choices.thresholds.default is not None or bool(choices.thresholds.by_judge)
    guessed = () if given else dict.fromkeys(scales.values())
    scaled = [f"Grades are read as {scale}." for scale in guessed]
    guesses = [*([unsaid] if unsaid else ()), *scaled, *verdicts.notes]
    one = meaning_of_one(reader, choices, task)
    return Loaded(
        votes=votes,
        roles=roles,
        warnings=tuple(warnings),
        file=table.name,
        reading=reading_of(reader, votes, one, guesses),
        judge_file=None if judge_table is None else judge_table.name,
        coverage=table.coverage,
        forms=forms_sentence(reader, graded),
        labels=table.labels,
        choices=replace(choices, task=task, records=table.records or choices.records),
        group=group,
    )


def _graded_columns(roles: Roles, scales: Scales) -> list[str]:
    """Return the columns that hold grades."""
    if roles.layout == "long":
        return list(roles.verdicts) if scales else []
    return [name for name in roles.judge_columns if unshield(name, is_role_name) in scales]


def _rewritten(reader: Reader, graded: Sequence[str]) -> list[str]:
    """Return sentences on words that mean something in this file alone."""
    label = reader.roles.label_column
    own = () if label is None else (label,)
    names = [name for name in (*own, *reader.roles.verdicts) if name not in graded]
    numbered = [n for n in names if any(w in TWOS for w in reader.columns[n].given)]
    notes = {
        "Names of models are read as the first or the second response": reader.named_models(),
        "1 is read as the first response and 2 as the second": (
            numbered if reader.vocabulary.twos else []
        ),
        "0.5 is read as a tie": [n for n in names if n != label and reader.has_halves(n)],
    }
    return [f"{note}: {listed(columns)}." for note, columns in notes.items() if columns]


def _turned(verdicts: Verdicts) -> Verdicts:
    """Return all votes turned around, with grades mirrored at their thresholds."""
    placed = (verdicts.votes, verdicts.grades, verdicts.thresholds)
    votes, grades = turned_back(*placed, np.zeros(1, dtype=np.int8))
    note = "All votes are turned around, as asked."
    return replace(verdicts, votes=votes, grades=grades, notes=(*verdicts.notes, note))


def _labels(reader: Reader, choices: Choices, verdicts: Verdicts) -> NDArray[np.int8]:
    """Return the label (n_items,) of each item, -1 without one."""
    table, name = reader.table, reader.roles.label_column
    if name is None:
        return np.full(len(verdicts.item_ids), MISSING, dtype=np.int8)
    column = reader.columns[name]
    codes = reader.meanings(name, halves=False)
    cut = choices.label_threshold
    if cut is not None:
        numbers = column.numbers.copy()
        numbers[missing_codes(column)] = np.nan
        numbers = numbers[column.codes]
        above = np.where(numbers == cut, MISSING, numbers > cut)
        codes = np.where(np.isnan(numbers), np.minimum(codes, UNKNOWN + 1), above)
        codes = np.where(np.isnan(numbers) & ~column.present, MISSING, codes).astype(np.int8)
    if (codes == UNKNOWN).any():
        if column.is_numeric:
            raise refuse_label_scale(table, column, int(np.argmax(codes == UNKNOWN)))
        words = counted_words(column.cells, (UNKNOWN,), reader.vocabulary)
        problem = f"not a label; unknown: {words}"
        remedy = f"{MAP_WORDS}; {correct_or_name('label')}"
        refuse_unknown(table, name, codes, problem, ALLOWED_LABELS, remedy)
    labels = np.maximum(codes, MISSING).astype(np.int8)
    if verdicts.items is None:
        return labels
    given = labels != MISSING
    rows = given_rows(table, name, labels, given, verdicts.items, len(verdicts.item_ids))
    return np.asarray(labels[rows], dtype=np.int8)


def check_labels(labels: NDArray[np.int8], task: Task, column: str | None) -> None:
    """Refuse labels (n_items,) that do not allow any study; ``column`` is where they were read.

    Raises InputError if there are no labels, if a class has a single item, and in a pointwise task
    if there is a single class.
    """
    counts = [int((labels == label).sum()) for label in (0, 1)]
    if sum(counts) == 0:
        raise InputError(
            "all labels are missing",
            column=column,
            allowed="labels 0 and 1",
            remedy=correct_or_name("label"),
        )
    for label, count in enumerate(counts):
        if count == 1:
            raise InputError(
                f"only one item has the label {label}",
                column=column,
                allowed="at least 2 items of each class",
                remedy="label more items, or leave that label blank",
            )
        if count == 0 and task == "pointwise":
            raise InputError(
                f"every label is {1 - label}",
                column=column,
                allowed="at least 2 items of each class in a pointwise task",
                remedy="label items of the other class too; if the items are pairs, say so "
                f"{PAIRWISE}",
            )


def _item_rows(table: RawTable, column: str, verdicts: Verdicts) -> NDArray[np.intp]:
    """Return for each item the row of the file that gives its value in a column."""
    if verdicts.items is None:
        return np.arange(table.n_rows)
    codes, words = distinct(table.frame[column])
    given = np.array([word.strip() != "" for word in words], dtype=bool)[codes]
    return given_rows(table, column, codes, given, verdicts.items, len(verdicts.item_ids))
