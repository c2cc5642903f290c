"""LLMBar's folders: SUBSET/evaluators/MODEL/STRATEGY/result.json, both orders of every item.

The layout is that of princeton-nlp/LLMBar (arXiv 2310.07641): a list of items with ``label`` 1 or
2 and ``results``, one entry a stage. An entry has the output under 'swap = False' and
'swap = True', or two scores that were given apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import Found, Row
from judgepanel.votes.imports.source import Source, json_in, member

WANTED = "a folder with SUBSET/evaluators/MODEL/STRATEGY/result.json"
_RESULT = re.compile(r"(?:.*/)?([^/]+)/evaluators/([^/]+)/([^/]+)/result\.json\Z")
_ORDERS = {"swap = False": "AB", "swap = True": "BA"}


def fits(source: Source) -> bool:
    """Whether there is a result where LLMBar has it."""
    return any(_RESULT.match(name) for name in source.names)


def read(source: Source) -> Found:
    """Outputs of all evaluators; items are SUBSET-000 and on, in their order."""
    left_out: Counter[str] = Counter()
    return Found(_rows(source, left_out), left_out)


def _rows(source: Source, left_out: Counter[str]) -> Iterator[Row]:
    for name in source.names:
        place = _RESULT.match(name)
        if place is None:
            continue
        subset, model, strategy = place.groups()
        file = member(source, name)
        items = json_in(source.read(name), file)
        if not isinstance(items, list):
            raise InputError("holds no list of items", file=file)
        for number, item in enumerate(items):
            try:
                yield from _of_item(item, subset, number, f"{model}/{strategy}", left_out)
            except (KeyError, TypeError, AttributeError, IndexError):
                raise InputError(
                    f"item {number + 1} is not as LLMBar writes them",
                    file=file,
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
