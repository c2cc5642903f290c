"""A real Streamlit server, a real Chromium, and a guard over what pages say and fetch."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = {"localhost", "127.0.0.1", "[::1]", "::1"}
# Opened at /page, Streamlit's client first asks below /page for its server, gets a 404, goes on.
BASE_PATH_PROBE = re.compile(r"/[^/]+/_stcore/(health|host-config)")
START_DEADLINE = 60.0
PATIENCE = 180_000  # Milliseconds; a machine with other work is slow, and not wrong.
CHROMIUM_OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Server:
    """A server: its address without a trailing slash, its data folder, its log, its process."""

    url: str
    home: Path
    log: Path
    process: subprocess.Popen[bytes]


@dataclass  # Playwright sets an attribute on the owner of a handler: no slots.
class Guard:
    """What a page did that it must not do; `open_page` checks it at the end of a test."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._on_address(request.url))
        page.on("websocket", lambda websocket: self._on_address(websocket.url))

    def _on_console(self, message: Any) -> None:
        url = message.location["url"]
        if message.type == "error" and not BASE_PATH_PROBE.fullmatch(urlsplit(url).path):
            self.errors.append(f"{message.text} {url}".rstrip())

    def _on_address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"data", "blob", "about"} and parts.hostname not in LOOPBACK:
            self.outside.append(url)

    def excuse(self) -> None:
        """What was seen so far was meant."""
        self.errors.clear()
        self.outside.clear()

    def check(self) -> None:
        assert self.outside == [], "the page asked another machine"
        assert self.errors == [], "the page wrote errors to the console"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def wait_until_healthy(server: Server) -> None:
    deadline = time.monotonic() + START_DEADLINE
    process = server.process
    while not is_healthy(server.url):
        if process.poll() is not None or time.monotonic() > deadline:
            text = server.log.read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the server did not start (exit {process.poll()}):\n{text}")
        try:  # A pause between polls that ends at once when the server dies.
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue


@contextmanager
def serving(
    home: Path, app: Path, env: Mapping[str, str], port: int | None = None
) -> Iterator[Server]:
    """Serve one app from the repository's root with a data folder of its own."""
    port = port or free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(app), f"--server.port={port}"]
    environ = {**os.environ, "JUDGEPANEL_HOME": str(home), **env}
    with started(command, ROOT, environ, home, port) as server:
        yield server


@contextmanager
def started(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], home: Path, port: int
) -> Iterator[Server]:
    """A server by any command, in a folder; it ends with the block."""
    log = home.with_name(f"{home.name}.log")
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    server = Server(f"http://localhost:{port}", home, log, process)
    try:
        wait_until_healthy(server)
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test that asks for a Chromium carries the marker."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker("browser")


ServerFactory = Callable[..., Server]


@pytest.fixture(scope="module")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerFactory]:
    """Start servers that end with the module; all arguments of `start_server` may be left out.

    Give the `home` of an earlier one to open its data on a cold server.
    """
    with ExitStack() as running:

        def start(
            home: Path | None = None,
            app: Path | None = None,
            env: Mapping[str, str] | None = None,
            port: int | None = None,
        ) -> Server:
            folder = home or tmp_path_factory.mktemp("server")
            return running.enter_context(serving(folder, app or ROOT / "app.py", env or {}, port))

        yield start


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of all modules for which it is alike what else is in its data folder.

    A module that looks at a list of analyses, or at work under way, overrides it with
    ``own_server``.
    """
    with serving(tmp_path_factory.mktemp("server"), ROOT / "app.py", {}) as running:
        yield running


@pytest.fixture(scope="module")
def own_server(start_server: ServerFactory) -> Server:
    """A server of the module's own: only its analyses are there, and its work ends with it."""
    return start_server()


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, which has seen nothing yet."""
    with serving(tmp_path, ROOT / "app.py", {}) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium a module; pages of one visitor run in one process.

    Playwright's event loop must not outlive a module into other tests.
    """
    path = os.environ.get("JUDGEPANEL_CHROMIUM")
    if not path:
        pytest.skip("JUDGEPANEL_CHROMIUM names no Chromium; `./run test` finds or installs one")
    expect.set_options(timeout=PATIENCE)
    options = [*CHROMIUM_OPTIONS, "--renderer-process-limit=1"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=options)
        yield running
        running.close()


@pytest.fixture
def guard() -> Guard:
    """Console errors and outside requests of every page that `open_page` opens."""
    return Guard()


def new_visitor(browser: Browser) -> BrowserContext:
    """Somebody without a cookie, who prefers no motion."""
    context = browser.new_context(accept_downloads=True, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    return context


@pytest.fixture(scope="module")
def first_visitor(browser: Browser) -> Iterator[BrowserContext]:
    """The visitor that opens the first page of each test.

    An empty page stays open, and with it the process: a browser compiles the scripts of a page
    again in each new one, which takes half of the time until the page is there.
    """
    with new_visitor(browser) as context:
        context.new_page()
        yield context


def forget(visitor: BrowserContext) -> None:
    """Close a visitor's pages but the first, and drop cookies and what pages have stored."""
    empty, *others = visitor.pages
    for page in others:
        page.close()
    visitor.clear_cookies()
    session = visitor.new_cdp_session(empty)
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    session.detach()


PageFactory = Callable[..., Page]


@pytest.fixture
def open_page(
    browser: Browser, first_visitor: BrowserContext, guard: Guard
) -> Iterator[PageFactory]:
    """Open pages: `open_page(url=None, width=1440, height=900, dark=False)`, each a new visitor."""
    with ExitStack() as visitors:
        visitors.callback(forget, first_visitor)
        newcomers = [first_visitor]

        def open_one(
            url: str | None = None, *, width: int = 1440, height: int = 900, dark: bool = False
        ) -> Page:
            visitor = newcomers.pop() if newcomers else visitors.enter_context(new_visitor(browser))
            page = visitor.new_page()
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if dark else "light")
            guard.watch(page)
            if url is not None:
                page.goto(url)
            return page

        yield open_one
        guard.check()


@pytest.fixture
def page(open_page: PageFactory) -> Page:
    """A desktop page in the light theme, on no address yet."""
    return open_page()
