"""Cookie secrets that can be guessed, with which anyone's sign-in could be forged, are refused."""

import random
import re
import string
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from judgepanel.ui.access import RANDOM_COMMAND, weakness
from tests.hostile.test_web import start

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "64 random characters, as of: openssl rand -hex 32"
"""What docs/team.md once had as its example."""
WEAK = [
    *("", EXAMPLE, "x" * 64, "0123456789abcdef" * 4, "abcdefghijklmnopqrstuvwxyz0123456789"),
    *("please-change-me-to-something-long-1234", "correcthorsebatterystaplecorrecthorse"),
    *("qwertyuiopasdfghqwertyuiopasdfgh", "0123456789012345678901234567890123456789"),
    *("only-for-tests-0123456789abcdef0123456789", "deadbeef" * 8, "a1" * 32, "\u00e9" * 40),
    *("my very own phrase, which is not so short", "13579" * 8, "9549083c75325cf4"),
]


@pytest.mark.parametrize("secret", WEAK)
def test_a_secret_that_can_be_guessed_is_refused(secret):
    assert weakness(secret) is not None


@pytest.mark.parametrize("secret", [None, 5, ["a"], b"x" * 64])
def test_what_is_no_text_is_no_secret(secret):
    assert weakness(secret) == "is missing"


def test_no_random_secret_is_refused():
    chance = random.Random(0)
    letters = string.ascii_letters + string.digits
    for digits, length in (("0123456789abcdef", 64), (letters, 32), (letters + "-_", 43)):
        made = ["".join(chance.choices(digits, k=length)) for _ in range(1000)]
        assert [secret for secret in made if weakness(secret)] == []


def test_the_docs_have_no_secret_that_works_and_the_command_makes_one():
    text = (ROOT / "docs" / "team.md").read_text("utf-8")
    examples = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    given = [block["auth"]["cookie_secret"] for block in examples]
    assert given
    assert all(weakness(secret) for secret in given)
    assert RANDOM_COMMAND in text
    program = RANDOM_COMMAND.partition(' -c "')[2].removesuffix('"')
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert weakness(printed.strip()) is None


def team(folder, secret):
    file = folder / "secrets.toml"
    file.write_text(
        "[auth]\n"
        'redirect_uri = "http://localhost:8501/oauth2callback"\n'
        f'cookie_secret = "{secret}"\n'
        'client_id = "judgepanel"\nclient_secret = "x"\n'
        'server_metadata_url = "http://localhost:1/.well-known/openid-configuration"\n'
    )
    return {"JUDGEPANEL_ACCESS": "team", "STREAMLIT_SECRETS_FILES": str(file)}


def test_a_team_server_does_not_start_with_the_example(tmp_path):
    ran = start(tmp_path, **team(tmp_path, EXAMPLE))
    assert ran.returncode != 0
    assert "The cookie_secret in the section [auth] of secrets.toml is a phrase" in ran.stderr
    assert RANDOM_COMMAND in ran.stderr
    assert EXAMPLE not in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_page_says_so_too_however_it_is_served(tmp_path, monkeypatch):
    for name, value in team(tmp_path, "short").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUDGEPANEL_HOME", str(tmp_path))
    monkeypatch.setattr("judgepanel.ui.access.auth_section", lambda: {"cookie_secret": "short"})
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    assert "cookie_secret" in "".join(block.proto.body for block in page.get("html"))
    assert not page.button
