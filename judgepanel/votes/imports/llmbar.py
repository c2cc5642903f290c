"""LLMBar's folders: SUBSET/evaluators/MODEL/STRATEGY/result.json, both orders of every item.

The layout is that of princeton-nlp/LLMBar (arXiv 2310.07641): a list of items with ``label`` 1 or
2 and ``results``, one entry per stage. An entry has the output under 'swap = False' and
'swap = True', or two scores that were given apart. Evaluators that first write metrics or an
answer of their own have each of these as a list of the text and why it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import ImportedRows, LeftOut, Row
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import EXPORT_AGAIN

WANTED = "a folder with SUBSET/evaluators/MODEL/STRATEGY/result.json"
_RESULT = re.compile(r"(?:.*/)?([^/]+)/evaluators/([^/]+)/([^/]+)/result\.json\Z")
_ORDERS = {"swap = False": "AB", "swap = True": "BA"}


def named(path: str) -> bool:
    """Whether the file is where LLMBar has its results."""
    return _RESULT.match(path) is not None


def fits(document: Document) -> bool:
    """Whether the file is where LLMBar has its results."""
    return named(document.path)


def read_file(document: Document, left_out: LeftOut) -> list[Row]:
    """Outputs of the evaluator whose file this is."""
    place = _RESULT.match(document.path)
    if place is None or not isinstance(document.whole, list):
        raise InputError("holds no list of items", file=document.file, remedy=EXPORT_AGAIN)
    subset, model, strategy = place.groups()
    rows: list[Row] = []
    for number, item in enumerate(document.whole):
        try:
            rows += _of_item(item, subset, number, f"{model}/{strategy}", left_out)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise InputError(
                f"item {number + 1} is not as LLMBar writes them",
                file=document.file,
                allowed="label and results",
                remedy=EXPORT_AGAIN,
            ) from None
    return rows


def together(files: Sequence[list[Row]], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Outputs of all evaluators; items are SUBSET-000 and on, in their order."""
    return ImportedRows(chain.from_iterable(files), left_out)


def _of_item(
    item: dict[str, Any], subset: str, number: int, judge: str, left_out: LeftOut
) -> Iterator[Row]:
    about = {
        "item_id": f"{subset}-{number:03d}",
        "judge": judge,
        "label": {1: 1, 2: 0}[item["label"]],
        "feat_subset": subset,
    }
    compares = False
    for stage, entry in enumerate(item["results"], start=1):
        if _prepares(entry):
            continue
        compares = True
        if "score_1" in entry:
            scores = entry["score_1"][0], entry["score_2"][0]
            row = {"order": "AB", "score_a": scores[0], "score_b": scores[1]}
            if all(is_number(str(score).strip().lower()) for score in scores):
                yield {**about, "stage": stage, **row}
            else:
                left_out["scores that are no numbers"] += 1
            continue
        for name, order in _ORDERS.items():
            output = entry[name].get("completion")
            if output is None:
                left_out["outputs that are not there"] += 1
            else:
                yield {**about, "stage": stage, "order": order, "text": output[0] or ""}
    if not compares:
        left_out["items that were never compared"] += 1


def _prepares(entry: Any) -> bool:
    """Whether a stage compares nothing: [text, why it ended], as metrics and references are."""
    return isinstance(entry, list) and all(isinstance(part, str | None) for part in entry)
