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
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.remedies import EXPORT_AGAIN, RECORDS
from judgepanel.votes.table import too_large_unpacked

# Possessive quantifiers never backtrack, so matching takes linear time.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_ALL_BUT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_BLOCK = 1 << 24
_ALLOWED = 'a list of objects, such as [{"item_id": "q1", "label": 1, "judge-a": 1}]'
_LISTED = 8
_BOM = b"\xef\xbb\xbf"


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


def lines_of(data: bytes, path: str | None = None) -> bytes:
    """Return the records of a document, one object per line; ``path`` leads to their list.

    An object inside a record becomes columns; a list of objects inside a record becomes one row per
    object, joined with the rest of the record.

    Raises
    ------
    InputError
        Not JSON, beyond the limits, no list of objects, no such list, or without a path several
        lists that may be the records.
    """
    records = enumerate(_records(_decoded(data), path), start=1)
    lines = _written(line for number, record in records for line in _lines(record, number))
    if not lines:
        raise InputError("a JSON list without records", allowed=_ALLOWED, remedy=EXPORT_AGAIN)
    return lines


def flat_lines(data: bytes) -> bytes:
    """Return JSON Lines with nested objects and lists of objects unfolded as in a document.

    A line that is not a record is unchanged, for the reader to refuse.
    """
    return _written(
        line
        for number, text in enumerate(io.BytesIO(data.removeprefix(_BOM)), start=1)
        for line in _unfolded(text.rstrip(b"\n"), number)
    )


def _unfolded(text: bytes, number: int) -> Iterable[bytes]:
    try:
        record = _decoded(text)
    except InputError:
        return [text]
    return _lines(record, number) if isinstance(record, dict) else [text]


def _lines(record: dict[str, Any], number: int) -> Iterator[bytes]:
    for row in _rows(record, number):
        yield json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _written(lines: Iterable[bytes]) -> bytes:
    out: list[bytes] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > limits.MAX_UNPACKED:
            raise too_large_unpacked()
        out.append(line)
    return b"\n".join(out)


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
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            "this key is given twice in an object",
            column=twice,
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


def _rows(record: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    lists = [name for name, inner in record.items() if _are_records(inner)]
    if len(lists) > 1:
        raise InputError(
            f"two lists in record {number}, {quote_value(lists[0])} and {quote_value(lists[1])}",
            allowed="one list of votes in a record",
            remedy="leave out the other",
        )
    outer = {name: inner for name, inner in record.items() if name not in lists}
    for inner in record[lists[0]] if lists else [{}]:
        yield _flat(outer, inner)


def _flat(*parts: dict[str, Any]) -> dict[str, Any]:
    """Merge objects, including nested ones, into one; duplicate names get a path prefix."""
    row: dict[str, Any] = {}

    def add(values: dict[str, Any], place: str) -> None:
        for name, value in values.items():
            if isinstance(value, dict):
                add(value, f"{place}{name}.")
            else:
                row[name if name not in row else f"{place}{name}"] = value

    for part in parts:
        add(part, "")
    return row
