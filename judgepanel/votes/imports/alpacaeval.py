"""Annotations of AlpacaEval: how far each annotator prefers the second of two outputs.

The layout is that of tatsu-lab/alpaca_eval (MODEL/ANNOTATOR/annotations.json): a list of objects
with ``instruction``, ``output_1``, ``output_2``, ``annotator`` and ``preference``, 1 for the first,
2 for the second, anything between for a share, 1.5 and 0 for a tie. Annotations of people have an
``annotator_index``. A pair is known by its texts, as there is no id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from judgepanel.votes.imports.people import pair_of, share_row, with_labels
from judgepanel.votes.imports.rows import HALF, ImportedRows, LeftOut, Row, share_of
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task

WANTED = "a file of annotations (instruction, output_1, output_2, preference), or a folder of them"
_KEYS = {"instruction", "output_1", "output_2", "preference"}
_DIGITS = 10


@dataclass(slots=True)
class _Annotations:
    models: list[Row] = field(default_factory=list)
    people: list[Row] = field(default_factory=list)


def named(path: str) -> bool:
    """Whether the file may hold annotations."""
    return path.lower().endswith((".json", ".jsonl"))


def fits(document: Document) -> bool:
    """Whether the first record is an annotation."""
    return document.first.keys() >= _KEYS


def read_file(document: Document, left_out: LeftOut) -> _Annotations:
    """Annotations in a file; those that do not name their annotator are called by their folder."""
    annotations = _Annotations()
    folder = PurePosixPath(document.path).parent.name or PurePosixPath(document.path).stem

    def read(record: Row) -> None:
        share = _share(record["preference"])
        if share is None:
            left_out["annotations without a preference"] += 1
            return
        by_person = record.get("annotator_index") is not None and not record.get("annotator")
        judge = record["annotator_index"] if by_person else record.get("annotator") or folder
        question = _short(f"{record['instruction']}\n{record.get('input') or ''}")
        outputs = _short(str(record["output_1"])), _short(str(record["output_2"]))
        item, order = pair_of(question, *outputs)
        row = share_row(
            item, question, f"person {judge}" if by_person else str(judge), order, share
        )
        if record.get("dataset"):
            row["feat_dataset"] = str(record["dataset"])
        (annotations.people if by_person else annotations.models).append(row)

    document.each(read, "instruction, output_1, output_2 and preference")
    return annotations


def together(files: Sequence[_Annotations], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Annotations of all files."""
    models = chain.from_iterable(annotations.models for annotations in files)
    people = chain.from_iterable(annotations.people for annotations in files)
    return ImportedRows(with_labels(models, people, left_out), left_out)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


def _share(preference: Any) -> float | None:
    """How far the first output is preferred: 1 or 0, or a share between; .5 is a tie."""
    number = None if preference is None else share_of(preference)
    if number == 0:
        return HALF
    return 2 - number if number is not None and 1 <= number <= 2 else None
