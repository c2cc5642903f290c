"""What benchmarks and evaluation tools write -> rows of outputs, or of votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from judgepanel.votes.errors import InputError
from judgepanel.votes.imports import inspect_logs, judgebench, llmbar, promptfoo, rewardbench
from judgepanel.votes.imports.rows import Found
from judgepanel.votes.imports.source import ZIP, Source, source_in, source_of


@dataclass(frozen=True, slots=True)
class Kind:
    """A layout: what it is called, what is wanted, whether files fit, and how they are read."""

    title: str
    wanted: str
    fits: Callable[[Source], bool]
    read: Callable[[Source], Found]


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "llmbar": Kind("LLMBar's evaluators", llmbar.WANTED, llmbar.fits, llmbar.read),
        "judgebench": Kind(
            "JudgeBench's outputs", judgebench.WANTED, judgebench.fits, judgebench.read
        ),
        "rewardbench": Kind(
            "RewardBench's results on each prompt",
            rewardbench.WANTED,
            rewardbench.fits,
            rewardbench.read,
        ),
        "inspect": Kind(
            "logs of Inspect AI", inspect_logs.WANTED, inspect_logs.fits, inspect_logs.read
        ),
        "promptfoo": Kind("results of promptfoo", promptfoo.WANTED, promptfoo.fits, promptfoo.read),
    }
)
"""Layouts by name, see docs/transcripts.md."""


_BUILT_OTHERWISE = (KeyError, TypeError, AttributeError, ValueError, IndexError)
"""What a reader runs into where a file has the layout's marks, and something else inside."""


def read_kind(source: Source, kind: str) -> Found:
    """What a layout of this name holds; InputError where the files do not have it."""
    layout = KINDS[kind]
    if not _fits(layout, source):
        problem = f"holds no {layout.title}" if source.names else "there is nothing to read"
        raise InputError(problem, file=source.name, allowed=layout.wanted)
    return _read(layout, source)


def recognised(data: bytes, name: str) -> tuple[str, Found] | None:
    """The layout and its rows, if a file is one that another tool wrote; None for all others.

    Only an archive or a file that begins as a JSON object is looked into.
    """
    if not data.startswith((ZIP, b"{", b"\xef\xbb\xbf{")):
        return None
    try:
        source = source_in(name, data)
    except InputError:
        return None
    for kind, layout in KINDS.items():
        if _fits(layout, source):
            return kind, _read(layout, source)
    return None


def _fits(layout: Kind, source: Source) -> bool:
    try:
        return layout.fits(source)
    except InputError:
        return False


def _read(layout: Kind, source: Source) -> Found:
    try:
        found = layout.read(source)
        return replace(found, rows=list(found.rows))
    except InputError:
        raise
    except _BUILT_OTHERWISE:
        raise InputError(
            f"damaged, or not written as {layout.title} are", file=source.name
        ) from None


__all__ = ["KINDS", "Found", "Kind", "read_kind", "recognised", "source_of"]
