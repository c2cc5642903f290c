"""Rows of outputs while they are read, and a count of all that is left out, with the reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgepanel.votes.errors import InputError

Row = dict[str, Any]


@dataclass(slots=True)
class Found:
    """``rows`` come one at a time; ``left_out`` counts by reason and is whole once they all have.

    A row has item_id, judge, order, label, features, and a text or two scores.
    """

    rows: Iterator[Row]
    left_out: Counter[str]


def files_below(path: Path, pattern: str, wanted: str) -> list[Path]:
    """The file itself, or all files below a folder that match, in a fixed order.

    Raises InputError where there is none.
    """
    if path.is_file():
        return [path]
    found = sorted(path.glob(pattern))
    if not found:
        problem = "there is nothing to read in this folder" if path.is_dir() else "is not there"
        raise InputError(problem, file=path.name, allowed=wanted)
    return found


def json_of(path: Path) -> Any:
    """What is in a JSON file; InputError for anything else."""
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path.name) from None
    except (ValueError, RecursionError):
        raise InputError("is not JSON", file=str(path.name)) from None
