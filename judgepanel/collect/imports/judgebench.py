"""JudgeBench's outputs: a JSON Lines file a judge, two judgments an item, the second turned round.

The layout is that of ScalerLab/JudgeBench (arXiv 2410.12784): ``pair_id``, ``source``, ``label``
'A>B' or 'B>A', and ``judgments``, the first with the responses as given, the second with them
exchanged; a reward model has ``scores`` in place of a ``response``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgepanel.collect.imports.rows import Found, Row, files_below
from judgepanel.votes.errors import InputError

WANTED = "a folder with dataset=judgebench,...,judge_name=...,judge_model=....jsonl, or one of them"
_MODEL = re.compile(r"judge_model=(.+?)\.jsonl\Z")
_LABELS = {"A>B": 1, "B>A": 0}


def read_judgebench(path: Path) -> Found:
    """Outputs of all judges in a folder, or in one file."""
    files = files_below(path, "**/*judge_name=*.jsonl", WANTED)
    left_out: Counter[str] = Counter()
    return Found(_rows(files, left_out), left_out)


def _rows(files: list[Path], left_out: Counter[str]) -> Iterator[Row]:
    for file in files:
        try:
            with file.open(encoding="utf-8-sig") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        yield from _of_line(line, number, file, left_out)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=file.name) from None
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", file=file.name) from None


def _of_line(line: str, number: int, file: Path, left_out: Counter[str]) -> Iterator[Row]:
    try:
        pair = json.loads(line)
        model = _MODEL.search(file.name)
        about = {
            "item_id": str(pair["pair_id"]),
            "judge": f"{pair['judge_name']}/{model[1] if model else 'unknown'}",
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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            "not a line as JudgeBench writes them",
            file=file.name,
            row=number,
            allowed="pair_id, source, label, judge_name and judgments",
        ) from None


def _said(judgment: dict[str, Any] | None) -> Row | None:
    said = None if judgment is None else judgment.get("judgment")
    if said is None:
        return None
    if "scores" in said:
        first, second = said["scores"]
        return {"score_a": first, "score_b": second}
    return {"text": said["response"] or ""}
