"""Results of earlier versions that answer a current spec, whose options have changed since.

Specs gain options over time, and results are found by the SHA-256 of all options. A spec of an
earlier version asks the same question if all options that it shares with the current one are equal
and the other current options have their defaults, which are what was computed before there was a
choice.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Spec


def asks_the_same(content: bytes, spec: Spec) -> bool:
    """Return whether a stored result, as compressed JSON, answers ``spec``."""
    try:
        earlier = json.loads(zlib.decompress(content))["spec"]
    except (ValueError, TypeError, KeyError, RecursionError, zlib.error):
        return False
    return _agrees(earlier, to_plain(spec), to_plain(type(spec)()))


def _agrees(earlier: Any, asked: Any, default: Any) -> bool:
    if not (isinstance(earlier, dict) and isinstance(asked, dict) and isinstance(default, dict)):
        return bool(earlier == asked)
    return all(
        _agrees(earlier[name], value, default.get(name))
        if name in earlier
        else value == default.get(name)
        for name, value in asked.items()
    )
