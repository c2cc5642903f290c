"""Loading a vote matrix from a path or an upload in one call.

A table whose rows are people and whose columns are items is turned before it has roles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.choices import SINGLE, Choices
from judgepanel.votes.columns import Columns, with_choices_joined, without_header_rows
from judgepanel.votes.companions import label_columns, with_labels
from judgepanel.votes.errors import TRANSPOSE, InputError, listed, quote_value, unopened
from judgepanel.votes.formats import check_bytes, read_table
from judgepanel.votes.imports import read_source, recognised
from judgepanel.votes.matrix import Task
from judgepanel.votes.names import ID_NAMES, JUDGE_WORDS, tokens_of
from judgepanel.votes.outputs import transcribed
from judgepanel.votes.roles import guess_roles
from judgepanel.votes.rows import settled
from judgepanel.votes.sources import source_of
from judgepanel.votes.table import RawTable, check_columns, text_column


def load_votes(
    source: str | Path | bytes | RawTable,
    *,
    name: str | None = None,
    labels: str | Path | bytes | RawTable | None = None,
    judge_table: str | Path | bytes | RawTable | None = None,
    need_labels: bool = True,
    **given: Any,
) -> Loaded:
    """Read votes from a path, from the bytes of an upload called ``name``, or from a raw table.

    ``given`` is what is known about the file, the fields of :class:`Choices`; all else is guessed.
    ``labels`` is a table of labels (see ``with_labels``), of which ``label_column`` is then a
    column.

    Raises
    ------
    InputError
        One sentence with file, row, column, value and what is allowed.
    """
    choices = Choices.of(**given)
    if not isinstance(source, RawTable):
        source = open_table(source, name, task=choices.task, records=choices.records)
    if labels is not None and not isinstance(labels, RawTable):
        labels = open_table(labels, None, "the label table")
    if judge_table is not None and not isinstance(judge_table, RawTable):
        judge_table = open_table(judge_table, None, "the judge table")
    table, choices = prepared(source, choices, labels)
    table, roles = settled(table, guess_roles(table, choices, need_label=need_labels))
    return build_votes(table, roles, choices, judge_table=judge_table, need_labels=need_labels)


def prepared(
    table: RawTable, choices: Choices, labels: RawTable | None = None
) -> tuple[RawTable, Choices]:
    """Return a table whose columns can have roles, and the choices that fit it.

    Outputs of judges become verdicts, further rows of a header are left out, a choice that is
    written as several flags is one column, rows that are judges become columns, and labels of
    another file are a new column.
    """
    table, notes = without_header_rows(table)
    table = replace(table, notes=(*table.notes, *notes))
    table = transcribed(table, choices)
    if table.as_outputs:
        gone: dict[str, Any] = {
            name: None for name in SINGLE if getattr(choices, name) in table.as_outputs
        }
        choices = replace(choices, **gone)
    named = {name for names in choices.named.values() for name in names}
    joined_table, joined = with_choices_joined(table)
    flags = [name for own in joined.values() for name in own]
    if joined and named.isdisjoint(flags):
        notes = [f"{listed(own)} are read together as '{stem}'." for stem, own in joined.items()]
        frame = joined_table.frame.drop(columns=flags)
        table = replace(joined_table, frame=frame, notes=(*table.notes, *notes))
    table = _with_items_as_rows(table, choices, labels)
    if labels is not None:
        own = replace(choices, label_column=None)
        votes = guess_roles(table, own, need_label=False)
        table, label = with_labels(table, votes, labels, choices)
        choices = replace(choices, label_column=label)
    return table, choices


def _with_items_as_rows(table: RawTable, choices: Choices, labels: RawTable | None) -> RawTable:
    """Return the table with one row per item where its rows are judges, if asked or sure."""
    ids: list[str] = []
    if labels is not None:
        with suppress(InputError):  # Refused where labels are looked up.
            own, _ = label_columns(labels, "", choices.label_column)
            ids = [str(word) for word in labels.frame[own].unique()]
    items = named_items(table, ids)
    if choices.transpose or items:
        return transposed(table, items or numbered_items(table))
    people = [] if choices.named else numbered_items(table)
    if people and not guess_roles(table, choices, need_label=False).label_column:
        raise refuse_people_as_rows(table, people)
    return table


def open_table(
    source: str | Path | bytes,
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
    a folder or archive that have the same columns are one table.
    """
    path = None if isinstance(source, bytes) else Path(source)
    name = name or (unnamed if path is None else path.name)
    if path is not None and path.is_dir():
        return _released(read_source(source_of(path), task))
    try:
        data = source if isinstance(source, bytes) else _bytes_of(Path(source), name)
        check_bytes(len(data))
        table = recognised(data, name, task) if records is None else None
        table = read_table(data, name, records) if table is None else table
    except InputError as error:
        raise (error if error.file is not None else error.in_file(name)) from None
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
        raise unopened(error, name) from None


_NUMBERED = re.compile(r"(.*?)\d+")
_FEWEST, _SHARE = 5, 0.5
_MANY = 10
_PEOPLE = JUDGE_WORDS | {"response", "respondent", "person", "pid", "name", "id"}


def named_items(table: RawTable, ids: Collection[str]) -> list[str]:
    """Return the columns that are items by their names, where most ids are names of columns."""
    known = {name.strip() for name in ids}
    columns = [name for name in table.columns if name.strip() in known]
    if len(columns) < max(_FEWEST, _SHARE * len(known)):
        return []
    # Items without a label are numbered in the same way.
    stems = {match[1] for match in map(_NUMBERED.fullmatch, columns) if match is not None}
    numbered = {name: _NUMBERED.fullmatch(name) for name in table.columns}
    alike = {name for name, match in numbered.items() if match is not None and match[1] in stems}
    return [name for name in table.columns if name in alike or name.strip() in known]


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
    named = [name for name in unique if _PEOPLE & set(tokens_of(name))]
    return next(iter(named or unique), None)


def transposed(table: RawTable, items: Sequence[str]) -> RawTable:
    """Return a table with one row per column of ``items`` (all but the names of rows by default).

    The rows become columns, called by the column that tells them apart or by their numbers.
    """
    names_from = _names_of_rows(table, [name for name in table.columns if name not in items])
    items = list(items) or [name for name in table.columns if name != names_from]
    check_columns(table.n_rows)
    if not items:
        raise InputError("no columns to turn into rows", remedy=f"do without it {TRANSPOSE}")
    cells = np.stack([table.frame[name].astype(str).to_numpy() for name in items])
    if names_from is None:
        names = [f"row {table.row(k)}" for k in range(table.n_rows)]
    else:
        names = table.frame[names_from].astype(str).str.strip().tolist()
    id_name = next(name for name in ID_NAMES if name not in names)
    cells_by_name = {id_name: text_column(np.arange(len(items)), list(items))}
    for name, own in zip(names, cells.T, strict=True):
        words, codes = np.unique(own, return_inverse=True)
        cells_by_name[name] = text_column(codes, words.tolist())
    dropped = [n for n in table.columns if n not in items and n != names_from]
    named = "" if names_from is None else f", named by {quote_value(names_from)},"
    unused = f"; not used: {listed(dropped)}." if dropped else "."
    note = f"Rows are judges{named} and {len(items)} columns are items{unused}"
    frame = pd.DataFrame(cells_by_name, copy=False)
    notes = (*table.notes, note)
    return replace(table, frame=frame, first_row=1, lines=None, header_row=None, notes=notes)


def refuse_people_as_rows(table: RawTable, items: Sequence[str]) -> InputError:
    """Return the refusal of a table whose rows seem to be judges."""
    return InputError(
        f"rows seem to be judges and columns items, from {quote_value(items[0])} to "
        f"{quote_value(items[-1])}",
        file=table.name,
        row=table.header_row,
        allowed="one row per item, or one row per vote",
        remedy=f"turn the table {TRANSPOSE}; labels may be a row of it, or stand in another file "
        "by the names of these columns",
    )
