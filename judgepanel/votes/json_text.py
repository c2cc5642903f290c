"""JSON in untrusted files: size and depth are checked before decoding.

An empty list takes two bytes in a file and over sixty in memory.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from judgepanel.votes import limits
from judgepanel.votes.errors import InputError
from judgepanel.votes.remedies import EXPORT_AGAIN

# Possessive quantifiers never backtrack, so matching takes linear time.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_ALL_BUT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_BLOCK = 1 << 24


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
