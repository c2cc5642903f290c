"""What importers have in common: their grades and rows, and a count of all that is left out.

An importer reads files of one tool. Each becomes rows of outputs (item, judge, order, and a text or
two scores), or grades that judges gave to responses (:class:`Grade`), with labels by people.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from judgepanel.votes import cells, columns, errors, matrix, sources
from judgepanel.votes.records import table_of
from judgepanel.votes.table import RawTable, Side, vote_of

Row = dict[str, Any]

LABEL_FIELDS = (*cells.LABEL_NAMES, "expected", "human")
OF_ANOTHER_TASK: Mapping[matrix.Task, str] = {
    "pairwise": "files that hold no pairs, beside others that do; the task pointwise reads them",
    "pointwise": "files that hold pairs, beside others that do not; the task pairwise reads them",
}
"""Why files are left out where others are read for this task."""
OTHERS = "files that are something else"
NO_VERDICT = "judgments without a verdict"
FEW, FILES_NAMED = 3, 10
"""So many files are named that hold no results, and for one reason where room is short."""
HALF = 0.5
AB, BA = ORDERS = "AB", "BA"
SYSTEM, SYSTEM_A, SYSTEM_B = "system", "system_a", "system_b"
"""Columns for the system that wrote a response, and for those of a pair, the item's first first."""
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

    def notes(self, most: int | None = FILES_NAMED) -> tuple[str, ...]:
        """A sentence for each reason, the most common first, and for each unreadable file.

        At most ``most`` files are named for a reason, and few that hold no results; None names all
        others.
        """
        sentences = []
        for reason, count in self.most_common():
            files = self.files.get(reason, [])
            limit = FEW if reason == OTHERS else len(files) if most is None else most
            named = f" ({errors.listed(files, limit, length=_LONGEST_PATH)})" if files else ""
            if count:
                sentences.append(f"Left out, {reason}: {count:,}{named}.")
        if self.unreadable:
            sentences.append(f"Left out, files that cannot be read: {len(self.unreadable):,}.")
            sentences += [f"Not read: {sentence}" for sentence in self.unreadable[:most]]
        return (*sentences, *self.sentences[:most])


@dataclass(slots=True)
class ImportedRows:
    """What importers read, and what they left out.

    A row is an output (item_id, judge, order, label, features, and a text or two scores), or an
    item with the votes of all its judges (item_id, label, group_id, features, a key per judge, all
    of them in ``judges``); the ``task`` is pointwise where judges pass an item or do not.
    """

    rows: list[Row]
    left_out: LeftOut
    task: matrix.Task = "pairwise"
    judges: tuple[str, ...] = ()

    def table(self, file: str) -> RawTable:
        """All rows as a table; InputError where there are none."""
        return replace(table_of(self._rows_read(file), file), task=self.task, judges=self.judges)

    def lines(self, file: str) -> bytes:
        """All rows as JSON Lines; InputError where there are none."""
        lines = [json.dumps(row, ensure_ascii=False) for row in self._rows_read(file)]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _rows_read(self, file: str) -> list[Row]:
        if not self.rows:
            problem = " ".join(("holds no outputs.", *self.left_out.notes())).rstrip(".")
            remedy = "write it as a table with the columns item, judge, verdict and label"
            raise errors.InputError(problem, None, remedy, file=file)
        return self.rows


# --- fields ----------------------------------------------------------------------------------


def at(record: Any, path: str) -> Any:
    """The value at keys joined by dots; None where there is none."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def some_have(records: Any, path: str) -> bool:
    """Whether there is a value at a path in one of the first elements of a list."""
    return isinstance(records, list) and any(at(one, path) is not None for one in records[:5])


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
    if isinstance(value, int | float):
        return int(value) if value in (0, 1) else None
    word = str(value).strip().lower()
    if word in ("c", "i"):
        return int(word == "c")
    code = cells.meaning_of(word)
    return code if code in (0, 1) and word not in ("a", "b") else None


def share_of(value: Any) -> float | None:
    """A grade as a number, whatever its scale; None for words."""
    if isinstance(value, bool):
        return float(value)
    word = str(value).strip()
    return float(word) if cells.is_number(word.lower()) else None


def with_features(rows: Iterable[Row], about: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Rows with the features of their items, ``about`` all that is known of each."""
    rows = list(rows)
    features: dict[str, Row] = {item: {} for item in about}
    named = {SYSTEM, SYSTEM_A, SYSTEM_B} & {*chain.from_iterable(rows)}
    for key in dict.fromkeys(chain.from_iterable(about.values())):
        if key in named:
            continue
        values = {item: own[key] for item, own in about.items() if own.get(key) is not None}
        if _is_feature(key, list(values.values()), len(about)):
            for item, value in values.items():
                features[item][f"{cells.FEATURE_PREFIX}{key}"] = value
    return [row | features[row["item_id"]] for row in rows]


def _is_feature(key: str, values: list[Any], n_items: int) -> bool:
    """Whether a field can be a feature: numbers, or words that come back.

    Words come back where a field has at most half as many values as items, and at most 50.
    """
    if key.startswith("_") or key.lower() in (*LABEL_FIELDS, *columns.ORDER_NAMES):
        return False
    if all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values
    ):
        return True
    words = {str(value) for value in values}
    few = len(words) <= min(_MOST_VALUES, max(n_items // 2, 2))
    short = all(len(word) <= _LONGEST_FEATURE for word in words)
    return few and short and all(isinstance(value, str | int | float) for value in values)


# --- pairs -----------------------------------------------------------------------------------


def pair_row(item: str, judge: str, displayed: Any, fields: Mapping[str, Any], text: Any) -> Row:
    """An output on a pair, ``displayed`` its better side as shown, ``fields`` what else is
    known.
    """
    label = item_label(displayed, order := order_in(fields))
    return {"item_id": item, "judge": judge, "label": label, "order": order, "text": text}


def order_in(fields: Mapping[str, Any]) -> str:
    """The order in which the two were shown, as the fields say it; AB where they do not."""
    if "order" in fields:
        return str(fields["order"])
    word = str(fields.get(columns.SWAPPED, AB))
    return {"0": "false", "1": "true"}.get(word.strip(), word)


def item_label(value: Any, order: str) -> int | None:
    """The label of a pair whose better side *as shown* is known: 1 is the item's first output."""
    side, way = side_of(value), columns.order_of(order)
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


# --- grades ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Grade:
    """What a judge gave to one response, or said of two.

    ``by`` is who gave it where several people use one name, such as that of a question; ``person``
    marks people, whose grades are labels; ``why`` is a text beside the grade, which may say that it
    failed; ``group`` is what several items share, ``about`` what else is known of the item.

    Of two responses, ``shown`` as A and B, the item is their question, and ``value`` the scores of
    both (1 and 0 where A is better, .5 and .5 for a tie), or a text. ``systems`` wrote the response
    or, in the same order, the two.
    """

    item: str
    judge: str
    value: Any
    by: str = ""
    person: bool = False
    why: Any = None
    group: str = ""
    about: Row = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()


def _latest(grades: Iterable[Grade], left_out: LeftOut, reason: str) -> list[Grade]:
    """Grades without those that were given again, of which the last counts."""
    latest: dict[tuple[object, ...], Grade] = {}
    for grade in grades:
        key = grade.item, grade.judge, grade.by, grade.person, grade.shown
        left_out[reason] += key in latest
        latest[key] = grade
    return list(latest.values())


def _majority(shares: Iterable[float]) -> int | None:
    """1 where most people give more than half, 0 where most give less, None for all else."""
    counts = Counter((share > HALF) - (share < HALF) for share in shares)
    if counts[1] > max(counts[-1], counts[0]):
        return 1
    return 0 if counts[-1] > max(counts[1], counts[0]) else None


def labelled_pairs(grades: Iterable[Grade], left_out: LeftOut) -> ImportedRows:
    """What models said of pairs, labelled by people; what people said, where there is nothing else.

    Of judgments that were made again the last counts. A pair's label is the response that most
    people prefer.
    """
    latest = _latest(grades, left_out, "judgments that were made again")
    judgments = [(grade, *pair_of(grade.item, *grade.shown)) for grade in latest]
    by_models = [judgment for judgment in judgments if not judgment[0].person]
    people: dict[str, list[float]] = {}
    for grade, item, order in judgments if by_models else ():
        if grade.person:
            people.setdefault(item, []).append(grade.value[order != AB])
    labels = {item: _majority(shares) for item, shares in people.items()}
    chosen = by_models or judgments
    items = {item for _, item, _ in chosen}
    left_out["pairs that only people judged"] += len(labels.keys() - items)
    divided = [item for item in items & labels.keys() if labels[item] is None]
    left_out["labels of pairs on which people are divided"] += len(divided)
    grouped = len({grade.group for grade, *_ in chosen}) < len(items)
    # Systems that wrote the same texts are one item, which has those that are named first.
    systems: dict[str, Row] = {}
    for grade, item, order in chosen:
        if grade.systems:
            first, second = grade.systems if order == AB else grade.systems[::-1]
            systems.setdefault(item, {SYSTEM_A: first, SYSTEM_B: second})
    rows = []
    for grade, item, order in chosen:
        row: Row = {"item_id": item, "judge": grade.judge, "order": order}
        if isinstance(grade.value, str):
            row["text"] = grade.value
        else:
            row["score_a"], row["score_b"] = grade.value
        row |= systems.get(item, {}) | grade.about
        row |= {"group_id": grade.group} if grouped else {}
        rows.append(row | ({} if labels.get(item) is None else {"label": labels[item]}))
    return ImportedRows(rows, left_out)


def graded(grades: Iterable[Grade], left_out: LeftOut) -> ImportedRows:
    """An item for each response with the grades of all its judges; people give the label.

    Grades by people under one name, or one that labels have, are the label: what most of them say.
    Under several names each name is a judge. Of grades given again the last counts. Grades that all
    lie in [0, 1] are cut at .5. A field of the item that is called as labels are is the label too.
    Systems are named where there are several.
    """
    grades = _latest(grades, left_out, "grades that were given again")
    alone = len({grade.judge for grade in grades if grade.person}) == 1
    by_item: dict[str, Row] = {}
    people: dict[str, list[Any]] = {}
    items: dict[str, Grade] = {}
    for grade in grades:
        items.setdefault(grade.item, grade)
        own = by_item.setdefault(grade.item, {})
        failed = grade.why is not None and columns.says_failure(str(grade.why))
        left_out["grades of answers that failed"] += failed
        value = None if failed else grade.value
        if (grade.person and alone) or is_label_name(grade.judge):
            people.setdefault(grade.item, []).append(value)
        else:
            own[f"{grade.judge} (annotation)" if grade.person else grade.judge] = value
    judges = dict.fromkeys(chain.from_iterable(by_item.values()))
    named = {judge: cells.shield(judge, cells.is_role_name) for judge in judges}
    neither = "grades that are neither right nor wrong"
    left_out[neither] += sum(_cut_shares(judge, by_item.values()) for judge in judges)
    grouped = len({grade.group for grade in items.values()}) not in (1, len(items))
    compared = len({grade.systems for grade in items.values()}) > 1 and SYSTEM not in judges
    rows: list[Row] = []
    for item, own in by_item.items():
        label = grade_of(label_in(items[item].about))
        if item in people:
            codes = [code for code in map(grade_of, people[item]) if code is not None]
            label = _majority(codes)
            left_out["labels of items on which people are divided"] += bool(codes) and label is None
        if all(value is None for value in own.values()):
            left_out["items without a grade"] += 1
            continue
        votes = {judge: grade_of(own.get(judge)) for judge in judges}
        left_out[neither] += sum(v is not None and votes[judge] is None for judge, v in own.items())
        row: Row = {"item_id": item} | ({} if label is None else {"label": label})
        row |= {"group_id": items[item].group} if grouped else {}
        row |= {SYSTEM: ", ".join(items[item].systems)} if compared else {}
        rows.append(row | {named[judge]: vote for judge, vote in votes.items()})
    rows = with_features(rows, {item: grade.about for item, grade in items.items()})
    return ImportedRows(rows, left_out, "pointwise", tuple(named.values()))


def _cut_shares(judge: str, items: Iterable[Row]) -> int:
    """Cut at .5 what a judge gave as shares: its grades, if all of them are in [0, 1].

    ``items`` are grades by judge. .5 itself is a tie, and no vote. Where the judge has larger
    numbers its 1 is a low grade, not a verdict, so none of its numbers is a vote. Returns the
    number of grades that are no votes.
    """
    shares = [(own, share) for own in items if (share := share_of(own.get(judge))) is not None]
    numbers = [share for _, share in shares]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    if low < 0 and high <= 1:
        return 0
    for own, share in shares:
        own[judge] = None if high > 1 or share == HALF else int(share > HALF)
    return sum(own[judge] is None for own, _ in shares)


# --- importers -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """What was read from files with one layout, each by its name, and the task that is wanted."""

    files: list[tuple[str, list[Any]]]
    left_out: LeftOut
    task: matrix.Task | None

    @property
    def records(self) -> Iterator[Any]:
        """What was read from all files."""
        return chain.from_iterable(records for _, records in self.files)


def votes_in(found: Found) -> ImportedRows:
    """Rows of outputs, of grades, or of judgments of pairs, whichever was read from the files."""
    first = next(found.records, None)
    if isinstance(first, Grade):
        return (labelled_pairs if first.shown else graded)(found.records, found.left_out)
    return outputs(found)


def outputs(found: Found) -> ImportedRows:
    """Rows of all files, without those of an item that a judge has twice in one file.

    Which of them is meant is not known: none of them is read, and the file is named.
    """
    rows: list[Row] = []
    for file, own in found.files:
        keys = [tuple(row.get(k) for k in ("item_id", "judge", "order", "stage")) for row in own]
        counts = Counter(keys)
        double = [str(key[0]) for key in keys if counts[key] > 1]
        found.left_out["rows of items that a judge has twice"] += len(double)
        if double:
            items = errors.listed(list(dict.fromkeys(double)), 4)
            found.left_out.sentences.append(f"{file} has these items twice: {items}.")
        rows += [row for row, key in zip(own, keys, strict=True) if counts[key] == 1]
    return ImportedRows(rows, found.left_out)


Read = Callable[[Iterator[Row], sources.Document], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Importer:
    """How the files of a tool are read, by the function that it decorates.

    ``title`` is what they are, ``wanted`` how they look; a file may be one of them by the end of
    its path (``endings``) and is one by its content (``fits``). ``read`` yields what it reads of
    the records of a document, or of the document as a whole, and a reason for each record that it
    leaves out. ``together`` makes rows of all that was read.
    """

    kind: str
    title: str
    wanted: str
    endings: tuple[str, ...]
    fits: Callable[[sources.Document], bool]
    together: Callable[[Found], ImportedRows] = votes_in
    read: Read = lambda _records, _document: ()

    def __call__(self, read: Read) -> Read:
        """Register the function as the reader of these files."""
        IMPORTERS[self.kind] = replace(self, read=read)
        return read

    def may_be(self, path: str) -> bool:
        """Whether a file may be one of the tool by its path."""
        return path.lower().endswith(self.endings)

    def recognises(self, document: sources.Document) -> bool:
        """Whether a file is one of the tool by its path and its content, whatever that holds."""
        try:
            return self.may_be(document.path) and self.fits(document)
        except sources.BUILT_OTHERWISE:
            return False

    def records(self, document: sources.Document, left_out: LeftOut) -> list[Any] | None:
        """What is read of a document, None of another tool's.

        Raises InputError for one that is not as the tool writes it.
        """
        number: int | None = None

        def numbered() -> Iterator[Row]:
            nonlocal number
            for number, record in document.records:  # noqa: B007 - known where one is refused.
                yield record
            number = None

        try:
            if not self.fits(document):
                return None
            records = list(self.read(numbered(), document))
        except errors.InputError as error:  # It is a ValueError too.
            raise error.in_file(document.file) from None
        except sources.BUILT_OTHERWISE:
            raise self.damaged(document.file, number) from None
        left_out.update(record for record in records if isinstance(record, str))
        return [record for record in records if not isinstance(record, str)]

    def damaged(self, file: str, row: int | None = None) -> errors.InputError:
        """The refusal of a file, or of one of its records."""
        problem = "not as such files are written"
        if row is None:
            problem = f"damaged, or not written as {self.title} are"
        return errors.InputError(problem, self.wanted, errors.EXPORT_AGAIN, file=file, row=row)


IMPORTERS: dict[str, Importer] = {}
