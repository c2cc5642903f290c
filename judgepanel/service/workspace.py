"""The workspace contract: what a page may ask for, whatever keeps it."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from platformdirs import user_data_path

from judgepanel.studies.contract import Spec, Study
from judgepanel.studies.settings import Settings
from judgepanel.votes import Loaded, VoteMatrix
from judgepanel.votes.coverage import Coverage

Status = Literal["running", "done", "cancelled", "failed"]
_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")


class ServerProblem(Exception):
    """What is wrong with this server or its settings, in a sentence for the reader of a page."""


class NotFound(LookupError):
    """There is no such analysis or vote matrix here."""


class Full(RuntimeError):
    """There is no room for more work now, in one sentence."""


class SignInFirst(LookupError):
    """What is asked for is there only for those who have signed in."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """One upload under one set of shared settings, found by an opaque id.

    ``file`` is the uploaded file's name (untrusted text); ``columns`` are the options that read
    it again on the command line; ``notes`` what was odd about it; ``created`` ISO 8601, UTC;
    ``coverage`` what was read of judges' outputs, None where the file had votes.
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


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided on an analysis, by whom and why: untrusted text; ``made`` ISO 8601, UTC."""

    what: str
    by: str
    why: str
    made: str


@dataclass(frozen=True, slots=True)
class Share:
    """A live link to an analysis; ``created`` and ``expires`` ISO 8601, UTC, None: never.

    ``id`` revokes it and opens nothing: it is the SHA-256 of the token.
    """

    id: str
    created: str
    expires: str | None
    signed_in_only: bool


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A finished result; ``current`` is false when an older engine made it."""

    result: Any
    engine: int
    current: bool


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Work on one result: chunks ``done`` of ``total``, seconds, and the result so far.

    ``result`` is None until the first chunk; ``message`` says why a job failed; ``ahead`` counts
    the jobs that go before this one while it waits, and is 0 when it is its turn. ``elapsed`` is 0
    until this run has finished a chunk, also where an earlier one has.
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
    """All that pages use. Ids are checked before they reach storage."""

    def for_readers(self, token: str, *, signed_in: bool = False) -> Workspace:
        """The same for those who come by a link: what belongs to owners is :class:`NotFound`."""

    def put_votes(self, votes: VoteMatrix) -> str:
        """Keep votes by content; returns their SHA-256."""

    def publish(self, votes: VoteMatrix) -> None:
        """Let everybody work on these votes, readers too: a sample."""

    def votes(self, sha256: str) -> VoteMatrix:
        """The votes of this SHA-256, or :class:`NotFound`."""

    def create(self, loaded: Loaded, settings: Settings, name: str) -> Analysis:
        """A new analysis of loaded votes."""

    def open(self, analysis_id: str) -> Analysis:
        """The analysis of this id, or :class:`NotFound`."""

    def list(self) -> tuple[Analysis, ...]:
        """All analyses, newest first."""

    def with_settings(self, analysis: Analysis, settings: Settings) -> Analysis:
        """The same votes under other settings, as a new analysis with its own link."""

    def rename(self, analysis_id: str, name: str) -> Analysis:
        """The analysis under another name, or :class:`NotFound`."""

    def delete(self, analysis_id: str) -> None:
        """Forget an analysis and all that no other analysis uses, or :class:`NotFound`."""

    def decide(self, analysis_id: str, what: str, by: str, why: str) -> Decision:
        """Record a decision on an analysis, or :class:`NotFound`."""

    def decisions(self, analysis_id: str) -> tuple[Decision, ...]:
        """The decisions on an analysis in their order, or :class:`NotFound`."""

    def share(
        self, analysis_id: str, seconds: float | None = None, *, signed_in_only: bool = False
    ) -> str:
        """A random token that lets others read an analysis for so long, or :class:`NotFound`."""

    def shares(self, analysis_id: str) -> tuple[Share, ...]:
        """The live links of an analysis, newest first, or :class:`NotFound`."""

    def revoke(self, analysis_id: str, share_id: str) -> None:
        """End a link of an analysis, or :class:`NotFound`."""

    def shared(self, token: str, *, signed_in: bool = False) -> Analysis:
        """The analysis that a token opens, :class:`NotFound` or :class:`SignInFirst`."""

    def shared_decisions(self, token: str, *, signed_in: bool = False) -> tuple[Decision, ...]:
        """The decisions on that analysis, :class:`NotFound` or :class:`SignInFirst`."""

    def submit(self, study: Study[Any, Any, Any], votes: VoteMatrix, spec: Spec) -> None:
        """Start work unless its result is stored or it is already running, or :class:`Full`."""

    def result(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Stored | None:
        """The finished result of a spec, if there is one."""

    def is_unreadable(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> bool:
        """Whether a result of a spec is stored but cannot be read, so that there is none."""

    def partial(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> Job | None:
        """The state of running, cancelled or failed work, if there was any."""

    def wait(
        self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec, seconds: float
    ) -> None:
        """Return once running work has a first result or has ended, or after ``seconds``."""

    def cancel(self, study: Study[Any, Any, Any], votes_sha256: str, spec: Spec) -> None:
        """Call running work off after its current chunk, or :class:`NotFound`."""


def new_id() -> str:
    """An unguessable id of 128 bits, safe in URLs and file names."""
    return secrets.token_urlsafe(16)


def checked_id(text: str) -> str:
    """The id if it has the form of one; NotFound otherwise, before it reaches storage."""
    if not _ID.fullmatch(text):
        raise NotFound("no such analysis")
    return text


def default_home() -> Path:
    """$JUDGEPANEL_HOME, else the platform's data folder."""
    given = os.environ.get("JUDGEPANEL_HOME")
    return Path(given) if given else user_data_path("judgepanel", appauthor=False)
