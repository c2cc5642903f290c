"""Links for others: with which address they begin, and whom it reaches."""

from __future__ import annotations

import pytest

from judgepanel.ui import sharing
from judgepanel.ui.access import AccessProblem


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:8501",
        "http://LOCALHOST.:8501",
        "http://app.localhost",
        "http://127.0.0.1:8501",
        "http://127.8.9.1",
        "http://[::1]:8501",
        "http://0.0.0.0:8501",
    ],
)
def test_an_address_that_reaches_one_machine_is_known(address: str) -> None:
    assert sharing.is_local(address)


@pytest.mark.parametrize(
    "address",
    ["https://judges.example.org", "http://192.168.1.7:8501", "http://localhost.example.org", ""],
)
def test_an_address_that_reaches_others_is_not_called_local(address: str) -> None:
    assert not sharing.is_local(address)


def test_links_for_others_begin_with_the_address_that_is_set(monkeypatch) -> None:
    monkeypatch.setenv(sharing.PUBLIC_URL, "https://example.org/judges/")
    assert sharing.public_address() == "https://example.org/judges"


def test_links_of_a_team_begin_where_its_sign_in_comes_back(monkeypatch) -> None:
    monkeypatch.delenv(sharing.PUBLIC_URL, raising=False)
    monkeypatch.setattr(sharing, "is_team", lambda: True)
    monkeypatch.setattr(
        sharing, "redirect_uri", lambda: "https://judges.example.org/oauth2callback"
    )
    assert sharing.public_address() == "https://judges.example.org"


@pytest.mark.parametrize("setting", ["judges.example.org", "ftp://a.b", "https://", "https://a?b"])
def test_a_setting_that_is_no_address_is_refused(monkeypatch, setting: str) -> None:
    monkeypatch.setenv(sharing.PUBLIC_URL, setting)
    with pytest.raises(AccessProblem, match="it must be an address such as"):
        sharing.public_address()
