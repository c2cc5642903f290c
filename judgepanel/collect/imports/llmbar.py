"""LLMBar's folders: SUBSET/evaluators/MODEL/STRATEGY/result.json, both orders of every item.

The layout is that of princeton-nlp/LLMBar (arXiv 2310.07641): a list of items with ``label`` 1 or
2 and ``results``, one entry a stage. An entry has the output under 'swap = False' and
'swap = True', or two scores that were given apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgepanel.collect.imports.rows import Found, Row, files_below, json_of
from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError

PATTERN = "**/evaluators/*/*/result.json"
WANTED = "a folder with SUBSET/evaluators/MODEL/STRATEGY/result.json"
_ORDERS = {"swap = False": "AB", "swap = True": "BA"}


def read_llmbar(path: Path) -> Found:
    """Outputs of all evaluators below a folder; items are SUBSET-000 and on, in their order."""
    if path.is_file():
        raise InputError("is a file", file=path.name, allowed=WANTED)
    files = files_below(path, PATTERN, WANTED)
    left_out: Counter[str] = Counter()
    return Found(_rows(files, left_out), left_out)


def _rows(files: list[Path], left_out: Counter[str]) -> Iterator[Row]:
    for file in files:
        strategy, model, subset = file.parts[-2], file.parts[-3], file.parts[-5]
        items = json_of(file)
        if not isinstance(items, list):
            raise InputError("holds no list of items", file="/".join(file.parts[-5:]))
        for number, item in enumerate(items):
            try:
                yield from _of_item(item, subset, number, f"{model}/{strategy}", left_out)
            except (KeyError, TypeError, AttributeError, IndexError):
                raise InputError(
                    f"item {number + 1} is not as LLMBar writes them",
                    file="/".join(file.parts[-5:]),
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
