"""RewardBench's results on each prompt: scores of the chosen and of the rejected responses.

The layout is that of allenai/reward-bench (arXiv 2403.13787), folder eval-set-scores: one JSON
object a model with lists ``id``, ``subset``, ``results`` and, of reward models, ``scores_chosen``
and ``scores_rejected``. The chosen response comes first everywhere, so every label would be 1, and
any calibrator would learn that alone; each item is therefore turned around or not by its own id.

RewardBench 2 (arXiv 2506.01937) has a list ``scores`` for each prompt, those of the ``num_correct``
right responses first. Each wrong response is a pair with a right one, and the pairs of a prompt are
a group.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from judgepanel.votes.cells import is_number
from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import ImportedRows, LeftOut, Row, turned
from judgepanel.votes.imports.source import Document
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import EXPORT_AGAIN

WANTED = "a file of eval-set-scores (id, subset, results), or a folder with them"
_LISTS = ("id", "subset", "results")
_NO_NUMBERS = "results that are no numbers"


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
            "not as RewardBench writes them",
            file=document.file,
            allowed="lists of one length",
            remedy=EXPORT_AGAIN,
        ) from None


def together(files: Sequence[list[Row]], left_out: LeftOut, task: Task | None) -> ImportedRows:
    """Scores of all models; items are SUBSET-ID, and about half of them are turned around.

    Each prompt of RewardBench 1 is a group of its own beside those of RewardBench 2.
    """
    rows = list(chain.from_iterable(files))
    margins = _margins(rows)
    about = {item: {"feat_margin": margin} for item, margin in margins.items()}
    if any("group_id" in row for row in rows):
        rows = [{"group_id": row["item_id"], **row} for row in rows]
    return ImportedRows(({**row, **about.get(row["item_id"], {})} for row in rows), left_out)


def _of_model(content: dict[str, Any], name: str, left_out: LeftOut) -> Iterator[Row]:
    judge = _single(content.get("model")) or name.removesuffix(".json")
    if "num_correct" in content:
        yield from _of_lists(content, judge, left_out)
        return
    blank: list[Any] = [None] * len(content["id"])
    chosen, rejected = (content.get(key) or blank for key in ("scores_chosen", "scores_rejected"))
    for number, subset, right, won, lost in zip(
        content["id"], content["subset"], content["results"], chosen, rejected, strict=True
    ):
        scores = _number(won), _number(lost)
        if None in scores:
            # A generative judge has no scores, only whether it was right; .5 is a tie.
            share = _number(right)
            scores = (None, None) if share is None else (share, 1 - share)
        if None in scores:
            left_out[_NO_NUMBERS] += 1
        else:
            yield _pair(f"{subset}-{number}", judge, subset, scores)


def _of_lists(content: dict[str, Any], judge: str, left_out: LeftOut) -> Iterator[Row]:
    """Pairs of RewardBench 2: one per wrong response, with the right ones in turn."""
    blank: list[Any] = [None] * len(content["id"])
    for number, subset, scores, n_right in zip(
        *(content["id"], content["subset"], content.get("scores") or blank),
        content["num_correct"],
        strict=True,
    ):
        if not isinstance(scores, list):
            left_out["prompts whose responses have no scores"] += 1
            continue
        right, wrong = scores[: int(n_right)], scores[int(n_right) :]
        for place, lost in enumerate(wrong):
            pair = _number(right[place % len(right)]), _number(lost)
            if None in pair:
                left_out[_NO_NUMBERS] += 1
                continue
            prompt = f"{subset}-{number}"
            yield {**_pair(f"{prompt}/{place + 1}", judge, subset, pair), "group_id": prompt}


def _pair(item: str, judge: str, subset: Any, scores: tuple[float | None, float | None]) -> Row:
    """A judge's scores of the right and of the wrong response, in the item's own order."""
    first, second = scores[::-1] if turned(item) else scores
    return {
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
