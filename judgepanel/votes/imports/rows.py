"""Rows while they are read, a count of all that is left out, and what both have in common."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from judgepanel.votes.cells import is_number
from judgepanel.votes.columns import FEATURE_PREFIX, LABEL_NAMES
from judgepanel.votes.errors import InputError
from judgepanel.votes.matrix import Task
from judgepanel.votes.transcripts import ORDER_NAMES, order_of
from judgepanel.votes.verdicts import Side, vote_of
from judgepanel.votes.words import verdict_of

Row = dict[str, Any]

LABEL_FIELDS = (*LABEL_NAMES, "expected", "human")
_LONGEST_FEATURE = 60
_MOST_VALUES = 50


@dataclass(slots=True)
class Found:
    """``rows`` come one at a time; ``left_out`` counts by reason and is whole once they all have.

    A row is an output (item_id, judge, order, label, features, and a text or two scores), or an
    item with the votes of all its judges (item_id, label, group_id, features, a key a judge); the
    ``task`` is pointwise where judges pass an item or do not.
    """

    rows: Iterable[Row]
    left_out: Counter[str]
    task: Task = "pairwise"

    def lines(self, file: str) -> bytes:
        """All rows as JSON Lines; InputError where there are none."""
        lines = [json.dumps(row, ensure_ascii=False) for row in self.rows]
        if not lines:
            raise InputError(" ".join(("holds no outputs", *self.notes())).rstrip("."), file=file)
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason to leave something out, the most common first."""
        reasons = self.left_out.most_common()
        return tuple(f"Left out, {reason}: {count:,}." for reason, count in reasons)


def pair_row(item: str, judge: str, shown: Any, fields: Mapping[str, Any], text: Any) -> Row:
    """An output on a pair, ``shown`` its better side as shown, ``fields`` what else is known."""
    order = order_in(fields)
    label = item_label(shown, order)
    return {"item_id": item, "judge": judge, "label": label, "order": order, "text": text}


def graded_row(
    item: str, label: int | None, group: str | None, grades: Row, left_out: Counter[str]
) -> Row:
    """An item with the grades that are votes; those that are none are counted."""
    votes = {name: grade_of(value) for name, value in grades.items()}
    left_out["grades that are neither right nor wrong"] += list(votes.values()).count(None)
    return {
        "item_id": item,
        **({} if label is None else {"label": label}),
        **({} if group is None else {"group_id": group}),
        **votes,
    }


def with_features(rows: Iterable[Row], about: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Rows with the features of their items, ``about`` all that is known of each."""
    features = features_of(about)
    for row in rows:
        yield row | features[row["item_id"]]


def order_in(fields: Mapping[str, Any]) -> str:
    """The order in which the two were shown, as the fields say it; AB where they do not."""
    return str(next((fields[key] for key in ORDER_NAMES if key in fields), "AB"))


def item_label(shown: Any, order: str) -> int | None:
    """The label of a pair whose better side *as shown* is known: 1 is the item's first output."""
    side, way = side_of(shown), order_of(order)
    return None if side is None or way < 0 else vote_of(side, bool(way))


def sided(labels: Iterable[Any]) -> bool:
    """Whether labels name a side, A or B, so that what was judged are pairs."""
    words = {_bare(label) for label in labels}
    return bool(words & {"A", "B"}) and words <= {"A", "B", "C", "TIE", ""}


def side_of(label: Any) -> Side | None:
    """'A', 'B', or None for a tie and for no label."""
    word = _bare(label)
    return "A" if word == "A" else "B" if word == "B" else None


def _bare(label: Any) -> str:
    if isinstance(label, list) and len(label) == 1:
        label = label[0]
    return "" if label is None else str(label).strip().strip("[]().'\"").upper()


def label_in(*places: Mapping[str, Any] | None) -> Any:
    """The first field of these that is called as labels are."""
    return field_in(LABEL_FIELDS, *places)


def field_in(names: Iterable[str], *places: Mapping[str, Any] | None) -> Any:
    """The value of the first of these names that a place has, whatever its case; else None."""
    for place in places:
        lower = {str(key).lower(): value for key, value in (place or {}).items()}
        for name in names:
            if lower.get(name) is not None:
                return lower[name]
    return None


def grade_of(value: Any) -> int | None:
    """1 for right, 0 for wrong, None for anything between and beyond.

    Inspect AI writes C, I, P (partly) and N (no answer); numbers count where they are 0 or 1.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return int(value) if value in (0, 1) else None
    word = str(value).strip().lower()
    known = {"c": 1, "correct": 1, "pass": 1, "yes": 1, "i": 0, "incorrect": 0, "fail": 0, "no": 0}
    if word in known:
        return known[word]
    if is_number(word) or word in ("true", "false"):
        code = verdict_of(word)
        return code if code in (0, 1) else None
    return None


def features_of(about: Mapping[str, Mapping[str, Any]]) -> dict[str, Row]:
    """For each item the fields that can be features: numbers, and words that come back.

    A word comes back where a field has at most half as many values as items, and at most 50.
    """
    kept: dict[str, Row] = {item: {} for item in about}
    for key in dict.fromkeys(chain.from_iterable(about.values())):
        values = [fields[key] for fields in about.values() if fields.get(key) is not None]
        if key.startswith("_") or key.lower() in (*LABEL_FIELDS, *ORDER_NAMES):
            continue
        if not _numbers(values) and not _words(values, len(about)):
            continue
        for item, fields in about.items():
            if fields.get(key) is not None:
                kept[item][f"{FEATURE_PREFIX}{key}"] = fields[key]
    return kept


def _numbers(values: list[Any]) -> bool:
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )


def _words(values: list[Any], n_items: int) -> bool:
    if not all(isinstance(value, str | bool | int | float) for value in values):
        return False
    words = {str(value) for value in values}
    few = len(words) <= min(_MOST_VALUES, max(n_items // 2, 2))
    return few and all(len(word) <= _LONGEST_FEATURE for word in words)
