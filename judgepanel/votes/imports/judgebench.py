"""JudgeBench's outputs: one JSON Lines file per judge, two judgments per item, the second turned
around.

The layout is that of ScalerLab/JudgeBench (arXiv 2410.12784): ``pair_id``, ``source``, ``label``
'A>B' or 'B>A', and ``judgments``, the first with the responses as given, the second with them
exchanged; a reward model has ``scores`` in place of a ``response``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import ImportedRows, LeftOut, Row
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import EXPORT_AGAIN

WANTED = "a folder with dataset=judgebench,...,judge_name=...,judge_model=....jsonl, or one of them"
_MODEL = re.compile(r"judge_model=(.+?)\.jsonl\Z")
_LABELS = {"A>B": 1, "B>A": 0}


def named(path: str) -> bool:
    """Whether the file may be one of JudgeBench's."""
    return path.endswith(".jsonl")


def fits(document: Document) -> bool:
    """Whether there are judgments in a file of JSON Lines."""
    first = document.lines[0][1] if document.lines else None
    return isinstance(first, dict) and {"pair_id", "judge_name", "judgments"} <= first.keys()


def read_file(document: Document, left_out: LeftOut) -> list[Row]:
    """Outputs of the judge whose file this is."""
    model = _MODEL.search(document.path)
    rows: list[Row] = []
    for number, pair in document.lines:
        try:
            rows += _of_line(pair, model[1] if model else "unknown", left_out)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                "not a line as JudgeBench writes them",
                file=document.file,
                row=number,
                allowed="pair_id, source, label, judge_name and judgments",
                remedy=EXPORT_AGAIN,
            ) from None
    return rows


def together(files: Sequence[list[Row]], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Outputs of all judges."""
    return ImportedRows(chain.from_iterable(files), left_out)


def _of_line(pair: dict[str, Any], model: str, left_out: LeftOut) -> Iterator[Row]:
    about = {
        "item_id": str(pair["pair_id"]),
        "judge": f"{pair['judge_name']}/{model}",
        "label": _LABELS[pair["label"]],
        "feat_source": str(pair["source"]),
        "feat_response_model": str(pair.get("response_model", "")),
    }
    for order, judgment in zip(("AB", "BA"), pair["judgments"], strict=False):
        row = _verdict_row(judgment)
        if row is None:
            left_out["judgments that are not there"] += 1
        else:
            yield {**about, "order": order, **row}


def _verdict_row(judgment: dict[str, Any] | None) -> Row | None:
    sentence = None if judgment is None else judgment.get("judgment")
    if sentence is None:
        return None
    if "scores" in sentence:
        first, second = sentence["scores"]
        return {"score_a": first, "score_b": second}
    return {"text": sentence["response"] or ""}
