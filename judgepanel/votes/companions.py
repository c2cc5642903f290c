"""Files beside the votes: true labels by item id, and what is known about the judges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import errors, words
from judgepanel.votes import names as naming
from judgepanel.votes.attributes import given_rows, names_in, refuse_first, repeated, typed_column
from judgepanel.votes.cells import unshield
from judgepanel.votes.choices import Choices
from judgepanel.votes.columns import Column, Columns
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.grades import refuse_label_scale
from judgepanel.votes.roles import Roles
from judgepanel.votes.table import LabelSource, RawTable, no_column, text_column
from judgepanel.votes.words import TWOS, UNKNOWN, Vocabulary, counted_words, verdict_of

JUDGE_COLUMN = "judge"


def label_columns(
    labels: RawTable, id_column: str, label_column: str | None = None
) -> tuple[str, str]:
    """Return the id column and the label column of a label table.

    The id column has the same name as in the votes (``id_column``) or a common name for ids; the
    label column is ``label_column`` or has a common name for labels. If one of two columns has a
    role, the other column has the other role.

    Raises InputError if a column cannot be determined or ``label_column`` does not exist.
    """
    if label_column is not None and label_column not in labels.columns:
        error = no_column(labels.columns, label_column, errors.name_column("label"))
        raise error.in_header(labels, label_column)
    rest = [name for name in labels.columns if name != label_column]
    item = naming.find_column(rest, (id_column.lower(), *naming.LONG_ITEM_NAMES))
    rest = [name for name in labels.columns if name != item]
    label = label_column or naming.find_column(rest, naming.LABEL_NAMES)
    if len(labels.columns) == 2 and (item is None) != (label is None):
        other = next(name for name in labels.columns if name not in (item, label))
        item, label = item or other, label or other
    if item is None:
        problem = "the label table has no column of item ids"
        names = f"{quote_value(id_column)} as in the votes, or {', '.join(naming.ID_NAMES[:3])}"
        error = InputError(problem, f"a column named {names}", errors.RENAME_COLUMN)
        raise error.in_header(labels)
    if label is None:
        allowed = "a column named label, gold, truth, target or y"
        error = InputError("there is no label column", allowed, errors.name_column("label"))
        raise error.in_header(labels)
    return item, label


def with_labels(
    table: RawTable, roles: Roles, labels: RawTable, choices: Choices
) -> tuple[RawTable, str]:
    """Return the votes table with the labels of another file as a new column, and its name.

    Parameters
    ----------
    table : RawTable
        The votes, wide or long.
    roles : Roles
        The roles of their columns; a label column is not needed.
    labels : RawTable
        One row per item with its id and its label; rows that repeat an item must agree.
    choices : Choices
        Its ``label_column`` is one of ``labels``, guessed by name if not given; words and a
        threshold of labels may be given.

    Raises
    ------
    InputError
        Votes without an id column or with labels of their own, a word that is not a label, an item
        with two labels, and ids none of which is among the votes.
    """
    file, turn = quote_value(labels.name), f"if its rows are judges, turn it {errors.TRANSPOSE}"
    if roles.label_column is not None:
        problem = f"labels are here and in {file}"
        remedy = f"leave it out {errors.IGNORE}"
        error = InputError(problem, "labels in one of the two files", remedy)
        raise error.in_header(table, roles.label_column)
    if not roles.id_column:
        problem = f"there is no column of item ids to find labels by in {file}"
        allowed = "a column with the same ids in both files"
        remedy = f"{errors.name_column('id')}; or, {turn}"
        raise InputError(problem, allowed, remedy).in_header(table)
    id_column = roles.id_column[0]
    source = LabelSource(labels.name, *label_columns(labels, id_column, choices.label_column))
    column = Column(source.column, labels.frame[source.column])
    if choices.label_threshold is None:
        vocabulary = Vocabulary.of([column.given], pairwise=False, given=choices.words)
        check_label_words(labels, source.column, Columns(table).models(), vocabulary)
    items, ids = names_in(table, roles.id_column, "item id")
    rows_items, row_ids = names_in(labels, (source.id_column,), "item id")
    # Synonyms count as the same label.
    texts = zip(map(verdict_of, column.words), column.words, strict=True)
    plain = [word.strip() if code == UNKNOWN else str(code) for code, word in texts]
    meanings = pd.factorize(np.array(plain, dtype=object))[0][column.codes]
    rows = given_rows(labels, source.column, meanings, column.present, rows_items, len(row_ids))
    places, unused = _matched(row_ids, ids)
    there = places >= 0
    if not there.any():
        example = quote_value(next(iter(ids), ""))
        remedy = f"write the same ids in both files, or {errors.name_column('id')}"
        if not set(table.columns).isdisjoint(row_ids):
            remedy = f"these are columns there: {turn}"
        problem = f"none of these item ids is in {quote_value(table.name)}"
        allowed = f"ids as there in column {quote_value(id_column)}, such as {example}"
        error = InputError(problem, allowed, remedy, value=next(iter(row_ids), ""))
        raise replace(error, file=labels.name, column=source.id_column)
    row_of_item = rows[places]
    of_item = np.where(there, column.codes[row_of_item], len(column.words))
    name, is_taken = source.column, source.column in table.columns
    name = f"{name} ({labels.name})" if is_taken else name
    frame = table.frame.assign(**{name: text_column(of_item[items], [*column.words, ""])})
    n_labelled = int((there & column.present[row_of_item]).sum())
    have = "items have" if n_labelled != 1 else "item has"
    notes = [
        f"Labels are read from {file}, column {quote_value(source.column)}, by the ids in "
        f"{quote_value(source.id_column)}: {n_labelled:,} of {len(ids):,} {have} one."
    ]
    if unused:
        what = "items that are" if len(unused) > 1 else "item that is"
        among = f"{len(unused):,} {what} not among the votes: {listed(unused)}."
        notes.append(f"{file} has labels for {among}")
    return replace(table, frame=frame, notes=(*table.notes, *notes), labels=source), name


def _matched(names: Sequence[str], wanted: Sequence[str]) -> tuple[NDArray[np.intp], list[str]]:
    """Return the place of each wanted name among the names, -1 if none, and the names not wanted.

    Both are distinct.
    """
    index, known = pd.Index(list(names), dtype="object"), pd.Index(list(wanted), dtype="object")
    return index.get_indexer(known), list(index.difference(known, sort=False))


def check_label_words(
    labels: RawTable,
    name: str,
    models: Collection[str] = (),
    vocabulary: Vocabulary = Vocabulary(),  # noqa: B008 - frozen
) -> None:
    """Refuse a word in a column of labels that is not one, with its location.

    ``models`` are names of models, which are labels too where the votes name them.
    """
    column = Column(name, labels.frame[name])
    known = [vocabulary.knows(w) or w.strip() in TWOS or w.strip() in models for w in column.words]
    refuse_unknown_labels(labels, column, ~np.array(known, dtype=bool)[column.codes], vocabulary)


def refuse_unknown_labels(
    table: RawTable, column: Column, unknown: NDArray[np.bool_], vocabulary: Vocabulary
) -> None:
    """Refuse the first cell (n_rows,) of a column whose label is not known."""
    if not unknown.any():
        return
    if column.is_numeric:
        raise refuse_label_scale(table, column, int(np.argmax(unknown)))
    problem = f"not a label; unknown: {counted_words(column.cells, (UNKNOWN,), vocabulary)}"
    remedy = f"{errors.MAP_WORDS}; {errors.correct_or_name('label')}"
    error = InputError(problem, words.ALLOWED_LABELS, remedy)
    refuse_first(error, unknown, table, column.name)


def match_judges(table: RawTable, judges: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the table's rows for these judges, in their order, and warnings.

    A judge without a row gets nan and empty texts; the ``judge`` column is left out.

    Raises InputError if there is no ``judge`` column, for an empty name and for a duplicate judge.
    """
    if JUDGE_COLUMN not in table.columns:
        allowed = "a column named judge with the judges' names, and one row per judge"
        remedy = "rename the column that has their names to judge"
        raise InputError("there is no judge column", allowed, remedy).in_header(table)
    codes, names = names_in(table, (JUDGE_COLUMN,), "judge name", naming.is_role_name)
    named = [names[code] for code in codes]
    if (again := repeated(codes)) is not None:
        error = InputError("this judge has two rows", "one row per judge", errors.REMOVE_ROW)
        raise error.in_cell(table, JUDGE_COLUMN, again[1])
    rows, unused = _matched(named, judges)
    there = np.flatnonzero(rows >= 0)
    # A judge without a row gets nan where the index has no place.
    columns = {
        unshield(name): typed_column(table, name, rows[there]).set_axis(there)
        for name in table.columns
        if name != JUDGE_COLUMN
    }
    frame = pd.DataFrame(columns, index=range(len(judges)))
    texts = [name for name, values in columns.items() if values.dtype != np.float64]
    frame[texts] = frame[texts].fillna("")
    file = f"The judge table {quote_value(table.name)}"
    without = [judge for judge, row in zip(judges, rows, strict=True) if row < 0]
    warnings = [f"{file} has no row for {listed(without)}."] if without else []
    if unused:
        warnings.append(f"{file} has rows for judges without a column of votes: {listed(unused)}.")
    return frame, warnings
