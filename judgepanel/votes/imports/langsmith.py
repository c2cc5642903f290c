"""Experiments of LangSmith, saved from ``to_pandas``: evaluators are the judges.

A row per run: ``id``, ``example_id``, ``error``, and columns ``inputs.NAME``, ``outputs.NAME``,
``reference.NAME`` and ``feedback.NAME``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from judgepanel.votes.imports.rows import ImportedRows, LeftOut, Row
from judgepanel.votes.imports.runs import Run, graded_runs
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task

WANTED = "a .csv or .json of an experiment (id, example_id, feedback.NAME)"
_FEEDBACK, _KNOWN = "feedback.", ("inputs.", "reference.")


def named(path: str) -> bool:
    """Whether the file may be a table of runs."""
    return path.lower().endswith((".csv", ".tsv", ".json", ".jsonl", ".parquet"))


def fits(document: Document) -> bool:
    """Whether there are runs with feedback."""
    keys = document.first.keys()
    return {"example_id", "id"} <= keys and any(key.startswith(_FEEDBACK) for key in keys)


def read_file(document: Document, left_out: LeftOut) -> list[Run]:
    """Runs in a file; those that ended with an error are left out."""
    runs: list[Run] = []

    def read(record: Row) -> None:
        if record.get("error"):
            left_out["runs that ended with an error"] += 1
            return
        given = {name: value for name, value in record.items() if value not in ("", None)}
        about = {
            name.removeprefix(prefix): value
            for prefix in _KNOWN
            for name, value in given.items()
            if name.startswith(prefix)
        }
        grades = {
            name.removeprefix(_FEEDBACK): value
            for name, value in given.items()
            if name.startswith(_FEEDBACK)
        }
        runs.append(Run(str(record["id"]), str(record["example_id"]), grades, about))

    document.each(read, WANTED)
    return runs


def together(files: Sequence[list[Run]], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Runs of all experiments; those on one example are a group."""
    return graded_runs(list(chain.from_iterable(files)), left_out)
