"""JSON Lines -> RawTable: one object per line, whose keys are the columns."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError, first_repeated, quote_value
from judgepanel.votes.from_json import check_json
from judgepanel.votes.remedies import CORRECT_LINE, EXPORT_AGAIN
from judgepanel.votes.structure import check_text
from judgepanel.votes.table import (
    RawTable,
    check_columns,
    check_length,
    check_size,
    column_names,
    text_column,
)

NESTED = "a nested value"
_BOM = b"\xef\xbb\xbf"
_ALLOWED_VALUES = "text, numbers, true, false, null"


class _Pairs(list[tuple[str, Any]]):
    """The key-value pairs of an object, in order; a JSON array is a plain list."""


# Numbers keep their original text: 0.30 is shown as 0.30, and no digit is lost.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_float=str, parse_int=str, parse_constant=str
)


class _Column:
    """Codes of one key's values by row; rows without the key are filled in later."""

    __slots__ = ("codes", "words")

    def __init__(self) -> None:
        self.codes = array("i")
        self.words: dict[str | bool | None, int] = {None: 0}

    def fill_to(self, n_rows: int) -> None:
        missing = n_rows - len(self.codes)
        if missing > 0:
            self.codes.extend(array("i", bytes(4 * missing)))

    def finish(self, n_rows: int) -> pd.Categorical:
        self.fill_to(n_rows)
        texts = [_text(word) for word in self.words]
        return text_column(np.frombuffer(self.codes, np.int32), texts)


def read_jsonl(data: bytes, name: str, numbers: Sequence[int] | None = None) -> RawTable:
    """Read one object per line; absent keys are missing cells; blank lines are skipped.

    ``numbers`` are those of the lines in the user's file if they are not 1, 2 and so on.

    Raises InputError (without the file's name) with the line number for broken JSON, a line that is
    not an object, a duplicate key and nested values.
    """
    check_text(data)
    columns: dict[str, _Column] = {}
    lines = array("i")
    start = len(_BOM) if data.startswith(_BOM) else 0
    counted = iter(numbers) if numbers is not None else count(1)
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        raw = data[start:end]
        text = raw.decode().strip()
        start = end + 1
        number = next(counted)
        if text:
            _add(_object(raw, text, number), columns, len(lines), number)
            lines.append(number)
    names = column_names(list(columns), None)
    if not names:
        raise InputError(
            "objects without keys", row=1, allowed="one key per column", remedy=EXPORT_AGAIN
        )
    frame = pd.DataFrame(
        {
            name: columns.pop(key).finish(len(lines))
            for name, key in zip(names, [*columns], strict=True)
        }
    )
    places = np.array(lines, dtype=np.int32)
    return RawTable(
        frame, name, "jsonl", lines[0], None if (np.diff(places) == 1).all() else places
    )


def _object(raw: bytes, text: str, line: int) -> _Pairs:
    try:
        check_json(raw)
        pairs = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        reason = f"broken JSON, {what} at character {error.pos + 1}"
        raise InputError(
            reason,
            row=line,
            value=text,
            allowed="one JSON object per line",
            remedy=CORRECT_LINE,
        ) from None
    except (InputError, RecursionError) as error:
        if isinstance(error, InputError) and raw.count(b"[") + raw.count(b"{") == 1:
            raise InputError(
                error.problem, row=line, allowed=error.allowed, remedy=error.remedy
            ) from None
        raise InputError(
            NESTED,
            row=line,
            value=text,
            allowed=_ALLOWED_VALUES,
            remedy="write each nested value as a column of its own",
        ) from None
    if not isinstance(pairs, _Pairs):
        raise InputError(
            "not a JSON object",
            row=line,
            value=text,
            allowed="one object per line",
            remedy=CORRECT_LINE,
        )
    twice = first_repeated([key for key, _ in pairs])
    if twice is not None:
        raise InputError(
            "this key is given twice",
            row=line,
            column=twice,
            allowed="every key once a line",
            remedy="rename or remove one of the two",
        )
    return pairs


def _add(pairs: _Pairs, columns: dict[str, _Column], index: int, line: int) -> None:
    for key, value in pairs:
        column = columns.get(key)
        if column is None:
            check_columns(len(columns) + 1, line)
            check_size(index + 1, len(columns) + 1)
            _check_plain(key, key, line)
            column = columns[key] = _Column()
        if len(column.codes) < index:
            column.fill_to(index)
        code = None if isinstance(value, list) else column.words.get(value)
        if code is None:
            _check_plain(value, key, line)
            code = column.words[value] = len(column.words)
        column.codes.append(code)


def _check_plain(value: Any, column: str, line: int) -> None:
    if isinstance(value, list):
        kind = "object" if isinstance(value, _Pairs) else "list"
        raise InputError(
            NESTED,
            row=line,
            column=column,
            value=kind,
            allowed=_ALLOWED_VALUES,
            remedy="write its parts as columns of their own, or take the key out",
        )
    if isinstance(value, str):
        check_length(value, limits.MAX_CELL, "the cell", row=line, column=column)
    if isinstance(value, str) and ("\0" in value or not _is_unicode(value)):
        raise InputError(
            "a NUL or a broken Unicode character",
            row=line,
            column=quote_value(column)[1:-1],
            value=value.encode("ascii", "backslashreplace").decode().replace("\0", "\\0"),
            allowed="plain text",
            remedy="save the file as UTF-8 again",
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(word: str | bool | None) -> str:
    if word is None:
        return ""
    if isinstance(word, bool):
        return "true" if word else "false"
    return word
