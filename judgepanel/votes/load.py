"""Loading a vote matrix from a path or an upload in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.columns import Mapping, guess_mapping
from judgepanel.votes.companions import with_labels
from judgepanel.votes.errors import InputError, unopened
from judgepanel.votes.files import check_bytes, read_table
from judgepanel.votes.forms import implied_task
from judgepanel.votes.from_arrow import dataset_files, is_dataset, read_dataset
from judgepanel.votes.from_jsonl import read_jsonl
from judgepanel.votes.grades import NOTHING_KNOWN, GivenThresholds, KnownThresholds
from judgepanel.votes.imports import KINDS, recognised
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import CHECK_PATH, PAIRWISE
from judgepanel.votes.table import RawTable
from judgepanel.votes.transcripts import transcribed

ALLOWED_SOURCES = "a file, or a dataset that save_to_disk of Hugging Face's datasets has written"
READ_AS_POINTWISE = (
    "Verdicts say whether one response is good, so that items are single responses (pointwise). "
    f"If they are pairs, say so {PAIRWISE}."
)


def load_votes(  # noqa: PLR0913 - each is a column, or what a file cannot say
    source: str | Path | bytes | RawTable,
    *,
    name: str | None = None,
    task: Task | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    group_column: str | None = None,
    judge_columns: Sequence[str] = (),
    features: Sequence[str] = (),
    ignore: Sequence[str] = (),
    labels: str | Path | bytes | RawTable | None = None,
    judge_table: str | Path | bytes | RawTable | None = None,
    need_labels: bool = True,
    thresholds: GivenThresholds = None,
    known_thresholds: KnownThresholds = NOTHING_KNOWN,
    records: str | None = None,
) -> Loaded:
    """Read votes from a path, from the bytes of an upload called ``name``, or from a raw table.

    Columns that are not given are guessed (see ``guess_mapping``), and so is the task: pairwise
    unless the file says otherwise or has verdicts such as yes and no. ``labels`` is a table of
    labels (see ``with_labels``); ``label_column`` is then one of its columns. ``thresholds`` cut
    scores into votes, for all judges or by judge; ``known_thresholds`` are those of a panel that is
    to score the votes (see ``scales_of``). ``records`` is the path of the list of records in a JSON
    document (see ``lines_of``).

    Raises
    ------
    InputError
        One sentence with file, row, column, value and what is allowed.
    """
    judge_columns, features, ignore = map(_as_tuple, (judge_columns, features, ignore))
    if isinstance(source, RawTable):
        table = source
    else:
        table = open_table(source, name, task=task, records=records)
    if labels is not None and not isinstance(labels, RawTable):
        labels = open_table(labels, None, "the label table")
    table, mapping = map_columns(
        table,
        labels,
        id_column=id_column,
        label_column=label_column,
        group_column=group_column,
        judge_columns=judge_columns,
        features=features,
        ignore=ignore,
        need_label=need_labels,
    )
    task = task or table.task
    if task is None and implied_task(table, mapping) == "pointwise":
        task, table = "pointwise", replace(table, notes=(*table.notes, READ_AS_POINTWISE))
    judges = judge_table
    if judges is not None and not isinstance(judges, RawTable):
        judges = open_table(judges, None, "the judge table")
    return build_votes(
        table,
        mapping,
        task=task or "pairwise",
        judge_table=judges,
        need_labels=need_labels,
        thresholds=thresholds,
        known_thresholds=known_thresholds,
    )


def _as_tuple(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return one name or several, in whatever holds them, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def map_columns(
    table: RawTable,
    labels: RawTable | None = None,
    *,
    label_column: str | None = None,
    need_label: bool = True,
    **roles: Any,
) -> tuple[RawTable, Mapping]:
    """Return the table and its column roles, with labels from the votes or from another file.

    ``roles`` are the arguments of ``guess_mapping``. With ``labels``, the returned table has them
    as a new column, and ``label_column`` is a column of ``labels``.
    """
    if labels is not None:
        votes = guess_mapping(table, need_label=False, **roles)
        table, label_column = with_labels(table, votes, labels, label_column)
    return table, guess_mapping(table, label_column=label_column, need_label=need_label, **roles)


def open_table(
    source: str | Path | bytes,
    name: str | None = None,
    unnamed: str = "the upload",
    *,
    task: Task | None = None,
    records: str | None = None,
) -> RawTable:
    """Return the raw table in a file, or in bytes called ``name``; judge outputs become verdicts.

    Files written by other tools (see ``judgepanel.votes.imports``) are recognised by their content;
    ``task`` selects pairs or single responses if such a file holds both. ``records`` is the path of
    the list of records in a JSON document, which is then not taken for another tool's. A folder is
    read if Hugging Face's ``save_to_disk`` wrote it.
    """
    table = _open(source, name, unnamed, task, records)
    # Arrow would keep what reading took: a fifth of a gigabyte for a million rows.
    pa.default_memory_pool().release_unused()
    return table


def _open(
    source: str | Path | bytes,
    name: str | None,
    unnamed: str,
    task: Task | None,
    records: str | None,
) -> RawTable:
    if isinstance(source, bytes):
        return _read(source, name or unnamed, task, records)
    path = Path(source)
    name = name or path.name
    if records is None and is_dataset(path):
        return _read_dataset(path, name)
    if not path.is_file():
        if path.is_dir():
            raise InputError(
                "this is a folder, not a file",
                file=name,
                allowed=ALLOWED_SOURCES,
                remedy="name a file in it",
            )
        raise InputError("there is no such file", file=name, remedy=CHECK_PATH)
    return _read(_bytes_of([path], name)[0], name, task, records)


def _bytes_of(paths: Sequence[Path], name: str) -> list[bytes]:
    """Return the content of the files of one upload."""
    try:
        check_bytes(sum(path.stat().st_size for path in paths))
        return [path.read_bytes() for path in paths]
    except InputError as error:
        raise error.in_file(name) from None
    except OSError as error:
        raise unopened(error, name) from None


def _read_dataset(folder: Path, name: str) -> RawTable:
    parts = _bytes_of(dataset_files(folder), name)
    try:
        return transcribed(read_dataset(parts, name))
    except InputError as error:
        raise (error if error.file is not None else error.in_file(name)) from None


def _read(data: bytes, name: str, task: Task | None, records: str | None) -> RawTable:
    try:
        check_bytes(len(data))
        if records is not None:
            return replace(transcribed(read_table(data, name, records)), records=records)
        source = recognised(data, name, task)
        if source is None:
            return transcribed(read_table(data, name))
        kind, rows = source
        table = read_jsonl(rows.lines(name), name)
    except InputError as error:
        raise (error if error.file is not None else error.in_file(name)) from None
    notes = (f"Read as {KINDS[kind].title}.", *rows.notes())
    return transcribed(replace(table, notes=notes, task=rows.task))
