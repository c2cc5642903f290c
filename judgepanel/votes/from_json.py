"""Nested JSON -> plain JSON Lines: the records of one document, or of nested lines.

Size and depth are checked before decoding: an empty list takes two bytes in a file and over sixty
in memory. The records of a document are a list of objects: the document itself, or a list inside
its objects, whose path is the keys that lead to it, joined by dots. Lists at the top come before
deeper ones.
"""

from __future__ import annotations

import io
import json
import re
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError, first_repeated, listed, quote_value
from judgepanel.votes.remedies import EXPORT_AGAIN, RECORDS
from judgepanel.votes.table import too_large_unpacked

# Possessive quantifiers never backtrack, so matching takes linear time.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_ALL_BUT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_BLOCK = 1 << 24
_ALLOWED = 'a list of objects, such as [{"item_id": "q1", "label": 1, "judge-a": 1}]'
_LISTED = 8
_BOM = b"\xef\xbb\xbf"
Path = tuple[str, ...]
"""The keys that lead to a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Unfolded:
    """Plain JSON Lines, and the number of the line or record that each of them comes from."""

    text: bytes
    numbers: Sequence[int]


def decoded(data: bytes) -> Any:
    """Return the value of a JSON text.

    Raises InputError (without file and row) for text that is not JSON or exceeds the limits.
    """
    check_json(data)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise InputError("is not JSON", remedy=EXPORT_AGAIN) from None


def check_json(data: bytes) -> None:
    """Refuse JSON with more than ``MAX_VALUES`` values or nested deeper than ``MAX_DEPTH``."""
    opening = data.count(b"[") + data.count(b"{")
    if opening <= limits.MAX_DEPTH and opening + data.count(b",") < limits.MAX_VALUES:
        return
    bare = _STRING.sub(b"", data)
    opening = bare.count(b"[") + bare.count(b"{")
    if opening > limits.MAX_DEPTH and _depth(bare) > limits.MAX_DEPTH:
        raise InputError(
            "JSON is nested too deeply",
            allowed=f"at most {limits.MAX_DEPTH} levels",
            remedy="write each nested value as a column of its own",
        )
    if opening + bare.count(b",") >= limits.MAX_VALUES:
        raise InputError(
            "one JSON document has too many values",
            allowed=f"at most {limits.MAX_VALUES:,}",
            remedy="split it",
        )


def _depth(bare: bytes) -> int:
    brackets = bare.translate(None, _ALL_BUT_BRACKETS)
    depth = deepest = 0
    for start in range(0, len(brackets), _BLOCK):
        codes = np.frombuffer(brackets, np.uint8, min(_BLOCK, len(brackets) - start), start)
        levels = depth + np.cumsum(np.where((codes == ord("[")) | (codes == ord("{")), 1, -1))
        depth, deepest = int(levels[-1]), max(deepest, int(levels.max()))
    return deepest


def is_document(data: bytes, extension: str) -> bool:
    """Whether the text is a JSON list, or an object that spans several lines or contains a list."""
    text = data.removeprefix(_BOM).strip()
    if text.startswith(b"["):
        return True
    if extension in ("jsonl", "ndjson") or not text.startswith(b"{"):
        return False
    first, end, _ = text.partition(b"\n")
    return not first.rstrip().endswith(b"}") if end else _holds_records(text)


def _holds_records(text: bytes) -> bool:
    """Whether a single object on one line contains a list of objects."""
    try:
        value = _decoded(text)
    except InputError:
        return False
    return isinstance(value, dict) and bool(_lists(value))


def unfolded_document(data: bytes, path: str | None = None) -> Unfolded:
    """Return the records of a document, one object per line; ``path`` leads to their list.

    An object inside a record becomes columns; a list of objects inside a record becomes one row per
    object, joined with the rest of the record. A column has the name of its key, or the whole path
    to it where several keys of a record have that name.

    Raises
    ------
    InputError
        Not JSON, beyond the limits, no list of objects, no such list, or without a path several
        lists that may be the records.
    """
    records = _records(_decoded(data), path)
    shared = _shared(records)
    unfolded = _written(
        (number, line)
        for number, record in enumerate(records, start=1)
        for line in _lines(record, number, shared)
    )
    if not unfolded.numbers:
        raise InputError("a JSON list without records", allowed=_ALLOWED, remedy=EXPORT_AGAIN)
    return unfolded


def unfolded_lines(data: bytes) -> Unfolded:
    """Return JSON Lines with nested objects and lists of objects unfolded as in a document.

    A line that is not a record is unchanged, for the reader to refuse.
    """
    # Read twice, because all records together would take many times the memory of their text.
    shared = _shared(filter(None, map(_record, _texts(data))))
    return _written(
        (number, line)
        for number, text in enumerate(_texts(data), start=1)
        for line in _unfolded(text, number, shared)
    )


def _texts(data: bytes) -> Iterator[bytes]:
    return (text.rstrip(b"\n") for text in io.BytesIO(data.removeprefix(_BOM)))


def _unfolded(text: bytes, number: int, shared: Container[str]) -> Iterable[bytes]:
    record = _record(text)
    return [text] if record is None else _lines(record, number, shared)


def _record(text: bytes) -> dict[str, Any] | None:
    """Return the object on a line; None if there is none."""
    try:
        record = _decoded(text)
    except InputError:
        return None
    return record if isinstance(record, dict) else None


def _lines(record: dict[str, Any], number: int, shared: Container[str]) -> Iterator[bytes]:
    for leaves in _rows(record, number):
        row = {".".join(path) if path[-1] in shared else path[-1]: value for path, value in leaves}
        if len(row) < len(leaves):
            raise _two_keys(leaves, number)
        yield json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _two_keys(leaves: Iterable[tuple[Path, Any]], number: int) -> InputError:
    return InputError(
        f"two keys of record {number} lead to the same column",
        column=first_repeated([".".join(path) for path, _ in leaves]),
        allowed="every column once",
        remedy="rename or remove one of the two keys",
    )


def _written(lines: Iterable[tuple[int, bytes]]) -> Unfolded:
    out: list[bytes] = []
    numbers = array("i")
    size = 0
    for number, line in lines:
        size += len(line) + 1
        if size > limits.MAX_UNPACKED:
            raise too_large_unpacked()
        out.append(line)
        numbers.append(number)
    return Unfolded(b"\n".join(out), numbers)


def _decoded(data: bytes) -> Any:
    check_json(data)
    try:
        # Numbers keep their original text, as in JSON Lines.
        return json.loads(
            data.removeprefix(_BOM), object_pairs_hook=_object, parse_float=str, parse_int=str
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("not readable as JSON", allowed=_ALLOWED, remedy=EXPORT_AGAIN) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise InputError(
            "this key is given twice in an object",
            column=first_repeated([name for name, _ in pairs]),
            allowed="every key once",
            remedy="rename or remove one of the two",
        )
    return result


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _lists(value: dict[str, Any], place: str = "") -> dict[str, Any]:
    """Return the lists of objects inside an object and its objects, by path."""
    lists: dict[str, Any] = {}
    for name, inner in value.items():
        if _are_records(inner):
            lists[f"{place}{name}"] = inner
        elif isinstance(inner, dict):
            lists |= _lists(inner, f"{place}{name}.")
    return lists


def _records(value: Any, path: str | None) -> list[dict[str, Any]]:
    lists = _lists(value) if isinstance(value, dict) else {}
    if path is not None:
        if path not in lists:
            raise _no_list(path, lists)
        value = lists[path]
    elif isinstance(value, dict):
        at_top = {name: lists[name] for name, inner in value.items() if _are_records(inner)}
        candidates = at_top or lists
        if len(candidates) > 1:
            raise InputError(
                f"several lists of records: {listed(list(lists), _LISTED)}",
                allowed="one list of votes",
                remedy=f"name it {RECORDS}",
                choices=tuple(lists),
            )
        value = next(iter(candidates.values()), [value])
    if not _are_records(value):
        raise InputError("not a list of JSON objects", allowed=_ALLOWED, remedy=EXPORT_AGAIN)
    records: list[dict[str, Any]] = value
    return records


def _no_list(path: str, lists: dict[str, Any]) -> InputError:
    if not lists:
        return InputError(
            "no list of records is inside an object of this file",
            value=path,
            allowed="the keys that lead to a list of objects, such as results.items",
            remedy=f"name no list {RECORDS}",
        )
    return InputError(
        "there is no such list of records",
        value=path,
        allowed=listed(list(lists), _LISTED),
        remedy=f"name one of them {RECORDS}",
    )


def _rows(record: dict[str, Any], number: int) -> Iterator[list[tuple[Path, Any]]]:
    """Yield the values of each row with their paths, as :func:`_leaves` does."""
    lists = [name for name, inner in record.items() if _are_records(inner)]
    if len(lists) > 1:
        raise InputError(
            f"two lists in record {number}, {quote_value(lists[0])} and {quote_value(lists[1])}",
            allowed="one list of votes in a record",
            remedy="leave out the other",
        )
    outer = {name: inner for name, inner in record.items() if name not in lists}
    shared = list(_leaves(outer))
    for inner in record[lists[0]] if lists else [{}]:
        yield [*shared, *_leaves(inner, (lists[0],) if lists else ())]


def _leaves(values: dict[str, Any], place: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values inside an object and its objects, each with the keys that lead to it."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*place, name))
        else:
            yield (*place, name), value


def _shared(records: Iterable[dict[str, Any]]) -> set[str]:
    """Return the keys that lead to several values of a row: their columns have the whole path."""
    shared: set[str] = set()
    for record in records:
        inner = next((value for value in record.values() if _are_records(value)), None)
        outer = {name: value for name, value in record.items() if value is not inner}
        ends = [path[-1] for path, _ in _leaves(outer)]
        rows = {tuple(path[-1] for path, _ in _leaves(row)) for row in inner or [{}]}
        for row in rows:
            counts = Counter((*ends, *row))
            shared |= {end for end, count in counts.items() if count > 1}
    return shared
