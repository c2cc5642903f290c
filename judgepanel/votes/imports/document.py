"""One file of another tool's results, opened once, so that every layout can look at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from judgepanel.votes.errors import InputError
from judgepanel.votes.imports.source import (
    ZIP,
    Archive,
    Source,
    json_in,
    json_lines,
    member,
)

_HIDDEN = ("__MACOSX",)


@dataclass(frozen=True, slots=True)
class Document:
    """A file: ``whole`` a JSON value, ``lines`` of JSON with their numbers, or ``parts``.

    ``path`` is its place in the source, ``file`` what messages call it.
    """

    path: str
    file: str
    whole: Any = None
    lines: tuple[tuple[int, Any], ...] = ()
    parts: Archive | None = None


def documents(source: Source) -> Iterator[str]:
    """The paths of all files that somebody put there: none of those a system hides beside them."""
    for name in source.names:
        parts = PurePosixPath(name).parts
        if not any(part in _HIDDEN for part in parts) and not parts[-1].startswith("."):
            yield name


def opened(source: Source, path: str) -> Document | None:
    """A file as a document; None for a kind of file that holds no results.

    Raises InputError for one that is damaged.
    """
    file, data = member(source, path), source.read(path)
    ending = path.lower().rpartition(".")[2]
    if ending == "eval":
        if not data.startswith(ZIP):
            raise InputError("not a log of Inspect AI", file=file, allowed="a whole .eval")
        inner = source.inside(path) if isinstance(source, Archive) else Archive(file, data)
        return Document(path, file, parts=inner)
    if ending in ("jsonl", "ndjson"):
        return Document(path, file, lines=tuple(json_lines(data, file)))
    if ending == "json":
        return Document(path, file, whole=json_in(data, file))
    return None
