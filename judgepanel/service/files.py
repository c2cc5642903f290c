"""A workspace in a folder: content-addressed votes, analyses and results as files.

Every file is written beside its place and moved there, so that a reader sees all of it or none.
Names are hashes and checked ids; nothing a user typed becomes part of a path.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judgepanel import ENGINE
from judgepanel.report.commands import column_options
from judgepanel.report.output import write_whole
from judgepanel.service.jobs import Jobs
from judgepanel.service.packing import UNREADABLE, pack, unpack
from judgepanel.service.workspace import (
    Analysis,
    Job,
    NotFound,
    Status,
    Stored,
    checked_id,
    new_id,
)
from judgepanel.studies.codec import from_plain, spec_sha, to_plain
from judgepanel.studies.contract import Chunk, Spec, Study
from judgepanel.studies.settings import Settings
from judgepanel.votes import Loaded, VoteMatrix

_KEPT_VOTES = 8
_KEPT_RESULTS = 64


class FileWorkspace:
    """The :class:`~judgepanel.service.workspace.Workspace` of one process over one folder.

    ``backend`` is the joblib backend of its jobs.
    """

    def __init__(self, home: Path, backend: str = "threading") -> None:
        self._home = home
        for folder in ("votes", "analyses", "results"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        self._jobs = Jobs(backend=backend)
        self._votes: OrderedDict[str, VoteMatrix] = OrderedDict()
        self._results: OrderedDict[str, Stored] = OrderedDict()
        self._lock = threading.Lock()
        self._submitting = threading.Lock()

    def put_votes(self, votes: VoteMatrix) -> str:
        """Keep votes by content; returns their SHA-256."""
        with self._lock:
            kept = votes.sha256 in self._votes
        path = self._votes_path(votes.sha256)
        if not (kept and path.exists()):
            # Written even where a file of that name stands: it may be damaged.
            _write(path, pack(votes))
        self._remember(self._votes, votes.sha256, votes, _KEPT_VOTES)
        return votes.sha256

    def votes(self, sha256: str) -> VoteMatrix:
        """The votes of this SHA-256, or NotFound."""
        with self._lock:
            if sha256 in self._votes:
                return self._votes[sha256]
        path = self._votes_path(checked_id(sha256))
        try:
            votes = unpack(path.read_bytes())
        except FileNotFoundError:
            raise NotFound("no such votes") from None
        except UNREADABLE:
            raise NotFound("these votes are damaged: their file cannot be read") from None
        if votes.sha256 != sha256:
            raise NotFound("these votes are damaged: their content does not match their hash")
        self._remember(self._votes, sha256, votes, _KEPT_VOTES)
        return votes

    def create(self, loaded: Loaded, settings: Settings, name: str) -> Analysis:
        """A new analysis of loaded votes."""
        analysis = Analysis(
            id=new_id(),
            name=name,
            file=loaded.file,
            votes_sha256=self.put_votes(loaded.votes),
            settings=settings,
            columns=column_options(loaded),
            notes=loaded.warnings,
            created=datetime.now(UTC).isoformat(timespec="microseconds"),
        )
        self._save(analysis)
        return analysis

    def open(self, analysis_id: str) -> Analysis:
        """The analysis of this id, or NotFound."""
        path = self._home / "analyses" / f"{checked_id(analysis_id)}.json"
        try:
            analysis = from_plain(Analysis, json.loads(path.read_text("utf-8")))
        except (FileNotFoundError, *UNREADABLE):
            raise NotFound("no such analysis") from None
        if analysis.id != analysis_id:
            raise NotFound("no such analysis")
        return analysis

    def with_settings(self, analysis: Analysis, settings: Settings) -> Analysis:
        """The same votes under other settings, as a new analysis with its own link."""
        changed = replace(
            analysis,
            id=new_id(),
            settings=settings,
            created=datetime.now(UTC).isoformat(timespec="microseconds"),
        )
        self._save(changed)
        return changed

    def list(self) -> tuple[Analysis, ...]:
        """All analyses, newest first."""
        found = []
        for path in (self._home / "analyses").glob("*.json"):
            try:
                found.append(self.open(path.stem))
            except NotFound:
                continue
        return tuple(sorted(found, key=lambda a: (a.created, a.id), reverse=True))

    def submit(self, study: Study[Any, Any, Any], votes: VoteMatrix, spec: Spec) -> None:
        """Start work unless its result is stored or it is already running."""
        key = _key(study, votes.sha256, spec)
        with self._submitting:
            # Running first: work that ends between the two questions has stored its result.
            job = self._jobs.state(key)
            if job is not None and job.status == "running":
                return
            stored = self.result(study, votes.sha256, spec)
            if stored is not None and stored.current:
                return
            record = _Unrecorded(lambda result: self._finish(key, study, spec, result))
            self._jobs.submit(key, study, votes, spec, record)

    def result(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Stored | None:
        """The finished result of a spec, if there is one; of the newest engine that made one."""
        key = _key(study, votes_sha256, spec)
        with self._lock:
            if key in self._results:
                return self._results[key]
        for engine in range(ENGINE, 0, -1):
            path = self._result_path(key, engine)
            if path.exists():
                try:
                    content = json.loads(path.read_text("utf-8"))
                    result = from_plain(study.result, content["result"])
                except UNREADABLE:
                    continue
                stored = Stored(result, engine, engine == ENGINE)
                self._remember(self._results, key, stored, _KEPT_RESULTS)
                return stored
        return None

    def partial(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Job | None:
        """The state of running, cancelled or failed work, if there was any."""
        return self._jobs.state(_key(study, votes_sha256, spec))

    def wait(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, seconds: float
    ) -> None:
        """Return once running work has a first result or has ended, or after ``seconds``."""
        self._jobs.wait(_key(study, votes_sha256, spec), seconds)

    def cancel(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> None:
        """Call running work off after its current chunk."""
        self._jobs.cancel(_key(study, votes_sha256, spec))

    def close(self) -> None:
        """Stop all work."""
        self._jobs.close()

    def _finish(self, key: str, study: Study[Any, Any, Any], spec: Spec, result: Any) -> None:
        content = {
            "study": study.name,
            "engine": ENGINE,
            "spec": to_plain(spec),
            "result": to_plain(result),
        }
        _write(self._result_path(key, ENGINE), json.dumps(content, allow_nan=False).encode())
        self._remember(self._results, key, Stored(result, ENGINE, True), _KEPT_RESULTS)

    def _save(self, analysis: Analysis) -> None:
        text = json.dumps(to_plain(analysis), ensure_ascii=True, allow_nan=False)
        _write(self._home / "analyses" / f"{analysis.id}.json", text.encode())

    def _remember(self, cache: OrderedDict[str, Any], key: str, value: Any, most: int) -> None:
        with self._lock:
            cache[key] = value
            cache.move_to_end(key)
            while len(cache) > most:
                cache.popitem(last=False)

    def _votes_path(self, sha256: str) -> Path:
        return self._home / "votes" / f"{sha256}.npz"

    def _result_path(self, key: str, engine: int) -> Path:
        return self._home / "results" / f"{key}-e{engine}.json"


def _key(study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> str:
    return f"{checked_id(votes_sha256)}-{study.name}-{spec_sha(spec)}"


def _write(path: Path, data: bytes) -> None:
    """For the eyes of this user only."""
    write_whole(path, data, mode=0o600)


class _Unrecorded:
    """Work of which nothing is kept but its result."""

    def __init__(self, finish: Callable[[Any], None]) -> None:
        self.finish = finish

    def kept(self) -> Mapping[int, Any]:
        """Nothing."""
        return {}

    def keep(self, chunk: Chunk, piece: Any) -> bool:
        """Goes on."""
        return True

    def end(self, status: Status, message: str) -> None:
        """Keeps nothing."""
