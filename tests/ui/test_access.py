"""Who counts as signed in, according to the provider's claims; links for others."""

import time

import pytest

from judgepanel.service.basics import ServerProblem
from judgepanel.ui import access, server

NOW = 1_800_000_000.0
GOOD = {"is_logged_in": True, "iss": "https://login.example", "sub": "ann", "iat": NOW - 60}


@pytest.fixture
def claims(monkeypatch):
    stated = dict(GOOD)
    monkeypatch.setattr(access, "_claims", lambda: stated)
    monkeypatch.setattr(time, "time", lambda: NOW)
    return stated


def test_who_has_signed_in_is_known_by_issuer_and_subject(claims):
    claims["email"] = "ann@example.org"
    assert access.user() == access.User('["https://login.example", "ann"]', "ann@example.org")
    claims["name"] = "Ann"
    assert access.user().name == "Ann"


NO_SIGN_IN = {
    "is_logged_in": (False, "false", None),
    "iss": ("", ["https://login.example"]),
    "sub": ("", 5, None),
    "iat": (
        *(None, "1800000000", True, float("nan"), float("inf"), 10**400),
        *(NOW - access.SIGNED_IN_SECONDS - 1, NOW + access.SKEW_SECONDS + 1),
    ),
}


@pytest.mark.parametrize("claim", NO_SIGN_IN)
def test_what_is_missing_odd_or_old_is_no_sign_in(claims, claim):
    for value in NO_SIGN_IN[claim]:
        claims[claim] = value
        assert access.user() is None, value


def test_a_day_and_a_clock_a_little_ahead_are_fine(claims):
    for issued in (NOW - access.SIGNED_IN_SECONDS, NOW + access.SKEW_SECONDS, int(NOW)):
        claims["iat"] = issued
        assert access.user() is not None


@pytest.mark.parametrize("entry", [("a", "b c"), ("a b", "c"), ('a", "b', "c")])
def test_people_of_other_issuers_and_subjects_are_others(claims, entry):
    claims["iss"], claims["sub"] = entry
    own = access.user().owner
    claims["iss"], claims["sub"] = "a", 'b", "c'
    assert access.user().owner != own


LOCAL = (
    *("http://localhost:8501", "http://LOCALHOST.:8501", "http://app.localhost", "http://[::1]:1"),
    *("http://127.0.0.1:8501", "http://127.8.9.1", "http://0.0.0.0:8501"),
)
OTHERS = (
    *("https://judges.example.org", "http://192.168.1.7:8501", "http://localhost.example.org", ""),
)


@pytest.mark.parametrize("url", [*LOCAL, *OTHERS])
def test_an_address_that_reaches_one_machine_is_told_from_one_that_reaches_others(url):
    assert server.is_local(url) == (url in LOCAL)


def test_links_for_others_begin_with_the_address_that_is_set(monkeypatch):
    monkeypatch.setenv(server.PUBLIC_URL, "https://Example.org:443/")
    assert server.public_origins() == ("https://example.org",)


@pytest.mark.parametrize("setting", ["judges.example.org", "ftp://a.b", "https://", "https://a?b"])
def test_a_setting_that_is_no_address_is_refused(monkeypatch, setting):
    monkeypatch.setenv(server.PUBLIC_URL, setting)
    with pytest.raises(ServerProblem, match="it must be what people type to open it"):
        server.public_origins()
