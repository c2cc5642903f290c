"""Without its optional package a feature says so in one sentence."""

import sys

import pytest

from judgepanel.service.database import DatabaseProblem, connect
from judgepanel.ui import access
from judgepanel.votes import InputError
from judgepanel.votes.errors import EXTRAS, require


@pytest.mark.parametrize("package", sorted(EXTRAS))
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as error:
        require(package, "this")
    assert str(error.value) == (
        f"this needs the package {package}, which is not installed; "
        f"install it with: pip install 'judgepanel[{EXTRAS[package]}]'."
    )


def test_postgresql_without_its_driver_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseProblem, match=r"judgepanel\[postgres\]"):
        connect("postgresql://localhost/votes")


def test_a_team_without_the_package_for_signing_in_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "authlib", None)
    monkeypatch.setattr(access, "auth_section", lambda: {"cookie_secret": "x"})
    monkeypatch.delenv("JUDGEPANEL_ACCESS", raising=False)
    with pytest.raises(access.AccessProblem, match=r"judgepanel\[login\]"):
        access.is_team()
