"""What a page shows by default, told apart from what the user has chosen."""

from __future__ import annotations

import streamlit as st

_PIPELINE = ("aggregator", "calibrator")
_PAGE = "page-drawn"


def forget_defaults(page: str) -> None:
    """Forget what the previous page showed by default; the user's choices are kept.

    Streamlit keeps the value of a widget for the widget with the same key on another page, but each
    page has its own default pipeline.
    """
    if st.session_state.get(_PAGE, page) != page:
        for key in _PIPELINE:
            if key in st.session_state and st.session_state[key] == st.session_state.get(_of(key)):
                del st.session_state[key]
    st.session_state[_PAGE] = page


def begins_with(key: str, default: str) -> None:
    """Remember what a page shows by default."""
    st.session_state[_of(key)] = default


def _of(key: str) -> str:
    return f"{key}-default"
