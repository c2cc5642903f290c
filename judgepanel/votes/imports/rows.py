"""What importers have in common: rows while they are read, and a count of all that is left out.

An importer reads files of one tool. Each becomes rows of outputs (item, judge, order, and a text or
two scores), or grades that judges gave to single responses (:class:`Grade`), with labels by people.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from judgepanel.votes.cells import is_number, shield
from judgepanel.votes.columns import says_failure
from judgepanel.votes.coverage import Side, vote_of
from judgepanel.votes.errors import InputError, listed
from judgepanel.votes.matrix import Task
from judgepanel.votes.names import FEATURE_PREFIX, LABEL_NAMES, is_role_name
from judgepanel.votes.orders import ORDER_NAMES, SWAPPED, order_of
from judgepanel.votes.records import table_of
from judgepanel.votes.sources import Document
from judgepanel.votes.table import RawTable
from judgepanel.votes.words import meaning_of

Row = dict[str, Any]

LABEL_FIELDS = (*LABEL_NAMES, "expected", "human")
OF_ANOTHER_TASK: Mapping[Task, str] = {
    "pairwise": "that hold no pairs, beside others that do; the task pointwise reads them",
    "pointwise": "that hold pairs, beside others that do not; the task pairwise reads them",
}
"""Why files are left out where others are read for this task."""
OTHERS = "files that are something else"
NO_VERDICT = "judgments without a verdict"
FEW, FILES_NAMED = 3, 10
"""So many files are named that hold no results, and for one reason where room is short."""
HALF = 0.5
AB, BA = "AB", "BA"
_LONGEST_PATH = 200
_LONGEST_FEATURE = 60
_MOST_VALUES = 50


class LeftOut(Counter[str]):
    """What was left out: counts by reason, and of whole files which they are.

    ``files`` has their names by the reason that they share, ``unreadable`` a sentence for each
    file that cannot be read, ``sentences`` what else there is to say.
    """

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, list[str]] = {}
        self.unreadable: list[str] = []
        self.sentences: list[str] = []

    def file(self, name: str, reason: str) -> None:
        """Count a whole file."""
        self[reason] += 1
        self.files.setdefault(reason, []).append(name)

    def add(self, other: LeftOut) -> None:
        """Add what was left out elsewhere."""
        self.update(other)
        self.sentences += other.sentences

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
        return (*sentences, *self.sentences[:most])


def _named(files: list[str], most: int | None) -> str:
    if not files:
        return ""
    limit = len(files) if most is None else most
    return f" ({listed(files, limit, length=_LONGEST_PATH)})"


@dataclass(slots=True)
class ImportedRows:
    """``rows`` come one at a time; ``left_out`` is whole once they all have.

    A row is an output (item_id, judge, order, label, features, and a text or two scores), or an
    item with the votes of all its judges (item_id, label, group_id, features, a key per judge, all
    of them in ``judges``); the ``task`` is pointwise where judges pass an item or do not.
    """

    rows: Iterable[Row]
    left_out: LeftOut
    task: Task = "pairwise"
    judges: tuple[str, ...] = ()

    def table(self, file: str) -> RawTable:
        """All rows as a table; InputError where there are none."""
        table = table_of(self._some(file), file)
        return replace(table, task=self.task, judges=self.judges)

    def lines(self, file: str) -> bytes:
        """All rows as JSON Lines; InputError where there are none."""
        lines = [json.dumps(row, ensure_ascii=False) for row in self._some(file)]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _some(self, file: str) -> list[Row]:
        rows = list(self.rows)
        if not rows:
            raise InputError(
                " ".join(("holds no outputs.", *self.notes())).rstrip("."),
                file=file,
                remedy="write it as a table with the columns item, judge, verdict and label",
            )
        return rows

    def notes(self, most: int | None = FILES_NAMED) -> tuple[str, ...]:
        """What was left out, see :meth:`LeftOut.notes`."""
        return self.left_out.notes(most)


Together = Callable[[Sequence[Any], LeftOut, "Task | None"], ImportedRows]


def outputs(files: Sequence[Any], left_out: LeftOut, _task: Task | None) -> ImportedRows:
    """Rows of all files as they are."""
    return ImportedRows(chain.from_iterable(files), left_out)


@dataclass(frozen=True, slots=True)
class Importer:
    """How the files of a tool are read.

    ``title`` is what they are, ``wanted`` how they look; a file may be one of them by its name
    (``endings``, ``named``) and is one by its content (``fits``). ``read`` reads one file and
    refuses what is not as the tool writes it; ``together`` makes rows of all that were read.
    """

    title: str
    wanted: str
    endings: tuple[str, ...]
    fits: Callable[[Document], bool]
    read: Callable[[Document, LeftOut], Any]
    together: Together = outputs
    named: Callable[[str], bool] = lambda path: True

    def may_be(self, path: str) -> bool:
        """Whether a file may be one of the tool by its name."""
        return path.lower().endswith(self.endings) and self.named(path)


# --- fields ----------------------------------------------------------------------------------


def at(record: Any, path: str) -> Any:
    """The value at keys joined by dots; None where there is none."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


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


def is_label_name(name: str) -> bool:
    """Whether a grader is called as labels are."""
    return name.lower() in LABEL_FIELDS


def grade_of(value: Any) -> int | None:
    """1 for right, 0 for wrong, None for anything between and beyond.

    Inspect AI writes C, I, P (partly) and N (no answer); numbers count where they are 0 or 1.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return int(value) if value in (0, 1) else None
    word = str(value).strip().lower()
    if word in ("c", "i"):
        return int(word == "c")
    code = meaning_of(word)
    return code if code in (0, 1) and word not in ("a", "b") else None


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


def with_features(rows: Iterable[Row], about: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Rows with the features of their items, ``about`` all that is known of each."""
    features = features_of(about)
    for row in rows:
        yield row | features[row["item_id"]]


# --- pairs -----------------------------------------------------------------------------------


def pair_row(item: str, judge: str, displayed: Any, fields: Mapping[str, Any], text: Any) -> Row:
    """An output on a pair, ``displayed`` its better side as shown, ``fields`` what else is
    known.
    """
    order = order_in(fields)
    label = item_label(displayed, order)
    return {"item_id": item, "judge": judge, "label": label, "order": order, "text": text}


def order_in(fields: Mapping[str, Any]) -> str:
    """The order in which the two were shown, as the fields say it; AB where they do not."""
    key = next((key for key in ORDER_NAMES if key in fields), None)
    if key is None:
        return AB
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


def turned(item: str) -> bool:
    """Whether an item's two responses change places: a coin that depends on its id alone."""
    return hashlib.sha256(item.encode("utf-8", "backslashreplace")).digest()[0] % 2 == 1


def pair_of(question: str, first: str, second: str) -> tuple[str, str]:
    """The id of a pair and the order it was shown in, ``first`` as A; the same if it is exchanged.

    Which response is the item's first is a coin: files name one model first everywhere, or go by
    the alphabet, and the order of the two would tell the label.
    """
    low, high = sorted((first, second))
    item = f"{question}/{low} vs {high}"
    return item, AB if (first == low) != turned(item) else BA


def share_row(item: str, question: str, judge: str, order: str, share: float) -> Row:
    """A judgment without a text; ``share`` is 1 for what was shown as A, 0 for B, .5 for a tie."""
    about = {"item_id": item, "group_id": question, "judge": judge, "order": order}
    return {**about, "score_a": share, "score_b": 1 - share}


def task_to_read(n_pairwise: int, n_pointwise: int, wanted: Task | None) -> Task:
    """Which votes are read where a folder has both kinds: those wanted, else the more numerous.

    One matrix cannot hold both, as its items are either pairs or single responses.
    """
    counts: dict[Task, int] = {"pairwise": n_pairwise, "pointwise": n_pointwise}
    if wanted is not None and counts[wanted]:
        return wanted
    return "pairwise" if n_pairwise and n_pairwise >= n_pointwise else "pointwise"


def with_labels(models: Iterable[Row], people: Iterable[Row], left_out: LeftOut) -> Iterator[Row]:
    """What models judged, labelled by people; what people judged, where there is nothing else.

    Of judgments that were made again the last counts.
    """
    by_models, by_people = _last(models, left_out), _last(people, left_out)
    rows = by_models or by_people
    items = {row["item_id"] for row in rows}
    labels = _majorities(by_people) if by_models else {}
    left_out["pairs that only people judged"] += len(labels.keys() - items)
    left_out["labels of pairs on which people are divided"] += sum(
        labels[item] is None for item in items & labels.keys()
    )
    grouped = len({row["group_id"] for row in rows}) < len(items)
    for row in rows:
        label = labels.get(row["item_id"])
        group = row.pop("group_id")
        yield {
            **row,
            **({} if label is None else {"label": label}),
            **({"group_id": group} if grouped else {}),
        }


def _last(rows: Iterable[Row], left_out: LeftOut) -> list[Row]:
    latest: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = row["item_id"], row["judge"], row["order"]
        left_out["judgments that were made again"] += key in latest
        latest[key] = row
    return list(latest.values())


def _majorities(rows: Iterable[Row]) -> dict[str, int | None]:
    """For each pair 1 where most people prefer its first response, 0 its second; None otherwise.

    Most is more than prefer the other one, and more than say that it is a tie.
    """
    counts: dict[str, Counter[float]] = {}
    for row in rows:
        share = row["score_a"] if row["order"] == AB else row["score_b"]
        side = HALF if share == HALF else float(share > HALF)
        counts.setdefault(row["item_id"], Counter())[side] += 1
    return {item: _most(count) for item, count in counts.items()}


def _most(count: Counter[float]) -> int | None:
    (side, most), *others = count.most_common(2)
    decided = side != HALF and all(n < most for _, n in others)
    return int(side) if decided else None


# --- single responses ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grade:
    """What a judge gave to one response.

    ``by`` is who gave it where several people use one name, such as that of a question; ``person``
    marks people, whose grades are labels; ``why`` is a text beside the grade, which may say that it
    failed; ``group`` is what several items share, ``about`` what else is known of the item.
    """

    item: str
    judge: str
    value: Any
    by: str = ""
    person: bool = False
    why: Any = None
    group: str = ""
    about: Row = field(default_factory=dict)


def graded(files: Sequence[Any], left_out: LeftOut, _task: Task | None) -> ImportedRows:
    """An item for each response with the grades of all its judges; people give the label.

    Grades by people under one name, or one that labels have, are the label: what most of them say.
    Under several names each name is a judge. Of grades given again the last counts. Grades that all
    lie in [0, 1] are cut at .5. A field of the item that is called as labels are is the label too.
    """
    latest: dict[tuple[str, str, str, bool], Grade] = {}
    for grade in chain.from_iterable(files):
        key = grade.item, grade.judge, grade.by, grade.person
        left_out["grades that were given again"] += key in latest
        latest[key] = grade
    grades = list(latest.values())
    asked = {grade.judge for grade in grades if grade.person}
    alone = len(asked) == 1
    by_item: dict[str, Row] = {}
    people: dict[str, list[Any]] = {}
    items: dict[str, Grade] = {}
    for grade in grades:
        items.setdefault(grade.item, grade)
        own = by_item.setdefault(grade.item, {})
        value = grade.value
        if grade.why is not None and says_failure(str(grade.why)):
            left_out["grades of answers that failed"] += 1
            value = None
        if (grade.person and alone) or is_label_name(grade.judge):
            people.setdefault(grade.item, []).append(value)
        else:
            own[f"{grade.judge} (annotation)" if grade.person else grade.judge] = value
    left_out["grades that are neither right nor wrong"] += cut_shares(by_item.values())
    judges = dict.fromkeys(chain.from_iterable(by_item.values()))
    grouped = len({grade.group for grade in items.values()}) not in (1, len(items))
    rows: list[Row] = []
    for item, own in by_item.items():
        first = items[item]
        label = _said(people.get(item, []), left_out)
        if item not in people:
            label = grade_of(label_in(first.about))
        if not any(value is not None for value in own.values()):
            left_out["items without a grade"] += 1
            continue
        votes = {shield(name, is_role_name): grade_of(own.get(name)) for name in judges}
        left_out["grades that are neither right nor wrong"] += sum(
            value is not None and grade_of(value) is None for value in own.values()
        )
        within = {"group_id": first.group} if grouped else {}
        rows.append({"item_id": item, "label": label, **within, **votes})
    if all(row["label"] is None for row in rows):
        for row in rows:
            del row["label"]
    named = tuple(shield(name, is_role_name) for name in judges)
    about = {item: grade.about for item, grade in items.items()}
    return ImportedRows(list(with_features(rows, about)), left_out, "pointwise", named)


def _said(values: list[Any], left_out: LeftOut) -> int | None:
    """What most of the people say about an item; None where they are divided."""
    codes = [code for code in map(grade_of, values) if code is not None]
    ones = sum(codes)
    if codes and 2 * ones == len(codes):
        left_out["labels of items on which people are divided"] += 1
        return None
    return None if not codes else int(2 * ones > len(codes))


def cut_shares(items: Iterable[Row]) -> int:
    """Cut at .5 what judges gave as shares: the grades of a judge that has all of them in [0, 1].

    ``items`` are grades by judge. .5 itself is a tie, and no vote. Where a judge has larger numbers
    its 1 is a low grade, not a verdict, so none of its numbers is a vote. Returns the number of
    grades that are no votes.
    """
    items, lost = list(items), 0
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
                lost += item[judge] is None
    return lost
