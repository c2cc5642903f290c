"""RewardBench's results on each prompt: scores of the chosen and of the rejected response.

The layout is that of allenai/reward-bench (arXiv 2403.13787), folder eval-set-scores: one JSON
object a model with lists ``id``, ``subset``, ``results`` and, of reward models, ``scores_chosen``
and ``scores_rejected``. The chosen response comes first everywhere, so every label would be 1, and
any calibrator would learn that alone; each item is therefore turned around or not by its own id.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.document import Document
from judgepanel.votes.imports.rows import ImportedRows, LeftOut, Row
from judgepanel.votes.matrix import Task

WANTED = "a file of eval-set-scores (id, subset, results), or a folder with them"
_LISTS = ("id", "subset", "results")


def named(path: str) -> bool:
    """Whether the file may be one of RewardBench's."""
    return path.endswith(".json")


def fits(document: Document) -> bool:
    """Whether the file holds results as lists."""
    whole = document.whole
    return isinstance(whole, dict) and all(isinstance(whole.get(key), list) for key in _LISTS)


def read_file(document: Document, left_out: LeftOut) -> list[Row]:
    """Scores of the model whose file this is."""
    try:
        return list(_of_model(document.whole, document.path, left_out))
    except (ValueError, TypeError, IndexError, KeyError):
        raise InputError(
            "not as RewardBench writes them", file=document.file, allowed="lists of one length"
        ) from None


def together(files: Sequence[list[Row]], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Scores of all models; items are SUBSET-ID, and about half of them are turned around."""
    rows = list(chain.from_iterable(files))
    margins = _margins(rows)
    about = {item: {"feat_margin": margin} for item, margin in margins.items()}
    return ImportedRows(({**row, **about.get(row["item_id"], {})} for row in rows), left_out)


def turned(item: str) -> bool:
    """Whether the rejected response comes first: a coin that depends on the item's id alone."""
    return hashlib.sha256(item.encode("utf-8", "backslashreplace")).digest()[0] % 2 == 1


def _of_model(content: dict[str, Any], name: str, left_out: LeftOut) -> Iterator[Row]:
    judge = _single(content.get("model")) or name.removesuffix(".json")
    n = len(content["id"])
    results = content["results"]
    blank: list[Any] = [None] * n
    chosen, rejected = (content.get(key) or blank for key in ("scores_chosen", "scores_rejected"))
    for number, subset, right, won, lost in zip(
        content["id"], content["subset"], results, chosen, rejected, strict=True
    ):
        scores = _number(won), _number(lost)
        if None in scores:
            # A generative judge has no scores, only whether it was right; .5 is a tie.
            share = _number(right)
            scores = (None, None) if share is None else (share, 1 - share)
        if None in scores:
            left_out["results that are no numbers"] += 1
            continue
        item = f"{subset}-{number}"
        first, second = scores[::-1] if turned(item) else scores
        yield {
            "item_id": item,
            "judge": judge,
            "label": int(not turned(item)),
            "feat_subset": str(subset),
            "order": "AB",
            "score_a": first,
            "score_b": second,
        }


def _single(model: Any) -> str:
    """The name of a model, also where it is written once a prompt."""
    if isinstance(model, list):
        model = model[0] if model else None
    return "" if model is None else str(model)


def _number(value: Any) -> float | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or isinstance(value, list | dict):
        return None
    word = str(value).strip().lower()
    return float(word) if is_number(word) else None


def _margins(rows: list[Row]) -> dict[str, float]:
    """Of each item the median, over judges that score, of |difference| / that judge's median."""
    by_judge: dict[str, list[float]] = {}
    for row in rows:
        by_judge.setdefault(row["judge"], []).append(abs(row["score_a"] - row["score_b"]))
    unit = {
        judge: statistics.median(sizes) for judge, sizes in by_judge.items() if len(set(sizes)) > 2
    }
    by_item: dict[str, list[float]] = {}
    for row in rows:
        if unit.get(row["judge"], 0) > 0:
            size = abs(row["score_a"] - row["score_b"]) / unit[row["judge"]]
            by_item.setdefault(row["item_id"], []).append(size)
    return {item: round(statistics.median(sizes), 4) for item, sizes in by_item.items()}
