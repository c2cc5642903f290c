"""RawTable and Mapping -> VoteMatrix, with warnings about the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import (
    feature_name,
    given_rows,
    groups_in,
    labels_in,
    typed_column,
)
from judgepanel.votes.columns import Mapping, check_mapping, is_role_name
from judgepanel.votes.companions import match_judges
from judgepanel.votes.coverage import Coverage
from judgepanel.votes.data_warnings import label_warnings, role_warnings, vote_warnings
from judgepanel.votes.errors import InputError, listed
from judgepanel.votes.forms import forms_sentence, in_plain_words, verdict_columns
from judgepanel.votes.grades import (
    NOTHING_KNOWN,
    GivenThresholds,
    KnownThresholds,
    Thresholds,
    grade_notes,
    scales_of,
)
from judgepanel.votes.layouts import Verdicts, read_verdicts
from judgepanel.votes.matrix import MISSING, Task, VoteMatrix
from judgepanel.votes.remedies import PAIRWISE, correct_or_name
from judgepanel.votes.table import LabelSource, RawTable
from judgepanel.votes.words import abstentions_in, distinct, ties_in


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A vote matrix, how its file was read, and warnings about it (full sentences).

    ``judge_file`` is the file name of the judge table, None if there is none; ``labels`` is where
    the labels were read from, None if they are in the votes file; ``coverage`` is what was read
    from the judges' outputs, None if the file holds votes. ``forms`` says how verdicts are written:
    ``A/B``, ``yes/no``, ...; ``thresholds`` are the given ones, and so is ``records``, the path of
    the list of records in a JSON document.
    """

    votes: VoteMatrix
    mapping: Mapping
    warnings: tuple[str, ...]
    file: str
    judge_file: str | None = None
    coverage: Coverage | None = None
    forms: str = "0/1"
    labels: LabelSource | None = None
    thresholds: Thresholds = Thresholds()
    records: str | None = None


def build_votes(
    table: RawTable,
    mapping: Mapping,
    *,
    task: Task = "pairwise",
    judge_table: RawTable | None = None,
    need_labels: bool = True,
    thresholds: GivenThresholds = None,
    known_thresholds: KnownThresholds = NOTHING_KNOWN,
) -> Loaded:
    """Return the vote matrix of a file whose column roles are known.

    ``judge_table`` has a ``judge`` column and is matched to the judges by name. ``thresholds`` cut
    scores into votes, for all judges or by judge, ``known_thresholds`` those of judges that gave
    grades before. ``need_labels`` refuses votes whose labels do not
    allow any study: no labels, a class with a single item, or, in a pointwise task, a single class.

    Raises
    ------
    InputError
        With file, row, column, value and what is allowed.
    """
    try:
        check_mapping(table, mapping, need_label=need_labels)
        table, once = without_repeated_rows(table, mapping)
        scales = scales_of(table, mapping, task, thresholds, known_thresholds)
        forms = forms_sentence(table, mapping, scales)
        table, rewritten = in_plain_words(table, mapping, task, scales)
        verdicts = read_verdicts(table, mapping, scales)
        labels = _labels(table, mapping.label_column, verdicts)
        groups = None
        if mapping.group_column is not None:
            groups = groups_in(
                table, mapping.group_column, _item_rows(table, mapping.group_column, verdicts)
            )
        features = _features(table, mapping.feature_columns, verdicts)
        if need_labels:
            check_labels(labels, task, mapping.label_column)
        matched = None if judge_table is None else match_judges(judge_table, verdicts.judges)
        votes = VoteMatrix(
            votes=verdicts.votes,
            labels=labels,
            item_ids=verdicts.item_ids,
            judges=verdicts.judges,
            task=task,
            groups=groups,
            features=features,
            judge_table=None if matched is None else matched.frame,
            ties=verdicts.ties,
            grades=verdicts.grades,
            thresholds=verdicts.thresholds,
        )
    except InputError as error:
        raise (error if error.file is not None else error.in_file(table.name)) from None
    read = () if table.coverage is None else table.coverage.notes
    warnings = [
        *table.notes,
        *read,
        *once,
        *rewritten,
        *grade_notes(scales, votes),
        *vote_warnings(votes),
        *(label_warnings(votes) if need_labels else ()),
    ]
    warnings += _odd_columns(table, mapping, votes, verdicts.items)
    warnings += matched.warnings if matched is not None else ()
    judge_file = None if judge_table is None else judge_table.name
    return Loaded(
        votes,
        mapping,
        tuple(warnings),
        table.name,
        judge_file,
        table.coverage,
        forms,
        table.labels,
        Thresholds.of(thresholds),
        table.records,
    )


def _labels(table: RawTable, column: str | None, verdicts: Verdicts) -> NDArray[np.int8]:
    if column is None:
        return np.full(len(verdicts.item_ids), MISSING, dtype=np.int8)
    labels = labels_in(table, column)
    if verdicts.items is None:
        return labels
    rows = given_rows(
        table, column, labels, labels != MISSING, verdicts.items, len(verdicts.item_ids)
    )
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


def _features(table: RawTable, columns: tuple[str, ...], verdicts: Verdicts) -> pd.DataFrame | None:
    if not columns:
        return None
    return pd.DataFrame(
        {
            feature_name(table, column): typed_column(
                table, column, _item_rows(table, column, verdicts)
            )
            for column in columns
        }
    )


def _odd_columns(
    table: RawTable, mapping: Mapping, votes: VoteMatrix, items: NDArray[np.intp] | None
) -> list[str]:
    warnings = []
    if mapping.label_column is not None:
        ties = int(ties_in(table.frame[mapping.label_column]).sum())
        if ties:
            many = "labels are ties and count" if ties > 1 else "label is a tie and counts"
            warnings.append(f"{ties} {many} as no label.")
    # A second label or group column read as a judge would be a judge that knows the answer.
    doubtful = [column for column in mapping.judge_columns if is_role_name(column)]
    if doubtful:
        warnings.append(f"Read as judges in spite of their names: {listed(doubtful)}.")
    warnings += _no_verdicts(table, mapping)
    return [*warnings, *role_warnings(table, mapping, votes, items)]


def _no_verdicts(table: RawTable, mapping: Mapping) -> list[str]:
    columns = verdict_columns(mapping)
    unsure = sum(abstentions_in(table.frame[column]) for column in columns)
    if not unsure:
        return []
    many = "cells say" if unsure > 1 else "cell says"
    return [f"{unsure} {many} that there is no verdict (unsure, -, ...) and count as missing."]


def without_repeated_rows(table: RawTable, mapping: Mapping) -> tuple[RawTable, list[str]]:
    """Return the table without rows that duplicate an earlier row, and a note.

    Only columns with a role are compared, so an index column does not make rows different. Rows
    without an id are separate items, and rows with the same id that disagree are kept: the reader
    of their column refuses them.
    """
    key = [mapping.id_column]
    if mapping.layout == "long":
        key = [mapping.item_column, mapping.judge_column]
    names = [column for column in key if column is not None]
    if not names or not table.frame.duplicated(names).any():
        return table, []
    repeated = table.frame.duplicated(list(mapping.used)).to_numpy()
    if not repeated.any():
        return table, []
    rows = np.flatnonzero(~repeated)
    lines = np.array([table.row(int(row)) for row in rows], dtype=np.int32)
    n_repeated = int(repeated.sum())
    many = "rows repeat another row and are" if n_repeated > 1 else "row repeats another and is"
    smaller = replace(table, frame=table.frame.iloc[rows].reset_index(drop=True), lines=lines)
    return smaller, [f"{n_repeated} {many} read once."]
