"""What benchmarks and evaluation tools write -> rows of outputs, or of votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from judgepanel.votes.errors import InputError
from judgepanel.votes.imports import inspect_logs, judgebench, llmbar, promptfoo, rewardbench
from judgepanel.votes.imports.document import Document, documents, opened
from judgepanel.votes.imports.rows import Found
from judgepanel.votes.imports.source import (
    ZIP,
    Archive,
    Source,
    json_lines,
    source_in,
    source_of,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A layout: its title, what is wanted, which files may and do have it, how they are read."""

    title: str
    wanted: str
    named: Callable[[str], bool]
    fits: Callable[[Document], bool]
    read: Callable[[Iterable[Document], Counter[str]], Found]


def _kind(title: str, layout: Any) -> Kind:
    return Kind(title, layout.WANTED, layout.named, layout.fits, layout.read)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "inspect": _kind("logs of Inspect AI", inspect_logs),
        "promptfoo": _kind("results of promptfoo", promptfoo),
        "llmbar": _kind("outputs of LLMBar's evaluators", llmbar),
        "judgebench": _kind("outputs of JudgeBench's judges", judgebench),
        "rewardbench": _kind("results of RewardBench on each prompt", rewardbench),
    }
)
"""Layouts by name, see docs/transcripts.md."""

_OTHERS = "files that are something else"
_WORKBOOK = "[Content_Types].xml"
_BUILT_OTHERWISE = (KeyError, TypeError, AttributeError, ValueError, IndexError)
"""What a reader runs into where a file has the layout's marks, and something else inside."""


def read_kind(source: Source, kind: str) -> Found:
    """What a layout of this name holds; InputError where the files do not have it."""
    layout, left_out = KINDS[kind], Counter[str]()
    found = _having(source, layout, left_out)
    first = next(found, None)
    if first is None:
        problem = f"holds no {layout.title}" if source.names else "there is nothing to read"
        raise InputError(problem, file=source.name, allowed=layout.wanted)
    try:
        read = layout.read(chain([first], found), left_out)
        rows = list(read.rows)
        return replace(read, rows=rows, left_out=+read.left_out)
    except InputError:
        raise
    except _BUILT_OTHERWISE:
        raise InputError(
            f"damaged, or not written as {layout.title} are", file=source.name
        ) from None


def recognised(data: bytes, name: str) -> tuple[str, Found] | None:
    """The layout and its rows, if a file is one that another tool wrote; None for all others.

    Only an archive or a file that begins as a JSON object is looked into. Raises InputError for
    one that is damaged, and for an archive with results of no known tool, or of two.
    """
    if not data.startswith((ZIP, b"{", b"\xef\xbb\xbf{")):
        return None
    try:
        source = source_in(name, data)
    except InputError:
        # Under another name it may be anything that begins alike.
        if name.lower().endswith(".zip"):
            raise
        return None
    if isinstance(source, Archive):
        if _WORKBOOK in source.names:
            return None
        kinds = _kinds_in(source)
    else:
        kinds = _kinds_of(_glimpse(source, data))
    if not kinds and isinstance(source, Archive):
        titles = ", ".join(layout.title for layout in KINDS.values())
        raise InputError(
            "holds nothing that is known",
            file=name,
            allowed=f"{titles}; a table of votes is given as it is, or as .csv.gz",
        )
    if len(kinds) > 1:
        titles = " and ".join(KINDS[kind].title for kind in kinds)
        raise InputError(f"holds {titles}", file=name, allowed="results of one tool")
    return (kinds[0], read_kind(source, kinds[0])) if kinds else None


def _having(source: Source, layout: Kind, left_out: Counter[str]) -> Iterator[Document]:
    for path in documents(source):
        one = opened(source, path) if layout.named(path) else None
        if one is not None and layout.fits(one):
            yield one
        else:
            left_out[_OTHERS] += 1


def _kinds_in(source: Source) -> list[str]:
    found: set[str] = set()
    for path in documents(source):
        if any(layout.named(path) for layout in KINDS.values()):
            found.update(_kinds_of(opened(source, path)))
    return [kind for kind in KINDS if kind in found]


def _kinds_of(one: Document | None) -> list[str]:
    if one is None:
        return []
    return [kind for kind, of in KINDS.items() if of.named(one.path) and of.fits(one)]


def _glimpse(source: Source, data: bytes) -> Document | None:
    """A single file, of JSON Lines the first alone: there may be many of them."""
    (path,) = source.names
    end = data.find(b"\n")
    try:
        start = Document(path, path, lines=tuple(json_lines(data if end < 0 else data[:end], path)))
    except InputError:
        start = None
    if path.lower().endswith((".jsonl", ".ndjson")):
        return start
    try:
        return opened(source, path)
    except InputError:
        # One object a line is what other files called .json hold.
        if start is not None and path.lower().endswith(".json"):
            return None
        raise


__all__ = ["KINDS", "Found", "Kind", "read_kind", "recognised", "source_of"]
