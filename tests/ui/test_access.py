"""Who counts as signed in, according to the provider's claims."""

import time

import pytest

from judgepanel.ui import access

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


@pytest.mark.parametrize(
    "change",
    [
        {"is_logged_in": False},
        {"is_logged_in": "false"},
        {"is_logged_in": None},
        {"iss": ""},
        {"iss": ["https://login.example"]},
        {"sub": ""},
        {"sub": 5},
        {"sub": None},
        {"iat": None},
        {"iat": "1800000000"},
        {"iat": True},
        {"iat": float("nan")},
        {"iat": float("inf")},
        {"iat": 10**400},
        {"iat": NOW - access.SIGNED_IN_SECONDS - 1},
        {"iat": NOW + access.SKEW_SECONDS + 1},
    ],
    ids="-".join,
)
def test_what_is_missing_odd_or_old_is_no_sign_in(claims, change):
    claims |= change
    assert access.user() is None


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
