"""JSON and JSON Lines -> a flat table of records.

A record is an object; objects inside it become columns, named by their last key, or by the whole
path where several keys of a record end alike. A list inside a record becomes rows that keep the
rest of the record: lists of one length go together, the elements of a list without names are
numbered. Of several lists the one with verdicts is read; others are left out, with a note. In a
document the records are a list of objects, wherever it is, or an object of records by key.

Two passes: the first sees which paths there are and what they hold (``Shape``), the second writes
rows. Size and depth are checked before anything is decoded: an empty list takes two bytes in a file
and over sixty in memory.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.votes import cells, delimited, errors, limits, table
from judgepanel.votes.errors import EXPORT_AGAIN, SAVE_AS_UTF8, InputError, listed, quote_value
from judgepanel.votes.table import RawTable

# Possessive quantifiers never backtrack, so matching takes linear time.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_ALL_BUT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_ALLOWED = 'a list of objects, such as [{"item_id": "q1", "label": 1, "judge-a": 1}]'
NESTED = "a nested value"
_ERRORS = frozenset(("error", "errors", "exception", "failure", "parse_error"))
_OF_A_VOTE = (*cells.LONG_JUDGE_NAMES, *cells.LONG_VERDICT_NAMES)
KEY = "key"
"""The column with the keys of an object of records."""
EACH = "[]"
_MOST_WORDS, _LONG_WORD, _FEW = 40, 40, 12
_LOOKED_AT = 400
_FEWEST_KEYED, _SHARED, _FEW_RECORDS = 3, 0.5, 0.05
"""Objects of records by key, the share of cells that they have, and of records of a small list."""
_LISTED = 8
_FIRST = 80
Path = tuple[str, ...]
"""The keys that lead to a value; ``EACH`` stands for the elements of a list."""


# --- decoding --------------------------------------------------------------------------------


def check_json(data: bytes) -> None:
    """Refuse JSON with more than ``MAX_VALUES`` values or nested deeper than ``MAX_DEPTH``."""
    opening = data.count(b"[") + data.count(b"{")
    if opening <= limits.MAX_DEPTH and opening + data.count(b",") < limits.MAX_VALUES:
        return
    bare = _STRING.sub(b"", data)
    opening = bare.count(b"[") + bare.count(b"{")
    if opening > limits.MAX_DEPTH:
        # No JSON within the limits has more brackets; those behind them are never decoded.
        brackets = bare.translate(None, _ALL_BUT_BRACKETS)[: 2 * limits.MAX_VALUES]
        codes = np.frombuffer(brackets, np.uint8)
        steps = np.where((codes == ord("[")) | (codes == ord("{")), 1, -1)
        if np.cumsum(steps).max(initial=0) > limits.MAX_DEPTH:
            remedy = "write each nested value as a column of its own"
            most = f"at most {limits.MAX_DEPTH} levels"
            raise InputError("JSON is nested too deeply", most, remedy)
    if opening + bare.count(b",") >= limits.MAX_VALUES:
        most = f"at most {limits.MAX_VALUES:,}"
        raise InputError("one JSON document has too many values", most, "split it")


def decoded(data: bytes, decode: Callable[[str], Any] = json.loads) -> Any:
    """Return the value of a JSON text, its numbers as numbers unless ``decode`` leaves them.

    Raises InputError (without file and row) for text that is not JSON or exceeds the limits.
    """
    check_json(data)
    try:
        return decode(data.removeprefix(codecs.BOM_UTF8).decode())
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        problem = "is not JSON, cut off or damaged"
        if isinstance(error, json.JSONDecodeError):
            problem += f": {error.msg.removesuffix(' at')} at character {error.pos + 1}"
        start = data[:_FIRST].decode("utf-8", "replace")
        raise InputError(problem, "whole JSON", EXPORT_AGAIN, value=start) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; an error in it is one value, a text, whatever is written about it."""
    result = {key: _error(value) if key in _ERRORS else value for key, value in pairs}
    if len(result) < len(pairs):
        key = errors.first_repeated([key for key, _ in pairs])
        remedy = "rename or remove one of the two"
        raise InputError("this key is given twice", "every key once", remedy, column=key)
    if EACH in result:
        problem = "a key in nested records has this name"
        raise InputError(problem, "any other name", "rename the key", column=EACH)
    return result


def _error(value: Any) -> Any:
    return json.dumps(value) if value and isinstance(value, list | dict) else value


# Numbers keep their original text: 0.30 is shown as 0.30, and no digit is lost.
_as_written = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=str, parse_int=str, parse_constant=str
).decode


def _as_object(text: str) -> dict[str, Any]:
    value = _as_written(text)
    if not isinstance(value, dict):
        allowed, remedy = "one object per line", errors.CORRECT_LINE
        raise InputError("not a JSON object", allowed, remedy, value=text)
    return value


def json_lines(data: bytes, decode: Callable[[str], Any] = json.loads) -> Iterator[tuple[int, Any]]:
    """Yield what each line of JSON Lines holds, with its number; blank lines are skipped."""
    for number, line in enumerate(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), start=1):
        if text := line.strip():
            try:
                yield number, decoded(text, decode)
            except InputError as error:
                raise replace(error, row=number) from None


def is_document(data: bytes, extension: str) -> bool:
    """Whether the text is a JSON list, or a single object that is not one of JSON Lines."""
    text = data.removeprefix(codecs.BOM_UTF8).strip()
    if text.startswith(b"[") or extension in ("jsonl", "ndjson") or not text.startswith(b"{"):
        return text.startswith(b"[")
    first, end, _ = text.partition(b"\n")
    return not end or not first.rstrip().endswith(b"}")


# --- what is where ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Stat:
    """What stands at one path of the records: words up to a number, and lengths of lists.

    ``kinds`` are value, null, list and object, each with the number of the first record that has
    it.
    """

    kinds: dict[str, int] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    long: bool = False
    numbers: bool = True
    lengths: array[int] = field(default_factory=lambda: array("i"))

    def add(self, value: Any) -> None:
        """Count a scalar."""
        text = _text(value)
        if value is None or cells.is_missing(text):
            return
        self.numbers = self.numbers and cells.is_number(text.strip())
        self.long |= len(text) > _LONG_WORD
        if len(self.words) <= _MOST_WORDS:
            self.words.add(text[: _LONG_WORD + 1])

    def says_verdicts(self, names: Sequence[str]) -> bool:
        """Whether the values may be verdicts; ``names`` are the last keys of the path."""
        if self.long or len(self.words) < 2:
            return False
        if len(self.words) <= _MOST_WORDS and all(map(cells.is_verdict, self.words)):
            return True
        named = not cells.VERDICT_WORDS.isdisjoint(chain.from_iterable(map(cells.tokens_of, names)))
        return named and (self.numbers or len(self.words) <= _FEW)


class Shape:
    """The paths of records, and what they hold; ``shared`` are last keys of several values of one.

    Records are given with their numbers.
    """

    def __init__(self, records: Iterable[tuple[int, Any]]) -> None:
        self.stats: dict[Path, _Stat] = {}
        self.shared: set[str] = set()
        for number, record in records:
            paths: set[Path] = set()
            self._observe(record, number, (), paths)
            ends = Counter(path[-1] for path in {_bare(path) for path in paths})
            self.shared |= {end for end, n in ends.items() if n > 1}

    def _observe(self, value: Any, number: int, path: Path, paths: set[Path]) -> None:
        if isinstance(value, Mapping):
            if path:
                self._at(path, "object", number)
            for key, inner in value.items():
                self._observe(inner, number, (*path, key), paths)
        elif isinstance(value, list):
            self._at(path, "list", number).lengths.append(len(value))
            for inner in value:
                self._observe(inner, number, (*path, EACH), paths)
        elif path:
            paths.add(path)
            self._at(path, "null" if value is None else "value", number).add(value)

    def _at(self, path: Path, kind: str, number: int) -> _Stat:
        stat = self.stats.get(path)
        if stat is None:
            table.check_columns(len(self.stats) + 1 - limits.MAX_DEPTH, number)
            stat = self.stats[path] = _Stat()
        stat.kinds.setdefault(kind, number)
        return stat

    def lists(self) -> list[Path]:
        """Return the paths of lists, in order of appearance."""
        return [path for path, stat in self.stats.items() if "list" in stat.kinds]

    def inside(self, path: Path) -> list[tuple[Path, _Stat]]:
        """Return what is in the elements of a list, or in the records (``()``), by path in them."""
        start = (*path, EACH) if path else ()
        n = len(start)
        return [(at[n:], stat) for at, stat in self.stats.items() if at[:n] == start]

    def says_verdicts(self, path: Path) -> bool:
        """Whether a list, or the records themselves (``()``), hold verdicts of their own."""
        own = [(rest, stat) for rest, stat in self.inside(path) if EACH not in rest]
        return any(stat.says_verdicts(_bare((*path[-1:], *rest))) for rest, stat in own)

    def names_judges(self, path: Path) -> bool:
        """Whether a key in the elements of a list is one for the names of judges."""
        ends = {_name_of((*path, EACH, *rest), rest[-1]) for rest, _ in self.inside(path) if rest}
        return any(not cells.JUDGE_WORDS.isdisjoint(cells.tokens_of(key)) for key in ends)

    def partners(self, path: Path) -> list[Path]:
        """Return the lists that go together with one: beside it, and always of its length."""
        stats = self.stats
        beside = [other for other in self.lists() if other[:-1] == path[:-1]]
        return [other for other in beside if stats[other].lengths == stats[path].lengths]


def _chosen(shape: Shape, wanted: Path | None) -> list[Path]:
    """Return the lists of a record to make rows of, those that go together; [] if there is none.

    Raises InputError if several may be meant.
    """
    lists = shape.lists()
    if wanted is not None:
        here = [path for path in lists if _bare(path) == wanted]
        if not here:
            raise _no_list(".".join(wanted), [*map(_joined, lists)])
        return shape.partners(here[0])
    able = [path for path in lists if shape.says_verdicts(path)]
    groups = list(dict.fromkeys(tuple(shape.partners(path)) for path in able))
    named = [group for group in groups if any(shape.names_judges(path) for path in group)]
    groups = named if len(named) == 1 else groups
    if len(groups) > 1 and not shape.says_verdicts(()):
        problem = "several lists in a record may hold the votes"
        raise _which_list(problem, [group[0] for group in groups])
    if groups:
        return list(groups[0]) if len(groups) == 1 else []
    # Records of nothing but one list of objects: whatever they hold.
    in_records = [path for path in lists if EACH not in path]
    objects = [p for p in in_records if "object" in shape.stats.get((*p, EACH), _Stat()).kinds]
    return objects if len(objects) == 1 and not shape.says_verdicts(()) else []


def _which_list(problem: str, paths: Sequence[Path]) -> InputError:
    """The refusal of records in several lists, of which one is to be named."""
    choices = tuple(map(_joined, paths))
    sentence, remedy = f"{problem}: {listed(choices, _LISTED)}", f"name it {errors.RECORDS}"
    return InputError(sentence, "one list of votes", remedy, choices=choices)


def _bare(path: Path) -> Path:
    return tuple(key for key in path if key != EACH)


def _name_of(path: Path, key: str) -> str:
    """Return the name of a column: of a list called 'judges', each element is a 'judge'."""
    one = key.removesuffix("s")
    if path[-1] == EACH and cells.find_column([one], _OF_A_VOTE):
        return one
    owner = path[-2] if key == "name" and len(path) > 1 else ""
    return f"{owner} name" if not cells.JUDGE_WORDS.isdisjoint(cells.tokens_of(owner)) else key


def _joined(path: Path) -> str:
    return ".".join(_bare(path))


# --- rows ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a record becomes rows.

    Attributes
    ----------
    levels : the lists that make rows, outer ones first; those of one level go together.
    names : the name of every column, by the path of its values.
    left_out : the lists that are not read.
    numbered : the list whose elements have no names and are numbered.
    """

    levels: tuple[tuple[Path, ...], ...]
    names: Mapping[Path, str]
    left_out: Sequence[str]
    numbered: str | None

    @classmethod
    def of(cls, shape: Shape, wanted: Path | None = None) -> _Plan:
        lists = _chosen(shape, wanted)
        outer = [lists[0][:k] for k, key in enumerate(lists[0]) if key == EACH] if lists else []
        inside = {*outer, *lists}
        for path, stat in shape.stats.items():
            nested = [kind for kind in ("list", "object") if kind in stat.kinds]
            if nested and "value" in stat.kinds and path not in inside:
                raise _nested(nested[0], _joined(path), stat.kinds[nested[0]])
        dropped = [path for path in shape.lists() if path not in inside]
        names: dict[Path, str] = {}
        own_names = {(*path, EACH, "name") for path in lists}
        unnamed = bool(lists) and not any(shape.names_judges(path) for path in lists)
        for path, stat in shape.stats.items():
            if {"value", "null"} & stat.kinds.keys() and not _inside(path, dropped):
                keys = _bare(path)
                shared = keys[-1] in shape.shared
                names[path] = ".".join(keys) if shared else _name_of(path, keys[-1])
                # What gives a verdict may simply have a name: scores: [{"name": ..., "value": ...}]
                if unnamed and path in own_names and not stat.long:
                    names[path], unnamed = "judge name", False
        left_out = [path for path in dropped if not _inside(path[:-1], dropped)]
        if left_out and not names:
            raise _which_list("records of lists, none of them with verdicts", left_out)
        levels = (*((path,) for path in outer), tuple(lists)) if lists else ()
        numbered = _bare(lists[0])[-1] if unnamed else None
        return cls(levels, names, [*map(_joined, left_out)], numbered)

    def rows(self, record: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
        """Yield the rows of the record of this number."""
        start = {cells.RECORD: str(number)} if self.levels else {}
        for row in self._unfolded([((), record)], self.levels, number):
            yield {**start, **row}

    def _unfolded(
        self, beside: list[tuple[Path, Any]], levels: Sequence[tuple[Path, ...]], number: int
    ) -> Iterator[dict[str, Any]]:
        """Yield what values with these paths hold, with each of the elements in their lists."""
        row: dict[str, Any] = {}
        for path, value in beside:
            row |= self._row(value, path, number)
        if not levels:
            yield row
            return
        (lists, *deeper), (above, around) = levels, beside[0]
        columns = [_at(around, path[len(above) :]) or () for path in lists]
        for position, elements in enumerate(zip(*columns, strict=False), start=1):
            numbered = self.numbered if not deeper else None
            last = {f"{numbered} number": f"{numbered} {position}"} if numbered is not None else {}
            inside = [((*path, EACH), own) for path, own in zip(lists, elements, strict=True)]
            for inner in self._unfolded(inside, deeper, number):
                yield {**row, **inner, **last}

    def _row(self, value: Any, path: Path, number: int) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for at, leaf in _leaves(value, path):
            name = self.names.get(at)
            if name in row:
                problem = f"two keys of record {number} lead to the same column"
                remedy = "rename or remove one of the two keys"
                raise InputError(problem, "every column once", remedy, column=name)
            if name is not None:
                row[name] = leaf
        return row


def _inside(path: Path, lists: Iterable[Path]) -> bool:
    return any(path[: len(one)] == one for one in lists)


def _at(value: Any, keys: Path) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, list) else None


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the scalars inside an object and its objects, with their paths; lists are passed by."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif not isinstance(value, list) and path:
        yield path, value


def _nested(kind: str, column: str, row: int) -> InputError:
    allowed = "text, numbers, true, false, null"
    remedy = "write its parts as columns of their own, or take the key out"
    return InputError(NESTED, allowed, remedy, row=row, column=column, value=kind)


# --- lists of records in a document ----------------------------------------------------------


def _candidates(value: Any, path: Path = ()) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """Yield the lists of objects, and the objects of records by key, that are in no other list."""
    if isinstance(value, list):
        if value and all(isinstance(inner, dict) for inner in value):
            yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _candidates(inner, (*path, key))
        if keyed := _by_key(value):
            yield path, keyed


def _by_key(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an object of records by key as records that hold their key; [] if it is none.

    Of {judge: {item: value}} the larger side, or the one without a label, becomes the records.
    """
    inner = list(value.values())
    if len(inner) < _FEWEST_KEYED or not all(isinstance(v, dict) and v for v in inner):
        return []
    keys = set().union(*inner)
    if sum(map(len, inner)) < _SHARED * len(inner) * len(keys):
        return []
    matrix = not any(isinstance(cell, dict | list) for record in inner for cell in record.values())
    labelled = any(not cells.LABEL_WORDS.isdisjoint(cells.tokens_of(key)) for key in value)
    inward = any(not cells.LABEL_WORDS.isdisjoint(cells.tokens_of(key)) for key in keys)
    if matrix and not inward and (labelled or len(keys) > len(inner)):
        items = dict.fromkeys(key for record in inner for key in record)
        return [{KEY: key, **{name: v.get(key) for name, v in value.items()}} for key in items]
    return [{KEY: name, **record} for name, record in value.items()]


def _records(value: Any, wanted: str | None) -> tuple[list[dict[str, Any]], Path | None, list[str]]:
    """Return the records, the list inside them that is asked for, and the lists left out."""
    found = dict(_candidates(value))
    if isinstance(value, dict) and not found and wanted is None:
        found = {(): [value]}
    shapes = {path: Shape(enumerate(own[:_LOOKED_AT], start=1)) for path, own in found.items()}
    if wanted is not None:
        lists = {_joined(path): path for path in found if path}
        if wanted in lists:
            return found[lists[wanted]], None, []
        for path, records in found.items():
            for inner in shapes[path].lists():
                if _joined((*path, *inner)) == wanted:
                    return records, _bare(inner), []
        raise _no_list(wanted, list(lists))
    if not found:
        raise InputError("not a list of JSON objects", allowed=_ALLOWED, remedy=EXPORT_AGAIN)
    able = [p for p in found if any(map(shapes[p].says_verdicts, ((), *shapes[p].lists())))]
    most = max((len(found[path]) for path in able), default=0)
    choices = [path for path in able if len(found[path]) >= _FEW_RECORDS * most] or list(found)
    at_top = [path for path in choices if not path[1:]]
    if not able and len(at_top) == 1:
        choices = at_top
    if len(choices) > 1:
        raise _which_list("several lists of records", list(found))
    return found[choices[0]], None, [_joined(path) for path in found if path != choices[0]]


def _no_list(path: str, lists: Sequence[str]) -> InputError:
    allowed = listed(lists, _LISTED) if lists else "none: no object of this file has such a list"
    remedy = f"name one that there is, or none, {errors.RECORDS}"
    return InputError("there is no such list of records", allowed, remedy, value=path)


# --- tables ----------------------------------------------------------------------------------


def read_document(data: bytes, name: str, records: str | None = None) -> RawTable:
    """Return the records of a JSON document; ``records`` is the path of their list.

    Raises
    ------
    InputError
        Without the file's name: not JSON, beyond the limits, no list of objects, no such list, or
        without a path several lists that may be the records.
    """
    found, inside, left_out = _records(decoded(data, _as_written), records)
    # Records of a document do not start on lines of their own: rows are counted from 1.
    result = _table(lambda: enumerate(found, start=1), name, inside, left_out)
    return replace(result, records=records)


def read_lines(data: bytes, name: str) -> RawTable:
    """Return one record per line of JSON Lines, plain or nested; blank lines are skipped.

    Raises
    ------
    InputError
        Without the file's name, with the line: broken JSON, a line that is not an object, a
        duplicate key, a key that holds a value on one line and a list or an object on another.
    """
    delimited.check_text(data)
    try:
        return _columns(name, json_lines(data, _as_object))
    except InputError as error:
        if error.problem != NESTED:
            raise
    # Read twice, because all records together would take many times the memory of their text.
    return _table(lambda: json_lines(data, _as_object), name, None, ())


_Read = Callable[[], Iterable[tuple[int, Any]]]


def _table(records: _Read, name: str, wanted: Path | None, left_out: Sequence[str]) -> RawTable:
    """Return a table of numbered records, which are called for twice: to be seen and to be read."""
    plan = _Plan.of(Shape(records()), wanted)
    rows = ((number, row) for number, record in records() for row in plan.rows(record, number))
    unread = [names for names in (left_out, plan.left_out) if names]
    notes = tuple(f"Lists that are not read: {listed(names)}." for names in unread)
    return replace(_columns(name, rows), notes=notes)


def _columns(name: str, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> RawTable:
    """Return numbered rows of keys and values as a table; absent keys are missing cells."""
    # The codes of a column by row, as far as it is known, and the values that they stand for.
    columns: dict[str, tuple[array[int], dict[str | bool | None, int]]] = {}
    lines = array("i")
    for number, row in rows:
        for key, value in row.items():
            column = columns.get(key)
            if column is None:
                table.check_columns(len(columns) + 1, number)
                table.check_size(len(lines) + 1, len(columns) + 1)
                _check_plain(key, key, number)
                column = columns[key] = array("i"), {None: 0}
            codes, words = column
            if len(codes) < len(lines):
                _fill(codes, len(lines))
            code = None if isinstance(value, list | dict) else words.get(value)
            if code is None:
                _check_plain(value, key, number)
                code = words[value] = len(words)
            codes.append(code)
        lines.append(number)
        if len(lines) * len(columns) > limits.MAX_CELLS:
            raise table.too_large_unpacked()
    if not columns:
        raise InputError("objects without keys", "one key per column", EXPORT_AGAIN, row=1)
    frame: dict[str, pd.Categorical] = {}
    for title, key in zip(table.column_names(list(columns), None), [*columns], strict=True):
        codes, words = columns.pop(key)
        _fill(codes, len(lines))
        frame[title] = table.text_column(np.frombuffer(codes, np.int32), [*map(_text, words)])
    places = np.array(lines, dtype=np.int32)
    irregular = None if (np.diff(places) == 1).all() else places
    return RawTable(pd.DataFrame(frame), name, "jsonl", int(lines[0]), irregular)


def _fill(codes: array[int], n_rows: int) -> None:
    codes.frombytes(bytes(codes.itemsize * (n_rows - len(codes))))


def table_of(rows: Sequence[Mapping[str, Any]], name: str) -> RawTable:
    """Return rows of scalars by column as a table, numbers as JSON writes them."""
    texts = ({key: _written(value) for key, value in row.items()} for row in rows)
    return _columns(name, enumerate(texts, start=1))


def _written(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str) and not _is_plain(value):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return value


def _check_plain(value: Any, column: str, line: int) -> None:
    if isinstance(value, list | dict):
        raise _nested("object" if isinstance(value, dict) else "list", column, line)
    if isinstance(value, str):
        table.check_length(value, limits.MAX_CELL, "the cell", row=line, column=column)
    if isinstance(value, str) and not _is_plain(value):
        shown = value.encode("ascii", "backslashreplace").decode().replace("\0", "\\0")
        problem, key = "a NUL or a broken Unicode character", quote_value(column)[1:-1]
        raise InputError(problem, "plain text", SAVE_AS_UTF8, row=line, column=key, value=shown)


def _is_plain(text: str) -> bool:
    """Whether the text has no NUL and no half of a character."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _text(word: str | bool | None) -> str:
    if word is None:
        return ""
    if isinstance(word, bool):
        return "true" if word else "false"
    return word
