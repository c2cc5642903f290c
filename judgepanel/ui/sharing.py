"""The popover Share: links that let others read the analysis, and their end.

A link for others begins with ``JUDGEPANEL_PUBLIC_URL``, else with the address to which a team's
sign-in returns, else with the address in this browser. If only this machine can reach it, the
popover says so.
"""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

import streamlit as st

from judgepanel.service.sql import id_of_token
from judgepanel.service.workspace import Analysis, Share
from judgepanel.ui.access import is_team
from judgepanel.ui.server import PUBLIC_URL, is_local, public_origins
from judgepanel.ui.session import COMPARE, PARAMETER, SHARE, workspace
from judgepanel.votes.errors import documentation
from judgepanel.words.text import minute

_DAY = 24 * 3600.0
_LASTS: dict[str, float | None] = {
    "a day": _DAY,
    "a week": 7 * _DAY,
    "30 days": 30 * _DAY,
    "until revoked": None,
}
_MADE = "share-made"
_ONLY_HERE = (
    "This address reaches only this machine, so nobody elsewhere can open the link. Serve the "
    f"dashboard for your team ({documentation('team')}) and open it under its own address, or set "
    f"{PUBLIC_URL} to that address and start it again."
)


def share(analysis: Analysis) -> None:
    """Draw the popover, which only the owner sees."""
    st.write(
        "A link for others opens every page and download of this analysis but changes nothing. The "
        "address in your browser would give them your rights: do not send that one."
    )
    base = next(iter(public_origins()), _browser_origin())
    if is_local(base):
        st.warning(_ONLY_HERE)
    lasts = st.selectbox("Lifetime", list(_LASTS), index=1, key="share-lasts")
    closed = is_team() and st.checkbox(
        "Only for those who sign in", value=True, key="share-signed-in"
    )
    if st.button("Create a link for others", key="share-make", width="stretch"):
        lifetime = _LASTS.get(lasts, _DAY)
        token = workspace().share(analysis.id, lifetime, signed_in_only=closed)
        st.session_state[_MADE] = (analysis.id, token)
    made_for, token = st.session_state.get(_MADE, ("", ""))
    live = workspace().shares(analysis.id)
    if made_for == analysis.id and id_of_token(token) in {link.id for link in live}:
        st.write("Copy it now: it is not stored and cannot be shown again.")
        st.code(_shared_url(token, base), language=None, wrap_lines=True)
    for link in live:
        _live(analysis, link)


def _shared_url(token: str, origin: str) -> str:
    """The address of this page for others, with its view state."""
    mine = (PARAMETER, SHARE, COMPARE)
    state = {key: st.query_params[key] for key in st.query_params if key not in mine}
    return f"{origin}{urlsplit(_in_the_browser()).path}?{urlencode({SHARE: token, **state})}"


def _browser_origin() -> str:
    parts = urlsplit(_in_the_browser())
    return f"{parts.scheme}://{parts.netloc}"


def _in_the_browser() -> str:
    return st.context.url or "http://localhost:8501/"


def _live(analysis: Analysis, link: Share) -> None:
    text, end = st.columns([3, 2], vertical_alignment="center")
    until = "does not expire" if link.expires is None else f"until {minute(link.expires)} UTC"
    whom = "; only for those who sign in" if link.signed_in_only else ""
    text.caption(f"Created {minute(link.created)} UTC, {until}{whom}")
    if end.button("Revoke", key=f"revoke-{link.id}", width="stretch"):
        workspace().revoke(analysis.id, link.id)
        st.rerun()
