"""Rows while they are read, a count of all that is left out, and what both have in common."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from judgepanel.votes.cells import is_number, shield
from judgepanel.votes.columns import FEATURE_PREFIX, LABEL_NAMES, is_role_name
from judgepanel.votes.errors import InputError, listed
from judgepanel.votes.matrix import Task
from judgepanel.votes.shown_order import ORDER_NAMES, SWAPPED, order_of
from judgepanel.votes.verdicts import Side, vote_of
from judgepanel.votes.words import verdict_of

Row = dict[str, Any]

LABEL_FIELDS = (*LABEL_NAMES, "expected", "human")
OF_ANOTHER_TASK: Mapping[Task, str] = {
    "pairwise": "that hold no pairs, beside others that do; the task pointwise reads them",
    "pointwise": "that hold pairs, beside others that do not; the task pairwise reads them",
}
"""Why files are left out where others are read for this task."""
OTHERS = "files that are something else"
FEW, FILES_NAMED = 3, 10
"""So many files are named that hold no results, and for one reason where room is short."""
HALF = 0.5
_LONGEST_PATH = 200
_LONGEST_FEATURE = 60
_MOST_VALUES = 50


class LeftOut(Counter[str]):
    """What was left out: counts by reason, and of whole files which they are.

    ``files`` has their names by the reason that they share, ``unreadable`` a sentence for each
    file that cannot be read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, list[str]] = {}
        self.unreadable: list[str] = []

    def file(self, name: str, reason: str) -> None:
        """Count a whole file."""
        self[reason] += 1
        self.files.setdefault(reason, []).append(name)

    def notes(self, most: int | None) -> tuple[str, ...]:
        """A sentence for each reason, the most common first, and for each unreadable file.

        At most ``most`` files are named for a reason, and few that hold no results; None names all
        others.
        """
        sentences = [
            f"Left out, {reason}: {count:,}"
            f"{_named(self.files.get(reason, []), FEW if reason == OTHERS else most)}."
            for reason, count in self.most_common()
            if count
        ]
        if self.unreadable:
            sentences.append(f"Left out, files that cannot be read: {len(self.unreadable):,}.")
            sentences += [f"Not read: {sentence}" for sentence in self.unreadable[:most]]
        return tuple(sentences)


def _named(files: list[str], most: int | None) -> str:
    if not files:
        return ""
    limit = len(files) if most is None else most
    return f" ({listed(files, limit, length=_LONGEST_PATH)})"


def task_to_read(n_pairwise: int, n_pointwise: int, wanted: Task | None) -> Task:
    """Which votes are read where a folder has both kinds: those wanted, else the more numerous.

    One matrix cannot hold both, as its items are either pairs or single responses.
    """
    counts: dict[Task, int] = {"pairwise": n_pairwise, "pointwise": n_pointwise}
    if wanted is not None and counts[wanted]:
        return wanted
    return "pairwise" if n_pairwise and n_pairwise >= n_pointwise else "pointwise"


@dataclass(slots=True)
class ImportedRows:
    """``rows`` come one at a time; ``left_out`` is whole once they all have.

    A row is an output (item_id, judge, order, label, features, and a text or two scores), or an
    item with the votes of all its judges (item_id, label, group_id, features, a key per judge); the
    ``task`` is pointwise where judges pass an item or do not.
    """

    rows: Iterable[Row]
    left_out: LeftOut
    task: Task = "pairwise"

    def lines(self, file: str) -> bytes:
        """All rows as JSON Lines; InputError where there are none."""
        lines = [json.dumps(row, ensure_ascii=False) for row in self.rows]
        if not lines:
            raise InputError(
                " ".join(("holds no outputs.", *self.notes())).rstrip("."),
                file=file,
                remedy="write it as a table with the columns item, judge, verdict and label",
            )
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def notes(self, most: int | None = FILES_NAMED) -> tuple[str, ...]:
        """What was left out, see :meth:`LeftOut.notes`."""
        return self.left_out.notes(most)


def pair_row(item: str, judge: str, displayed: Any, fields: Mapping[str, Any], text: Any) -> Row:
    """An output on a pair, ``displayed`` its better side as shown, ``fields`` what else is
    known.
    """
    order = order_in(fields)
    label = item_label(displayed, order)
    return {"item_id": item, "judge": judge, "label": label, "order": order, "text": text}


def turned(item: str) -> bool:
    """Whether an item's two responses change places: a coin that depends on its id alone."""
    return hashlib.sha256(item.encode("utf-8", "backslashreplace")).digest()[0] % 2 == 1


def graded_row(
    item: str, label: int | None, group: str | None, grades: Row, left_out: LeftOut
) -> Row:
    """An item with the grades that are votes; those that are none are counted."""
    votes = {shield(name, is_role_name): grade_of(value) for name, value in grades.items()}
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
    key = next((key for key in ORDER_NAMES if key in fields), None)
    if key is None:
        return "AB"
    word = str(fields[key])
    return {"0": "false", "1": "true"}.get(word.strip(), word) if key == SWAPPED else word


def item_label(value: Any, order: str) -> int | None:
    """The label of a pair whose better side *as shown* is known: 1 is the item's first output."""
    side, way = side_of(value), order_of(order)
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


def cut_shares(items: Iterable[Row]) -> None:
    """Cut at .5 what judges gave as shares: the grades of a judge that has all of them in [0, 1].

    ``items`` are grades by judge. .5 itself is a tie, and no vote. Where a judge has larger numbers
    its 1 is a low grade, not a verdict, so none of its numbers is a vote.
    """
    items = list(items)
    for judge in dict.fromkeys(chain.from_iterable(items)):
        grades = {id(item): share_of(item[judge]) for item in items if judge in item}
        numbers = [grade for grade in grades.values() if grade is not None]
        if not numbers or (min(numbers) < 0 and max(numbers) <= 1):
            continue
        beyond = max(numbers) > 1
        for item in items:
            grade = grades.get(id(item))
            if grade is not None:
                item[judge] = None if beyond or grade == HALF else int(grade > HALF)


def share_of(value: Any) -> float | None:
    """A grade as a number, whatever its scale; None for words."""
    if isinstance(value, bool):
        return float(value)
    word = str(value).strip()
    return float(word) if is_number(word.lower()) else None


def features_of(about: Mapping[str, Mapping[str, Any]]) -> dict[str, Row]:
    """For each item the fields that can be features: numbers, and words that come back.

    A word comes back where a field has at most half as many values as items, and at most 50.
    """
    features: dict[str, Row] = {item: {} for item in about}
    for key in dict.fromkeys(chain.from_iterable(about.values())):
        values = [fields[key] for fields in about.values() if fields.get(key) is not None]
        if key.startswith("_") or key.lower() in (*LABEL_FIELDS, *ORDER_NAMES):
            continue
        if not _numbers(values) and not _words(values, len(about)):
            continue
        for item, fields in about.items():
            if fields.get(key) is not None:
                features[item][f"{FEATURE_PREFIX}{key}"] = fields[key]
    return features


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
