"""What a server knows before it opens a database: names, errors that pages say, a token's form.

No library is imported, so that a server is up and draws its first page early.
"""

from __future__ import annotations

import os
import re

VARIABLE = "JUDGEPANEL_DATABASE_URL"
"""Holds the address of the database."""
LOCAL = ""
"""The owner of all analyses on a server for one user."""
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
"""What a link to an analysis may look like."""


class ServerProblem(Exception):
    """A problem with this server or its settings, as a sentence for users."""


class DatabaseProblem(ServerProblem):
    """A problem with the database."""


class DatabaseAway(DatabaseProblem):
    """The database is temporarily unavailable; it may recover by itself."""


class NotFound(LookupError):
    """There is no such analysis or vote matrix."""


class Full(RuntimeError):
    """There is no room for more work now, as one sentence."""


class SignInFirst(LookupError):
    """Access requires signing in."""


class Lost(Exception):
    """The work no longer belongs to this server: another does it, or it was deleted."""


def check_address() -> None:
    """Refuse $JUDGEPANEL_DATABASE_URL, without connecting to it.

    Raises
    ------
    DatabaseProblem
        It is not the address of a database, or the package for that database is not installed.
    """
    if given := os.environ.get(VARIABLE, "").strip():
        from judgepanel.service.database import connect  # noqa: PLC0415

        connect(given, make=False).dispose()
