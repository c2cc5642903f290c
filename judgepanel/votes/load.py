"""Loading a vote matrix from a path or an upload in one call.

A table whose rows are people and whose columns are items is turned before it has roles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.choices import SINGLE, Choices
from judgepanel.votes.columns import Columns, with_choices_joined, without_header_rows
from judgepanel.votes.companions import with_labels
from judgepanel.votes.errors import TRANSPOSE, InputError, listed, quote_value, unopened
from judgepanel.votes.formats import check_bytes, read_table
from judgepanel.votes.imports import read_source, recognised
from judgepanel.votes.matrix import Task
from judgepanel.votes.names import ID_NAMES, JUDGE_WORDS, tokens_of
from judgepanel.votes.outputs import transcribed
from judgepanel.votes.roles import guess_roles
from judgepanel.votes.rows import settled
from judgepanel.votes.sources import source_of
from judgepanel.votes.table import RawTable, column_names


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
    table = open_table(source, name, task=choices.task, records=choices.records)
    beside = {"the label table": labels, "the judge table": judge_table}
    label_table, about_judges = (
        None if own is None else open_table(own, None, unnamed) for unnamed, own in beside.items()
    )
    table, choices = prepared(table, choices, label_table)
    table, roles = settled(table, guess_roles(table, choices, need_label=need_labels))
    return build_votes(table, roles, choices, judge_table=about_judges, need_labels=need_labels)


def prepared(
    table: RawTable, choices: Choices, labels: RawTable | None = None
) -> tuple[RawTable, Choices]:
    """Return a table whose columns can have roles, and the choices that fit it.

    Outputs of judges become verdicts, further rows of a header are left out, a choice that is
    written as several flags is one column, rows that are judges become columns, and labels of
    another file are a new column.
    """
    table, notes = without_header_rows(table)
    table = transcribed(replace(table, notes=(*table.notes, *notes)), choices)
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
        table, label = with_labels(table, votes, labels, choices)
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
_MANY = 10
_PEOPLE = JUDGE_WORDS | {"response", "respondent", "person", "pid", "name", "id"}


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


def transposed(table: RawTable) -> RawTable:
    """Return a table with one row per numbered item, or per column if none is numbered.

    The rows become columns, called by the column that tells them apart or by their numbers.
    """
    items = numbered_items(table)
    names_from = _names_of_rows(table, [name for name in table.columns if name not in items])
    items = items or [name for name in table.columns if name != names_from]
    if not items:
        raise InputError("no columns to turn into rows", remedy=f"do without it {TRANSPOSE}")
    rows = [f"row {table.row(k)}" for k in range(table.n_rows)]
    if names_from is not None:
        rows = table.frame[names_from].astype(str).str.strip().tolist()
    names = column_names(rows, None)
    id_name = next(name for name in ID_NAMES if name not in names)
    cells, ids = table.frame[items].to_numpy().T, pd.Index(items, name=id_name)
    frame = pd.DataFrame(cells, ids, names).reset_index().astype("category")
    dropped = [n for n in table.columns if n not in items and n != names_from]
    named = "" if names_from is None else f", named by {quote_value(names_from)},"
    unused = f"; not used: {listed(dropped)}." if dropped else "."
    note = f"Rows are judges{named} and {len(items)} columns are items{unused}"
    notes = (*table.notes, note)
    return replace(table, frame=frame, first_row=1, lines=None, header_row=None, notes=notes)


def _refuse_people_as_rows(table: RawTable, choices: Choices) -> None:
    """Refuse a table without a label whose columns are numbered items, so that rows are judges."""
    items = numbered_items(table)
    if not items or guess_roles(table, choices, need_label=False).label_column:
        return
    span = f"{quote_value(items[0])} to {quote_value(items[-1])}"
    problem = f"rows seem to be judges and columns items, from {span}"
    labels = "labels may be a row of it, or stand in another file by the names of these columns"
    remedy = f"turn the table {TRANSPOSE}; {labels}"
    raise InputError(problem, "one row per item, or one row per vote", remedy).in_header(table)
