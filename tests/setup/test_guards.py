"""The guards of the tests themselves."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.scripts import ROOT


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80)])
def test_a_test_cannot_reach_another_machine(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as connection:
        connection.setblocking(False)
        with pytest.raises(RuntimeError, match="nothing beyond loopback"):
            connection.connect(address)
    with pytest.raises(RuntimeError, match="nothing beyond loopback"):
        socket.getaddrinfo("example.invalid", 80)


def test_a_test_can_reach_its_own_machine():
    with (
        socket.create_server(("localhost", 0)) as listening,
        socket.create_connection(("localhost", listening.getsockname()[1])) as connection,
    ):
        assert connection.getpeername()[0] == "127.0.0.1"


def test_tests_are_skipped_only_where_a_program_is_missing_as_both_guides_say():
    rule = (
        "skipped only where Chromium, PostgreSQL or Linux is missing, and a skip is a failure where"
    )
    for guide in ("CONTRIBUTING.md", "run"):
        assert rule in " ".join((ROOT / guide).read_text(encoding="utf-8").split()), guide
    asked = re.compile(r"pytest\.(?:mark\.)?(?:skip|skipif|importorskip|exit)\b[^\n]*")
    skips = [
        found
        for file in sorted((ROOT / "tests").rglob("*.py"))
        if file != Path(__file__)
        for found in asked.findall(file.read_text(encoding="utf-8"))
    ]
    assert skips
    missing = ("no PostgreSQL", "no Chromium", 'sys.platform != "linux"')
    assert [skip for skip in skips if not any(reason in skip for reason in missing)] == []


SKIPPING = """
import pytest

def test_that_skips():
    pytest.skip("no reason at all")

@pytest.mark.xfail(reason="known")
def test_that_is_known_to_fail():
    assert False
"""


@pytest.mark.parametrize("spread", [[], ["-n", "1"]], ids=["alone", "spread"])
@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_skip_is_a_failure_in_ci_only(tmp_path, spread, ci, code):
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_skipping.py").write_text(SKIPPING, encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *spread, "."],
        cwd=tmp_path,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == code, answer.stdout
    assert ("a skip is a failure in CI" in answer.stdout) is bool(code)
    assert "1 xfailed" in answer.stdout
    assert "no reason at all" in answer.stdout or not code
