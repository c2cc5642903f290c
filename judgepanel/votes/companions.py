"""Files beside the votes: true labels by item id, and what is known about the judges."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from judgepanel.votes.attributes import given_rows, names_in, typed_column
from judgepanel.votes.cells import unshield
from judgepanel.votes.choices import Choices
from judgepanel.votes.columns import Column, Columns
from judgepanel.votes.errors import (
    IGNORE,
    MAP_WORDS,
    REMOVE_ROW,
    RENAME_COLUMN,
    InputError,
    correct_or_name,
    listed,
    name_column,
    quote_value,
)
from judgepanel.votes.grades import refuse_label_scale
from judgepanel.votes.names import (
    ID_NAMES,
    LABEL_NAMES,
    LONG_ITEM_NAMES,
    find_column,
    is_role_name,
)
from judgepanel.votes.roles import Roles
from judgepanel.votes.table import LabelSource, RawTable, no_column, text_column
from judgepanel.votes.words import (
    ALLOWED_LABELS,
    TWOS,
    UNKNOWN,
    Vocabulary,
    counted_words,
    distinct,
    is_missing,
    is_verdict,
    verdict_of,
)

_OWN_COLUMN = f"leave it out {IGNORE}"
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
        raise no_column(
            labels.columns,
            label_column,
            name_column("label"),
            file=labels.name,
            row=labels.header_row,
        )
    rest = [name for name in labels.columns if name != label_column]
    item = find_column(rest, (id_column.lower(), *LONG_ITEM_NAMES))
    rest = [name for name in labels.columns if name != item]
    label = label_column or find_column(rest, LABEL_NAMES)
    if len(labels.columns) == 2:
        first, second = labels.columns
        if item is None and label is not None:
            item = second if label == first else first
        elif label is None and item is not None:
            label = second if item == first else first
    if item is None:
        raise InputError(
            "the label table has no column of item ids",
            file=labels.name,
            row=labels.header_row,
            allowed=f"a column named {quote_value(id_column)} as in the votes, or "
            + ", ".join(ID_NAMES[:3]),
            remedy=RENAME_COLUMN,
        )
    if label is None:
        raise InputError(
            "there is no label column",
            file=labels.name,
            row=labels.header_row,
            allowed="a column named label, gold, truth, target or y",
            remedy=name_column("label"),
        )
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
    id_column = roles.id_column[0] if roles.id_column else None
    if roles.label_column is not None:
        raise InputError(
            f"labels are here and in {quote_value(labels.name)}",
            file=table.name,
            row=table.header_row,
            column=roles.label_column,
            allowed="labels in one of the two files",
            remedy=_OWN_COLUMN,
        )
    if id_column is None:
        raise InputError(
            f"there is no column of item ids to find labels by in {quote_value(labels.name)}",
            file=table.name,
            row=table.header_row,
            allowed="a column with the same ids in both files",
            remedy=name_column("id"),
        )
    own = label_columns(labels, id_column, choices.label_column)
    source = LabelSource(labels.name, *own)
    _refuse_words(table, labels, source.column, choices)
    items, ids = names_in(table, roles.id_column, "item id")
    rows_items, row_ids = names_in(labels, source.id_column, "item id")
    codes, words = distinct(labels.frame[source.column])
    given = ~np.array([is_missing(word) for word in words], dtype=bool)[codes]
    # Synonyms count as the same label.
    plain = [str(verdict_of(word)) if is_verdict(word) else word.strip() for word in words]
    meanings = np.asarray(pd.factorize(np.array(plain, dtype=object))[0])
    rows = given_rows(labels, source.column, meanings[codes], given, rows_items, len(row_ids))
    row_of = dict(zip(row_ids, rows.tolist(), strict=True))
    if not any(name in row_of for name in ids):
        raise InputError(
            f"none of these item ids is in {quote_value(table.name)}",
            file=labels.name,
            column=source.id_column,
            value=next(iter(row_ids), ""),
            allowed=f"ids as there in column {quote_value(id_column)}, such as "
            f"{quote_value(next(iter(ids), ''))}",
            remedy=f"write the same ids in both files, or {name_column('id')}",
        )
    blank = len(words)
    of_item = np.array([codes[row_of[name]] if name in row_of else blank for name in ids])
    name = source.column
    if name in table.columns:
        name = f"{name} ({labels.name})"
    frame = table.frame.assign(**{name: text_column(of_item[items], [*words, ""])})
    known = set(ids)
    unused = [name for name in row_ids if name not in known]
    labelled = sum(bool(given[row_of[name]]) for name in ids if name in row_of)
    notes = (*table.notes, *_notes(source, labelled, len(ids), unused))
    return replace(table, frame=frame, notes=notes, labels=source), name


def _refuse_words(table: RawTable, labels: RawTable, name: str, choices: Choices) -> None:
    if choices.label_threshold is None:
        check_label_words(labels, name, Columns(table).models(), Vocabulary(choices.words))


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
    wrong = [
        not (vocabulary.knows(w) or w.strip() in TWOS or w.strip() in models) for w in column.words
    ]
    rows = np.flatnonzero(np.array(wrong, dtype=bool)[column.codes])
    if not len(rows):
        return
    row = int(rows[0])
    if column.is_numeric:
        raise refuse_label_scale(labels, column, row)
    words = counted_words(column.cells, (UNKNOWN,), vocabulary)
    raise InputError(
        f"not a label; unknown: {words}",
        file=labels.name,
        row=labels.row(row),
        column=name,
        value=column.cells.iloc[row],
        allowed=ALLOWED_LABELS,
        remedy=f"{MAP_WORDS}; {correct_or_name('label')}",
    )


def _notes(source: LabelSource, labelled: int, n_items: int, unused: list[str]) -> list[str]:
    many = "items have" if labelled != 1 else "item has"
    notes = [
        f"Labels are read from {quote_value(source.file)}, column {quote_value(source.column)}, "
        f"by the ids in {quote_value(source.id_column)}: {labelled:,} of {n_items:,} {many} one."
    ]
    if unused:
        notes.append(
            f"{quote_value(source.file)} has labels for {len(unused):,} "
            f"{'items' if len(unused) > 1 else 'item'} that {'are' if len(unused) > 1 else 'is'} "
            f"not among the votes: {listed(unused)}."
        )
    return notes


@dataclass(frozen=True, slots=True, eq=False)
class MatchedJudges:
    """Rows about the judges of a vote matrix, in judge order, without the ``judge`` column."""

    frame: pd.DataFrame
    warnings: tuple[str, ...]


def match_judges(table: RawTable, judges: tuple[str, ...]) -> MatchedJudges:
    """Return the table's rows for these judges; a judge without a row gets nan and empty texts.

    Raises InputError if there is no ``judge`` column, for an empty name and for a duplicate judge.
    """
    if JUDGE_COLUMN not in table.columns:
        raise InputError(
            "there is no judge column",
            file=table.name,
            row=table.header_row,
            allowed="a column named judge with the judges' names, and one row per judge",
            remedy="rename the column that has their names to judge",
        )
    codes, names = names_in(table, JUDGE_COLUMN, "judge name", is_role_name)
    twice = pd.Series(codes).duplicated().to_numpy()
    if twice.any():
        second = int(np.argmax(twice))
        raise InputError(
            "this judge has two rows",
            file=table.name,
            row=table.row(second),
            column=JUDGE_COLUMN,
            value=names[codes[second]],
            allowed="one row per judge",
            remedy=REMOVE_ROW,
        )
    row_of = {names[code]: row for row, code in enumerate(codes)}
    rows = np.array([row_of.get(judge, -1) for judge in judges], dtype=np.intp)
    there = rows >= 0
    columns = [column for column in table.columns if column != JUDGE_COLUMN]
    frame = pd.DataFrame(
        {
            unshield(name): _placed(typed_column(table, name, rows[there]), there)
            for name in columns
        },
        index=range(len(judges)),
    )
    without = [judge for judge, row in zip(judges, rows, strict=True) if row < 0]
    known = set(judges)
    unused = [name for name in row_of if name not in known]
    return MatchedJudges(frame, tuple(_mismatches(table.name, without, unused)))


def _placed(values: pd.Series, there: np.ndarray) -> pd.Series:
    """Return the values of the judges that are there, and blanks for the others."""
    number = values.dtype == np.float64
    placed = np.full(len(there), np.nan if number else "", dtype=float if number else object)
    placed[there] = values.to_numpy()
    return pd.Series(placed, dtype=None if number else "str")


def _mismatches(file: str, without: list[str], unused: list[str]) -> list[str]:
    warnings = []
    if without:
        warnings.append(f"The judge table {quote_value(file)} has no row for {listed(without)}.")
    if unused:
        warnings.append(
            f"The judge table {quote_value(file)} has rows for judges without a column of votes: "
            f"{listed(unused)}."
        )
    return warnings
