"""Without its optional package a feature says so in one sentence, and the rest works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from judgepanel.service.database import DatabaseProblem, connect
from judgepanel.ui import access
from judgepanel.votes import InputError
from judgepanel.votes.extras import EXTRAS, require
from tests.setup.scripts import ROOT


@pytest.mark.parametrize("package", sorted(EXTRAS))
def test_a_missing_package_is_named_with_its_extra(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as error:
        require(package, "this")
    assert str(error.value) == (
        f"this needs the package {package}, which is not installed; "
        f"install it with: pip install 'judgepanel[{EXTRAS[package]}]'."
    )


def test_postgresql_without_its_driver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseProblem, match=r"judgepanel\[postgres\]"):
        connect("postgresql://localhost/votes")


def test_a_team_without_the_package_for_signing_in_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "authlib", None)
    monkeypatch.setattr(access, "auth_section", lambda: {"cookie_secret": "x"})
    monkeypatch.delenv("JUDGEPANEL_ACCESS", raising=False)
    with pytest.raises(access.AccessProblem, match=r"judgepanel\[login\]"):
        access.is_team()


def test_the_command_line_works_without_extras_but_for_collect(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules |= dict.fromkeys({list(EXTRAS)});"
        "from judgepanel.cli import main; sys.exit(main(sys.argv[1:]))"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *arguments]
        environ = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )

    votes = str(ROOT / "sample_data" / "clean_pairwise_votes.csv")
    assert run("inspect", votes).returncode == 0
    refused = run("collect", "pairs.csv", "--judges", "judges.toml", "--out", "out")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert line.endswith("install it with: pip install 'judgepanel[collect]'.")
