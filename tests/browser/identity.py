"""An identity provider on loopback, and a server whose users sign in there."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from playwright.sync_api import Page

from tests.browser.conftest import START_DEADLINE, Server, free_port

_SECRETS = """
[auth]
redirect_uri = "http://localhost:{port}/oauth2callback"
cookie_secret = "{secret}"
client_id = "judgepanel"
client_secret = "only-for-tests"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


@contextmanager
def provider(*people: str) -> Iterator[str]:
    """The address of a provider that knows these people."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    for name in people:
        command += ["--user-claims", json.dumps({"sub": name, "name": f"<b>{name}</b>"})]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://localhost:{port}"
    try:
        _until_up(f"{url}/.well-known/openid-configuration", process)
        yield url
    finally:
        process.kill()
        process.wait()


def _until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_DEADLINE
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue


def team(folder: Path, provider_url: str, port: int) -> dict[str, str]:
    """The environment of a server at this port that signs people in at this provider."""
    secrets = folder / "secrets.toml"
    text = _SECRETS.format(port=port, provider=provider_url, secret=token_hex(32))
    secrets.write_text(text, encoding="utf-8")
    return {"JUDGEPANEL_ACCESS": "team", "STREAMLIT_SECRETS_FILES": str(secrets)}


def owner(provider_url: str, name: str) -> str:
    """Whose analyses somebody's are who signed in at this provider."""
    return json.dumps([provider_url, name])


@contextmanager
def beside(page: Page, server: Server) -> Iterator[Page]:
    """Another page of the same visitor, on Start; the provider's own pages are not watched."""
    other = page.context.new_page()
    other.goto(server.url)
    yield other
    other.close()


def sign_in(page: Page, server: Server, name: str) -> None:
    """The visitor signs in; pages that are open know it once they are loaded again."""
    with beside(page, server) as other:
        other.get_by_role("button", name="Sign in").click()
        other.get_by_role("button", name=name, exact=True).click()
        other.get_by_text("Signed in as").wait_for()


def sign_out(page: Page, server: Server) -> None:
    """The visitor signs out, here and at the provider."""
    with beside(page, server) as other:
        other.get_by_role("button", name="Sign out").click()
        other.get_by_role("button", name="End session").click()
        other.get_by_role("button", name="Sign in").wait_for()
