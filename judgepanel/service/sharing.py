"""Share links: a random token opens one analysis until it expires or is revoked.

Only the SHA-256 of a token is stored, so reading the database does not give access to shared
analyses.
"""

from __future__ import annotations

import hashlib
import re
import secrets

from sqlalchemy import ColumnElement, Connection, Engine, and_, insert, or_, select, update

from judgepanel.service.archive import decided, opened, read, stamp
from judgepanel.service.basics import TOKEN, NotFound, SignInFirst
from judgepanel.service.database import transaction
from judgepanel.service.tables import ANALYSES, SHARES, DatabaseNow
from judgepanel.service.workspace import Analysis, Decision, Share

TOKEN_BYTES = 32
_ID = re.compile(r"[0-9a-f]{64}")


class Shares:
    """The share links in a database, for any owner."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def make(
        self, analysis_id: str, owner: str, seconds: float | None, *, signed_in_only: bool
    ) -> str:
        """Return a token that opens an analysis of this owner for ``seconds``, None until revoked.

        Raises
        ------
        NotFound
            This owner has no such analysis.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with transaction(self._engine) as connection:
            opened(connection, analysis_id, owner, lock=True)
            row = {
                "token_sha256": id_of_token(token),
                "analysis_id": analysis_id,
                "signed_in_only": signed_in_only,
                "created": DatabaseNow(),
                "expires": None if seconds is None else DatabaseNow() + seconds,
            }
            connection.execute(insert(SHARES).values(**row))
        return token

    def list(self, analysis_id: str, owner: str) -> tuple[Share, ...]:
        """Return the live links of an analysis of this owner, newest first, or raise NotFound."""
        names = SHARES.c
        wanted = select(names.token_sha256, names.created, names.expires, names.signed_in_only)
        wanted = wanted.where(names.analysis_id == analysis_id, _live())
        with transaction(self._engine, write=False) as connection:
            opened(connection, analysis_id, owner)
            rows = connection.execute(wanted.order_by(names.created.desc())).all()
        return tuple(
            Share(share_id, stamp(created), None if expires is None else stamp(expires), signed_in)
            for share_id, created, expires, signed_in in rows
        )

    def revoke(self, analysis_id: str, share_id: str, owner: str) -> None:
        """Revoke a link of an analysis of this owner, or raise NotFound; ended links stay ended."""
        with transaction(self._engine) as connection:
            opened(connection, analysis_id, owner)
            if _ID.fullmatch(share_id):
                this = (SHARES.c.token_sha256 == share_id, SHARES.c.analysis_id == analysis_id)
                connection.execute(update(SHARES).where(*this).values(revoked=DatabaseNow()))

    def open(self, token: str, *, signed_in: bool) -> Analysis:
        """Return the analysis that a token opens.

        Raises
        ------
        NotFound
            The token is wrong, has expired or was revoked, without saying which.
        SignInFirst
            The link is only for those who have signed in.
        """
        with transaction(self._engine, write=False) as connection:
            return _shared(connection, token, signed_in)[0]

    def owner(self, token: str, *, signed_in: bool) -> str:
        """Return the owner of the analysis that a token opens; raises as :meth:`open`."""
        with transaction(self._engine, write=False) as connection:
            return _shared(connection, token, signed_in)[1]

    def decisions(self, token: str, *, signed_in: bool) -> tuple[Decision, ...]:
        """Return the decisions on the analysis that a token opens; raises as :meth:`open`."""
        with transaction(self._engine, write=False) as connection:
            return decided(connection, _shared(connection, token, signed_in)[0].id)


def _shared(connection: Connection, token: str, signed_in: bool) -> tuple[Analysis, str]:
    """Return what a token opens, and its owner."""
    if not TOKEN.fullmatch(token):
        raise NotFound("no such link")
    names = ANALYSES.c
    wanted = select(names.id, names.content, names.owner, SHARES.c.signed_in_only)
    wanted = wanted.join(SHARES, SHARES.c.analysis_id == ANALYSES.c.id)
    wanted = wanted.where(SHARES.c.token_sha256 == id_of_token(token), _live())
    row = connection.execute(wanted).first()
    if row is None:
        raise NotFound("no such link")
    analysis_id, content, owner, signed_in_only = row
    if signed_in_only and not signed_in:
        raise SignInFirst("this link opens only for those who have signed in")
    analysis = read(analysis_id, content)
    if analysis is None:
        raise NotFound("no such link")
    return analysis, owner


def _live() -> ColumnElement[bool]:
    ends = SHARES.c.expires
    return and_(SHARES.c.revoked.is_(None), or_(ends.is_(None), ends > DatabaseNow()))


def id_of_token(token: str) -> str:
    """The id of the link with this token."""
    return hashlib.sha256(token.encode()).hexdigest()
