"""What a page shows by default, told apart from what the user has chosen."""

from __future__ import annotations

import streamlit as st

_PIPELINE = ("aggregator", "calibrator")
_PAGE = "page-drawn"
_CHOSEN = "pipeline-chosen"


def forget_defaults(page: str) -> None:
    """Forget what the previous page showed by default; the user's choices are kept.

    Streamlit keeps the value of a widget for the widget with the same key on another page, but each
    page has its own default pipeline. It drops the value where a page has no such widget, so
    choices are kept beside it. A choice stays one on a page that shows the same by default, and
    ends where the user returns to a page's default.
    """
    state = st.session_state
    if state.get(_PAGE, page) != page:
        chosen: dict[str, str] = state.setdefault(_CHOSEN, {})
        for key in _PIPELINE:
            value = state.get(key)
            if value is not None and value != chosen.get(key):
                if value == state.get(_of(key)):
                    chosen.pop(key, None)
                else:
                    chosen[key] = value
            if key in chosen:
                state[key] = chosen[key]
            else:
                state.pop(key, None)
    state[_PAGE] = page


def begins_with(key: str, default: str) -> None:
    """Remember what a page shows by default."""
    st.session_state[_of(key)] = default


def _of(key: str) -> str:
    return f"{key}-default"
