"""Import of the files of an earlier version into the database, once, so that links keep working.

A file is removed when the database has its content, so that later deletions leave no copy.
Unreadable files, and those that belong to no analysis, stay where they are.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from judgepanel.service.archive import (
    UNREADABLE,
    Archive,
    analysis_of,
    draw_of,
    packed_json,
    votes_of,
)
from judgepanel.service.basics import LOCAL
from judgepanel.service.database import transaction
from judgepanel.service.ledger import Key, upsert
from judgepanel.service.tables import RESULTS
from judgepanel.service.workspace import Analysis
from judgepanel.studies.codec import from_plain
from judgepanel.studies.settings import Settings

_RESULT = re.compile(r"([0-9a-f]{64})-(\w+)-([0-9a-f]{64})-e([0-9]{1,6})\.json")
_LOG = logging.getLogger(__name__)


def import_folder(engine: Engine, archive: Archive, home: Path) -> None:
    """Move analyses with their votes and results from a data folder into the database."""
    if not (home / "analyses").is_dir():
        return
    read: list[Path] = []
    known: set[str] = set()
    for path, analysis in _analyses(home / "analyses"):
        source = home / "votes" / f"{analysis.votes_sha256}.npz"
        try:
            votes = votes_of(source.read_bytes())
        except (OSError, ValueError):
            continue
        if votes.sha256 == analysis.votes_sha256:
            archive.add(analysis, votes, LOCAL, anew=False)
            known.add(votes.sha256)
            read += [path, source]
    for path, row in _results(home / "results", known):
        with transaction(engine) as connection:
            upsert(connection, RESULTS, row, ())
        read.append(path)
    _LOG.info("%d files were brought into the database", len(read))
    for path in dict.fromkeys(read):
        path.unlink(missing_ok=True)
    for name in ("analyses", "votes", "results"):
        if (home / name).is_dir() and not any((home / name).iterdir()):
            (home / name).rmdir()


def _analyses(folder: Path) -> Iterator[tuple[Path, Analysis]]:
    for path in sorted(folder.glob("*.json")):
        try:
            analysis = analysis_of(json.loads(path.read_text("utf-8")))
        except (OSError, *UNREADABLE):
            continue
        if analysis.id == path.stem:
            yield path, analysis


def _results(folder: Path, known: set[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        match = _RESULT.fullmatch(path.name)
        if match is None or match[1] not in known:
            continue
        try:
            content = json.loads(path.read_text("utf-8"))
            settings = from_plain(
                Settings, {"group_duplicates": False} | content["spec"]["settings"]
            )
        except (OSError, *UNREADABLE):
            continue
        key = Key(match[1], match[2], match[3], int(match[4]))
        row = {**key.columns(), "draw": draw_of(settings), "content": packed_json(content)}
        yield path, row
