"""JudgeBench's outputs: a JSON Lines file a judge, two judgments an item, the second turned round.

The layout is that of ScalerLab/JudgeBench (arXiv 2410.12784): ``pair_id``, ``source``, ``label``
'A>B' or 'B>A', and ``judgments``, the first with the responses as given, the second with them
exchanged; a reward model has ``scores`` in place of a ``response``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.rows import Found, Row
from judgepanel.votes.imports.source import Source, json_lines, member

WANTED = "a folder with dataset=judgebench,...,judge_name=...,judge_model=....jsonl, or one of them"
_MODEL = re.compile(r"judge_model=(.+?)\.jsonl\Z")
_LABELS = {"A>B": 1, "B>A": 0}


def fits(source: Source) -> bool:
    """Whether there are judgments in a file of JSON Lines."""
    name = next(iter(_files(source)), None)
    if name is None:
        return False
    first = next(iter(json_lines(source.read(name).split(b"\n", 1)[0], name)), (0, None))[1]
    return isinstance(first, dict) and {"pair_id", "judge_name", "judgments"} <= first.keys()


def read(source: Source) -> Found:
    """Outputs of all judges in a folder, or in one file."""
    left_out: Counter[str] = Counter()
    return Found(_rows(source, left_out), left_out)


def _files(source: Source) -> list[str]:
    if len(source.names) == 1:
        return list(source.names)
    return [name for name in source.names if "judge_name=" in name and name.endswith(".jsonl")]


def _rows(source: Source, left_out: Counter[str]) -> Iterator[Row]:
    for name in _files(source):
        model = _MODEL.search(name)
        file = member(source, name)
        for number, pair in json_lines(source.read(name), file):
            try:
                yield from _of_line(pair, model[1] if model else "unknown", left_out)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise InputError(
                    "not a line as JudgeBench writes them",
                    file=file,
                    row=number,
                    allowed="pair_id, source, label, judge_name and judgments",
                ) from None


def _of_line(pair: dict[str, Any], model: str, left_out: Counter[str]) -> Iterator[Row]:
    about = {
        "item_id": str(pair["pair_id"]),
        "judge": f"{pair['judge_name']}/{model}",
        "label": _LABELS[pair["label"]],
        "feat_source": str(pair["source"]),
        "feat_response_model": str(pair.get("response_model", "")),
    }
    for order, judgment in zip(("AB", "BA"), pair["judgments"], strict=False):
        row = _said(judgment)
        if row is None:
            left_out["judgments that are not there"] += 1
        else:
            yield {**about, "order": order, **row}


def _said(judgment: dict[str, Any] | None) -> Row | None:
    said = None if judgment is None else judgment.get("judgment")
    if said is None:
        return None
    if "scores" in said:
        first, second = said["scores"]
        return {"score_a": first, "score_b": second}
    return {"text": said["response"] or ""}
