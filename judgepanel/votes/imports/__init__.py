"""What benchmarks and evaluation tools write -> a table of outputs, or of votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from judgepanel.votes import sources
from judgepanel.votes.errors import EXPORT_AGAIN, InputError, TooLarge, documentation
from judgepanel.votes.formats import ZIP, is_workbook, read_table
from judgepanel.votes.imports import common, graders, logs  # noqa: F401 - they register importers.
from judgepanel.votes.matrix import Task
from judgepanel.votes.sources import READABLE, Archive, Document, Source, member, source_of
from judgepanel.votes.table import RawTable, together

KINDS: Mapping[str, common.Importer] = MappingProxyType(dict(sorted(common.IMPORTERS.items())))
"""Importers by name, see docs/transcripts.md."""

_LOOKED_INTO = (ZIP, b"{", b"[", b"\xef\xbb\xbf{", b"\xef\xbb\xbf[", b"PAR1")


def read_kind(
    source: Source, kind: str, task: Task | None = None, *, strict: bool = False
) -> common.ImportedRows:
    """What an importer of this name reads; files that cannot be read are left out and named.

    ``task`` chooses where some files hold pairs and others single responses. ``strict`` stops at
    the first file that cannot be read.

    Raises
    ------
    InputError
        No file has the layout, none that has it can be read, or there is more than may be unpacked.
    """
    importer, left_out = KINDS[kind], common.LeftOut()
    files: list[tuple[str, list[Any]]] = []

    def read(path: str) -> None:
        document = sources.opened(source, path) if importer.may_be(path) else None
        records = None if document is None else importer.records(document, left_out)
        if records is None:
            left_out.file(member(source, path), common.OTHERS)
        else:
            files.append((member(source, path), records))

    problems = _problems(source, read, strict=strict)
    if not files and len(problems) == 1:
        raise problems[0]
    if not files:
        problem = f"holds no {importer.title}" if source.names else "there is nothing to read"
        remedy = EXPORT_AGAIN if problems else "choose the file or folder with it"
        if problems:
            problem = f"none of {len(problems):,} files can be read, the first because: "
            problem += str(problems[0])
        raise InputError(problem, importer.wanted, remedy, file=source.name)
    left_out.unreadable += map(str, problems)
    try:
        return importer.together(common.Found(files, left_out, task))
    except sources.BUILT_OTHERWISE:
        raise importer.damaged(source.name) from None


def _problems(source: Source, read: Callable[[str], None], *, strict: bool) -> list[InputError]:
    """Read all documents; why some cannot be read, the first of which is raised if ``strict``."""
    problems: list[InputError] = []
    for path in sources.documents(source):
        try:
            read(path)
        except InputError as error:
            if strict or isinstance(error, TooLarge):
                raise
            problems.append(error)
    return problems


def recognised(data: bytes, name: str, task: Task | None = None) -> RawTable | None:
    """The table in a file that another tool wrote, or in an archive; None for all others.

    ``task`` as in :func:`read_kind`.

    Only an archive, JSON, Parquet and a table called .csv or .tsv are looked into. Raises
    InputError for one that is damaged, and for an archive with results of two tools.
    """
    looked_into = data.startswith(_LOOKED_INTO) or name.lower().endswith((".csv", ".tsv"))
    if not looked_into or name.lower().endswith((".xlsx", ".xlsm")) or is_workbook(data):
        return None
    try:
        source = sources.source_in(name, data)
    except InputError:
        # Under another name it may be anything that begins alike.
        if name.lower().endswith(".zip"):
            raise
        return None
    if isinstance(source, Archive):
        return read_source(source, task)
    kinds = _kinds_of(_glimpse(source, data))
    return _read(source, kinds, task) if kinds else None


def read_source(source: Source, task: Task | None = None) -> RawTable:
    """The table in the files of a folder or archive: those of one tool, or tables of one shape."""
    known: set[str] = set()

    def look(path: str) -> None:
        if any(importer.may_be(path) for importer in KINDS.values()):
            known.update(_kinds_of(sources.opened(source, path)))

    problems = _problems(source, look, strict=False)
    if problems and not (known or any(p.lower().endswith(READABLE) for p in source.names)):
        raise problems[0]
    kinds = [kind for kind in KINDS if kind in known]
    return _read(source, kinds, task) if kinds else _tables(source)


def _read(source: Source, kinds: list[str], task: Task | None) -> RawTable:
    if len(kinds) > 1:
        titles = " and ".join(KINDS[kind].title for kind in kinds)
        remedy = "read each in a file of its own"
        raise InputError(f"holds {titles}", "results of one tool", remedy, file=source.name)
    rows = read_kind(source, kinds[0], task)
    notes = (f"Read as {KINDS[kinds[0]].title}.", *rows.left_out.notes())
    return replace(rows.table(source.name), notes=notes)


def _tables(source: Source) -> RawTable:
    """The tables of the files that have the same columns as most, one below the other."""
    tables: list[RawTable] = []
    left_out = common.LeftOut()

    def read(path: str) -> None:
        if path.lower().endswith(READABLE):
            tables.append(read_table(source.read(path), member(source, path)))
        else:
            left_out.file(member(source, path), common.OTHERS)

    left_out.unreadable += map(str, _problems(source, read, strict=False))
    shapes = Counter(frozenset(table.columns) for table in tables)
    if not tables or max(shapes.values()) == 1 < len(tables):
        problem = "its files have different columns" if len(tables) > 1 else "holds no votes"
        problem = " ".join((f"{problem}.", *left_out.notes(common.FEW))).rstrip(".")
        allowed = f"tables with the same columns, or {documentation('transcripts')}"
        remedy = "choose the file with the votes inside"
        raise InputError(problem, allowed, remedy, file=source.name)
    shape = shapes.most_common(1)[0][0]
    for table in tables:
        if frozenset(table.columns) != shape:
            left_out.file(table.name, "files with other columns")
    chosen = [table for table in tables if frozenset(table.columns) == shape]
    table = chosen[0] if len(chosen) == 1 else together(chosen, source.name)
    return replace(table, notes=(*table.notes, *left_out.notes(3)))


def _kinds_of(document: Document | None) -> list[str]:
    if document is None:
        return []
    return [kind for kind, importer in KINDS.items() if importer.recognises(document)]


def _glimpse(source: Source, data: bytes) -> Document | None:
    """A single file; of one with records the first alone."""
    (path,) = source.names
    start = sources.glimpsed(path, data)
    of_records = path.lower().endswith((".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"))
    if of_records or data.startswith((b"[", b"\xef\xbb\xbf[")):
        return start
    try:
        return sources.opened(source, path)
    except InputError:
        # One object per line is what other files called .json hold.
        if start is not None and path.lower().endswith(".json"):
            return None
        raise


__all__ = ["KINDS", "read_kind", "read_source", "recognised", "source_of"]
