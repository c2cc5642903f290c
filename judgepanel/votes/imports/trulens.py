"""Records of TruLens, saved from ``get_records_and_feedback``: feedback functions are the judges.

A row per record: ``record_id``, the app (``app_id``, or ``app_name`` and ``app_version``),
``input``, ``output``, and for each feedback function its score and a column of the same name and
``_calls``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from judgepanel.votes.imports.rows import ImportedRows, LeftOut, Row
from judgepanel.votes.imports.runs import Run, graded_runs
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task

WANTED = "a .csv or .json of get_records_and_feedback (record_id, input, output, NAME, NAME_calls)"
_CALLS = "_calls"
_APP = ("app_id", "app_name", "app_version")


def named(path: str) -> bool:
    """Whether the file may be a table of records."""
    return path.lower().endswith((".csv", ".tsv", ".json", ".jsonl", ".parquet"))


def fits(document: Document) -> bool:
    """Whether there are records with feedback."""
    return "record_id" in document.first and bool(_feedback(document.first))


def read_file(document: Document, left_out: LeftOut) -> list[Run]:
    """Records in a file."""
    runs: list[Run] = []

    def read(record: Row) -> None:
        given = {name: value for name, value in record.items() if value not in ("", None)}
        grades = {name: given[name] for name in _feedback(record) if name in given}
        about = {name: given[name] for name in _APP if name in given}
        runs.append(Run(str(record["record_id"]), str(record.get("input")), grades, about))

    document.each(read, WANTED)
    return runs


def together(files: Sequence[list[Run]], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Records of all files; those with the same input are a group."""
    runs = list(chain.from_iterable(files))
    numbers = {text: number for number, text in enumerate(dict.fromkeys(r.group for r in runs), 1)}
    return graded_runs(
        [Run(run.item, f"input {numbers[run.group]}", run.grades, run.about) for run in runs],
        left_out,
    )


def _feedback(record: Row) -> list[str]:
    return [name for name in record if f"{name}{_CALLS}" in record]
