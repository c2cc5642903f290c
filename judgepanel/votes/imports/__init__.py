"""What benchmarks and evaluation tools write -> rows of outputs, or of votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from judgepanel.votes.errors import InputError, TooLarge
from judgepanel.votes.from_excel import is_workbook
from judgepanel.votes.imports import (
    alpacaeval,
    arena,
    inspect_logs,
    judgebench,
    langfuse,
    langsmith,
    llmbar,
    openai_evals,
    promptfoo,
    rewardbench,
    trulens,
)
from judgepanel.votes.imports.rows import OTHERS, ImportedRows, LeftOut
from judgepanel.votes.imports.source import (
    BUILT_OTHERWISE,
    ZIP,
    Archive,
    Document,
    Source,
    documents,
    glimpsed,
    member,
    opened,
    source_in,
    source_of,
)
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import EXPORT_AGAIN


@dataclass(frozen=True, slots=True)
class Kind:
    """A layout: its title, what is wanted, which files may and do have it, how they are read.

    ``read_file`` reads one file and refuses what is not as the tool writes it, ``together`` makes
    rows of all that were read.
    """

    title: str
    wanted: str
    named: Callable[[str], bool]
    fits: Callable[[Document], bool]
    read_file: Callable[[Document, LeftOut], Any]
    together: Callable[[Sequence[Any], LeftOut, Task | None], ImportedRows]


def _kind(title: str, layout: Any) -> Kind:
    return Kind(title, layout.WANTED, layout.named, layout.fits, layout.read_file, layout.together)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "inspect": _kind("logs of Inspect AI", inspect_logs),
        "promptfoo": _kind("results of promptfoo", promptfoo),
        "llmbar": _kind("outputs of LLMBar's evaluators", llmbar),
        "judgebench": _kind("outputs of JudgeBench's judges", judgebench),
        "rewardbench": _kind("results of RewardBench on each prompt", rewardbench),
        "arena": _kind("judgments of MT-bench and Chatbot Arena", arena),
        "alpacaeval": _kind("annotations of AlpacaEval", alpacaeval),
        "openai-evals": _kind("logs of OpenAI Evals", openai_evals),
        "trulens": _kind("records of TruLens", trulens),
        "langfuse": _kind("scores of Langfuse", langfuse),
        "langsmith": _kind("experiments of LangSmith", langsmith),
    }
)
"""Layouts by name, see docs/transcripts.md."""

_LOOKED_INTO = (ZIP, b"{", b"[", b"\xef\xbb\xbf{", b"\xef\xbb\xbf[", b"PAR1")


def read_kind(
    source: Source, kind: str, task: Task | None = None, *, strict: bool = False
) -> ImportedRows:
    """What a layout of this name holds; files that cannot be read are left out and named.

    ``task`` chooses where some files hold pairs and others single responses. ``strict`` stops at
    the first file that cannot be read.

    Raises
    ------
    InputError
        No file has the layout, none that has it can be read, or there is more than may be unpacked.
    """
    layout, left_out = KINDS[kind], LeftOut()
    files: list[Any] = []
    problems: list[InputError] = []
    for path in documents(source):
        counted = LeftOut()
        try:
            document = opened(source, path) if layout.named(path) else None
            if document is None or not layout.fits(document):
                left_out.file(member(source, path), OTHERS)
                continue
            files.append(layout.read_file(document, counted))
        except TooLarge:
            raise
        except InputError as error:
            problems.append(error)
        except BUILT_OTHERWISE:
            problems.append(_damaged(layout, member(source, path)))
        else:
            left_out.update(counted)
        if strict and problems:
            raise problems[0]
    if not files:
        raise _nothing(source, layout, problems)
    left_out.unreadable += [str(error) for error in problems]
    try:
        together = layout.together(files, left_out, task)
        return replace(together, rows=list(together.rows))
    except BUILT_OTHERWISE:
        raise _damaged(layout, source.name) from None


def _damaged(layout: Kind, file: str) -> InputError:
    return InputError(
        f"damaged, or not written as {layout.title} are",
        file=file,
        allowed=layout.wanted,
        remedy=EXPORT_AGAIN,
    )


def _nothing(source: Source, layout: Kind, problems: list[InputError]) -> InputError:
    """Why nothing of a layout was read."""
    if len(problems) == 1:
        return problems[0]
    if problems:
        return InputError(
            f"none of {len(problems):,} files can be read, the first because: {problems[0]}",
            file=source.name,
            allowed=layout.wanted,
            remedy=EXPORT_AGAIN,
        )
    problem = f"holds no {layout.title}" if source.names else "there is nothing to read"
    return InputError(
        problem, file=source.name, allowed=layout.wanted, remedy="choose the file or folder with it"
    )


def recognised(data: bytes, name: str, task: Task | None = None) -> tuple[str, ImportedRows] | None:
    """The layout and its rows, if a file is one that another tool wrote; None for all others.

    ``task`` as in :func:`read_kind`.

    Only an archive, JSON, Parquet and a table called .csv or .tsv are looked into. Raises
    InputError for one that is damaged, and for an archive with results of no known tool, or of two.
    """
    looked_into = data.startswith(_LOOKED_INTO) or name.lower().endswith((".csv", ".tsv"))
    if not looked_into or name.lower().endswith((".xlsx", ".xlsm")) or is_workbook(data):
        return None
    try:
        source = source_in(name, data)
    except InputError:
        # Under another name it may be anything that begins alike.
        if name.lower().endswith(".zip"):
            raise
        return None
    kinds = _kinds_in(source) if isinstance(source, Archive) else _kinds_of(_glimpse(source, data))
    if not kinds and isinstance(source, Archive):
        titles = ", ".join(layout.title for layout in KINDS.values())
        raise InputError(
            "holds nothing that is known",
            file=name,
            allowed=titles,
            remedy="unpack it, and choose the table of votes inside",
        )
    if len(kinds) > 1:
        titles = " and ".join(KINDS[kind].title for kind in kinds)
        raise InputError(
            f"holds {titles}",
            file=name,
            allowed="results of one tool",
            remedy="read each in a file of its own",
        )
    return (kinds[0], read_kind(source, kinds[0], task)) if kinds else None


def _kinds_in(source: Source) -> list[str]:
    """The layouts that files of an archive have, where any of them can be read."""
    kinds: set[str] = set()
    problems: list[InputError] = []
    for path in documents(source):
        if not any(layout.named(path) for layout in KINDS.values()):
            continue
        try:
            kinds.update(_kinds_of(opened(source, path)))
        except TooLarge:
            raise
        except InputError as error:
            problems.append(error)
    if problems and not kinds:
        raise problems[0]
    return [kind for kind in KINDS if kind in kinds]


def _kinds_of(document: Document | None) -> list[str]:
    if document is None:
        return []
    return [kind for kind, of in KINDS.items() if of.named(document.path) and of.fits(document)]


def _glimpse(source: Source, data: bytes) -> Document | None:
    """A single file; of one with records the first alone."""
    (path,) = source.names
    start = glimpsed(path, data)
    of_records = path.lower().endswith((".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"))
    if of_records or data.startswith((b"[", b"\xef\xbb\xbf[")):
        return start
    try:
        return opened(source, path)
    except InputError:
        # One object a line is what other files called .json hold.
        if start is not None and path.lower().endswith(".json"):
            return None
        raise


__all__ = ["KINDS", "Kind", "read_kind", "recognised", "source_of"]
