"""What the user chose stays from page to page; what a page showed by default does not."""

import pytest
import streamlit as st

from judgepanel.ui.frame import begins_with, forget_defaults


@pytest.fixture
def state(monkeypatch):
    """A session, in which a page draws its calibrator if it has one."""
    held = {}
    monkeypatch.setattr(st, "session_state", held)
    return held


def open_page(state, name, default=None):
    """Go to a page that begins with this calibrator; without one, Streamlit drops the value."""
    forget_defaults(name)
    if default is None:
        state.pop("calibrator", None)
    else:
        begins_with("calibrator", default)
        state.setdefault("calibrator", default)
    return state.get("calibrator")


def test_every_page_begins_with_its_own_default(state):
    assert open_page(state, "Panel curve", "beta") == "beta"
    assert open_page(state, "Confidence", "none") == "none"
    assert open_page(state, "Panel curve", "beta") == "beta"


def test_a_choice_outlasts_a_page_without_the_control_and_a_page_that_begins_with_it(state):
    open_page(state, "Panel curve", "beta")
    state["calibrator"] = "none"
    assert open_page(state, "Scope") is None
    assert open_page(state, "Confidence", "none") == "none"
    assert open_page(state, "Panel curve", "beta") == "none"


def test_a_choice_ends_where_the_user_returns_to_the_default(state):
    open_page(state, "Panel curve", "beta")
    state["calibrator"] = "none"
    assert open_page(state, "Methods", "temperature") == "none"
    state["calibrator"] = "temperature"
    assert open_page(state, "Panel curve", "beta") == "beta"
