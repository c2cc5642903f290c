"""The workspace contract: what pages may request, independent of storage."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from platformdirs import user_data_path

from judgepanel.service.basics import NotFound
from judgepanel.studies.contract import Settings, Spec, Study
from judgepanel.votes import Loaded, VoteMatrix
from judgepanel.votes.reading import Reading
from judgepanel.votes.table import Coverage

Status = Literal["running", "done", "cancelled", "failed"]
_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")


@dataclass(frozen=True, slots=True)
class Analysis:
    """One upload under one set of shared settings, identified by an opaque id.

    ``file`` is the uploaded file's name (untrusted text); ``columns`` are the options that read it
    again on the command line; ``notes`` are data warnings; ``created`` ISO 8601, UTC; ``coverage``
    is that of judges' outputs, None if the file held votes; ``reading`` says how the file was read,
    None for analyses of older versions.
    """

    id: str
    name: str
    file: str
    votes_sha256: str
    settings: Settings
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    created: str
    coverage: Coverage | None = None
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on an analysis, by whom and why: untrusted text; ``made`` ISO 8601, UTC."""

    what: str
    by: str
    why: str
    made: str


@dataclass(frozen=True, slots=True)
class Share:
    """A live link to an analysis; ``created`` and ``expires`` ISO 8601, UTC; None never expires.

    ``id``, the SHA-256 of the token, revokes the link but opens nothing.
    """

    id: str
    created: str
    expires: str | None
    signed_in_only: bool


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A finished result; ``current`` is false if an older engine made it."""

    result: Any
    engine: int
    current: bool


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Work on one result: chunks ``done`` of ``total``, seconds, and the result so far.

    ``result`` is None until the first chunk; ``message`` says why a job failed; ``ahead`` counts
    the jobs ahead of this one while it waits, and is 0 when it is its turn. ``elapsed`` is 0 until
    this run has finished a chunk, even if an earlier run has.
    """

    status: Status
    done: int
    total: int
    elapsed: float
    remaining: float
    result: Any
    message: str = ""
    ahead: int = 0


class Workspace(Protocol):
    """All operations of pages. Ids are validated before they reach storage."""

    def for_readers(self, token: str, *, signed_in: bool = False) -> Workspace:
        """Return the workspace for readers of a link; everything else is :class:`NotFound`."""

    def put_votes(self, votes: VoteMatrix) -> str:
        """Store votes by content; return their SHA-256."""

    def publish(self, votes: VoteMatrix) -> None:
        """Let all users work on these votes, readers too: a sample."""

    def votes(self, sha256: str) -> VoteMatrix:
        """Return the votes with this SHA-256, or raise :class:`NotFound`."""

    def create(self, loaded: Loaded, settings: Settings, name: str) -> Analysis:
        """Return a new analysis of loaded votes."""

    def open(self, analysis_id: str) -> Analysis:
        """Return the analysis with this id, or raise :class:`NotFound`."""

    def list(self) -> tuple[Analysis, ...]:
        """Return all analyses, newest first."""

    def with_settings(self, analysis: Analysis, settings: Settings) -> Analysis:
        """Return the same votes under other settings, as a new analysis with its own link."""

    def rename(self, analysis_id: str, name: str) -> Analysis:
        """Rename an analysis and return it, or raise :class:`NotFound`."""

    def delete(self, analysis_id: str) -> None:
        """Delete an analysis and what no other analysis uses, or raise :class:`NotFound`."""

    def decide(self, analysis_id: str, what: str, by: str, why: str) -> Decision:
        """Record a decision on an analysis, or raise :class:`NotFound`."""

    def decisions(self, analysis_id: str) -> tuple[Decision, ...]:
        """Return the decisions on an analysis in order, or raise :class:`NotFound`."""

    def share(
        self, analysis_id: str, seconds: float | None = None, *, signed_in_only: bool = False
    ) -> str:
        """Return a random token for reading an analysis, or raise :class:`NotFound`."""

    def shares(self, analysis_id: str) -> tuple[Share, ...]:
        """Return the live links of an analysis, newest first, or raise :class:`NotFound`."""

    def revoke(self, analysis_id: str, share_id: str) -> None:
        """Revoke a link of an analysis, or raise :class:`NotFound`."""

    def shared(self, token: str, *, signed_in: bool = False) -> Analysis:
        """Return the analysis a token opens, or raise :class:`NotFound` or :class:`SignInFirst`."""

    def shared_decisions(self, token: str, *, signed_in: bool = False) -> tuple[Decision, ...]:
        """Return decisions on that analysis, or raise :class:`NotFound` or :class:`SignInFirst`."""

    def submit(self, study: Study[Any, Any, Any], votes: VoteMatrix, spec: Spec) -> None:
        """Start work unless its result is stored or it is running, or raise :class:`Full`."""

    def result(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Stored | None:
        """Return the finished result of a spec, if any."""

    def is_unreadable(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> bool:
        """Return whether a result of a spec is stored but unreadable."""

    def partial(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Job | None:
        """Return the state of running, cancelled or failed work, if any."""

    def wait(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, seconds: float
    ) -> None:
        """Wait until running work has a first result or has ended, at most ``seconds``."""

    def cancel(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> None:
        """Cancel running work after its current chunk, or raise :class:`NotFound`."""


def new_id() -> str:
    """Return an unguessable id of 128 bits, safe in URLs and file names."""
    return secrets.token_urlsafe(16)


def checked_id(text: str) -> str:
    """Return the id if it is well-formed; otherwise raise NotFound before it reaches storage."""
    if not _ID.fullmatch(text):
        raise NotFound("no such analysis")
    return text


def default_home() -> Path:
    """Return $JUDGEPANEL_HOME, or the platform's data folder."""
    given = os.environ.get("JUDGEPANEL_HOME")
    return Path(given) if given else user_data_path("judgepanel", appauthor=False)
