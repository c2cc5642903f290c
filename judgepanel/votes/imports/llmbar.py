"""LLMBar's folders: SUBSET/evaluators/MODEL/STRATEGY/result.json, both orders of every item.

The layout is that of princeton-nlp/LLMBar (arXiv 2310.07641): a list of items with ``label`` 1 or
2 and ``results``, one entry a stage. An entry has the output under 'swap = False' and
'swap = True', or two scores that were given apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.document import Document
from judgepanel.votes.imports.rows import Found, Row

WANTED = "a folder with SUBSET/evaluators/MODEL/STRATEGY/result.json"
_RESULT = re.compile(r"(?:.*/)?([^/]+)/evaluators/([^/]+)/([^/]+)/result\.json\Z")
_ORDERS = {"swap = False": "AB", "swap = True": "BA"}


def named(path: str) -> bool:
    """Whether the file is where LLMBar has its results."""
    return _RESULT.match(path) is not None


def fits(found: Document) -> bool:
    """Whether the file is where LLMBar has its results."""
    return named(found.path)


def read(found: Iterable[Document], left_out: Counter[str]) -> Found:
    """Outputs of all evaluators; items are SUBSET-000 and on, in their order."""
    return Found(_rows(found, left_out), left_out)


def _rows(found: Iterable[Document], left_out: Counter[str]) -> Iterator[Row]:
    for one in found:
        place = _RESULT.match(one.path)
        if place is None:
            continue
        subset, model, strategy = place.groups()
        if not isinstance(one.whole, list):
            raise InputError("holds no list of items", file=one.file)
        for number, item in enumerate(one.whole):
            try:
                yield from _of_item(item, subset, number, f"{model}/{strategy}", left_out)
            except (KeyError, TypeError, AttributeError, IndexError):
                raise InputError(
                    f"item {number + 1} is not as LLMBar writes them",
                    file=one.file,
                    allowed="label and results",
                ) from None


def _of_item(
    item: dict[str, Any], subset: str, number: int, judge: str, left_out: Counter[str]
) -> Iterator[Row]:
    about = {
        "item_id": f"{subset}-{number:03d}",
        "judge": judge,
        "label": {1: 1, 2: 0}[item["label"]],
        "feat_subset": subset,
    }
    for stage, entry in enumerate(item["results"], start=1):
        if "score_1" in entry:
            scores = entry["score_1"][0], entry["score_2"][0]
            row = {"order": "AB", "score_a": scores[0], "score_b": scores[1]}
            if all(is_number(str(score).strip().lower()) for score in scores):
                yield {**about, "stage": stage, **row}
            else:
                left_out["scores that are no numbers"] += 1
            continue
        for name, order in _ORDERS.items():
            said = entry[name].get("completion")
            if said is None:
                left_out["outputs that are not there"] += 1
            else:
                yield {**about, "stage": stage, "order": order, "text": said[0] or ""}
