"""Scores exported from Langfuse: evaluators are the judges, annotations by people the label.

A row per score: ``trace_id``, ``observation_id``, ``name``, ``value``, ``source`` (EVAL, API or
ANNOTATION) and ``data_type``, a category as ``string_value``; names in camel case are read as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from judgepanel.votes.imports.rows import ImportedRows, LeftOut, Row, label_in
from judgepanel.votes.imports.runs import Run, graded_runs
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task

WANTED = "a .csv, .json or .jsonl of scores (trace_id, name, value, source)"
_KEYS = {"traceid", "name", "value", "source"}
_BY_PERSON = "annotation"


def named(path: str) -> bool:
    """Whether the file may be a table of scores."""
    return path.lower().endswith((".csv", ".tsv", ".json", ".jsonl", ".parquet"))


def fits(document: Document) -> bool:
    """Whether there are scores of traces."""
    return _plain(document.first).keys() >= _KEYS


def read_file(document: Document, left_out: LeftOut) -> list[Row]:
    """Scores in a file, by the names of their fields in lower case and without a dash."""
    scores: list[Row] = []

    def read(record: Row) -> None:
        score = _plain(record)
        if not score["traceid"]:
            left_out["scores of no trace"] += 1
        else:
            scores.append({**score, "name": str(score["name"])})

    document.each(read, WANTED)
    return scores


def together(files: Sequence[list[Row]], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Scores of all files: an item per trace, or per observation in it.

    Annotations of one name are the label. Of several names each is a judge, of which one can be
    chosen as the label.
    """
    scores = list(chain.from_iterable(files))
    annotated = dict.fromkeys(score["name"] for score in scores if _by_person(score))
    grades: dict[str, Row] = {}
    traces: dict[str, str] = {}
    for score in scores:
        trace = str(score["traceid"])
        place = score.get("observationid")
        item = f"{trace}/{place}" if place else trace
        name = score["name"]
        if _by_person(score):
            alone = len(annotated) == 1 or label_in({name: 1}) is not None
            name = "label" if alone else f"{name} ({_BY_PERSON})"
        by_name = grades.setdefault(item, {})
        left_out["scores that were given again"] += name in by_name
        by_name[name] = _value(score)
        traces[item] = trace
    return graded_runs([Run(item, traces[item], of) for item, of in grades.items()], left_out)


def _plain(record: Row) -> Row:
    return {str(name).lower().replace("_", ""): value for name, value in record.items()}


def _by_person(score: Row) -> bool:
    return str(score["source"]).lower() == _BY_PERSON


def _value(score: Row) -> Any:
    category = score.get("stringvalue")
    return category if category not in (None, "") else score["value"]
