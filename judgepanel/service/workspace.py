"""What a workspace holds: analyses, decisions, links, results and jobs, and their ids."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_data_path

from judgepanel.decision.lean import PRICE, PanelInUse
from judgepanel.service.basics import NotFound
from judgepanel.studies.contract import Settings
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
    None for analyses of older versions. ``prefer`` and ``price`` name the panel in use: the
    preference of the recommendation, and the largest loss accepted.
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
    prefer: PanelInUse = "nll"
    price: float = PRICE


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
