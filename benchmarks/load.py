"""Many readers of one shared analysis at once: errors, seconds per page, memory of the server.

Readers speak Streamlit's own protocol over its websocket, as the page in a browser does; the time
that a browser takes to draw is not included. Every session opens the shared link, then moves
through the pages at random with a reader's pauses, and then again without pauses.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.process import MIB
from benchmarks.report import Report, Table, cores, say
from judgepanel.present.pages import PAGES as MENU
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.contract import Settings
from judgepanel.votes import load_votes
from judgepanel.votes.simulate import sample_bytes

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["", *(Path(page.file).stem for page in MENU)]
SAMPLE, SPLITS = "clean_pairwise", 20
SESSIONS, VIEWS = 20, 200
PAUSE = 10.0
"""Mean seconds that a reader stays on a page."""
TARGET = 1.0
WARM_SECONDS = 900.0
SEED = 0


@dataclass(slots=True)
class Seen:
    """Seconds of first and later page views, and errors."""

    first: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class View:
    seconds: float
    error: str
    working: bool


async def view(socket_: ClientConnection, query: str, page: str) -> View:
    """Request a page and read until its script has ended."""
    message = BackMsg()
    message.rerun_script.query_string = query
    message.rerun_script.page_name = page
    began = time.perf_counter()
    await socket_.send(message.SerializeToString())
    error, working, started = "", False, False
    while True:
        result = ForwardMsg.FromString(await socket_.recv(decode=False))
        kind = result.WhichOneof("type")
        if kind == "new_session":
            started = True
        elif kind == "page_not_found":
            error = "page not found"
        elif kind == "delta":
            element = result.delta.new_element
            what = element.WhichOneof("type") or ""
            working = working or what == "progress"
            if what == "exception":
                error = element.exception.type or "exception"
                say("\n".join([element.exception.message, *element.exception.stack_trace]))
            elif what == "html" and 'class="jp-problem"' in element.html.body:
                error = "a problem was told"
            elif what == "alert" and "opens nothing" in element.alert.body:
                error = "the link opens nothing"
        elif kind == "script_finished" and started:
            if result.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                error = "compile error"
            return View(time.perf_counter() - began, error, working)


def opened(url: str) -> connect:
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    return connect(address, origin=url, subprotocols=["streamlit"], max_size=None, open_timeout=60)  # type: ignore[list-item, arg-type]


async def warm(url: str, query: str) -> None:
    """Open every page until nothing is being computed."""
    deadline = time.monotonic() + WARM_SECONDS
    for page in PAGES:
        while True:
            async with opened(url) as one_page:
                result = await view(one_page, query, page)
            if not result.working:
                break
            if time.monotonic() > deadline:
                raise RuntimeError(f"the page {page or 'start'} is not done in time")
            await asyncio.sleep(0.5)


async def reader(url: str, query: str, views: int, pause: float, seed: int, seen: Seen) -> None:
    """One visitor, who opens the link and moves through the pages."""
    chance = random.Random(seed)  # noqa: S311
    if pause:
        await asyncio.sleep(chance.uniform(0, 2 * pause))
    async with opened(url) as one_page:
        for number in range(views):
            page = await view(one_page, query, chance.choice(PAGES))
            (seen.later if number else seen.first).append(page.seconds)
            if page.error:
                seen.errors.append(page.error)
            if pause:
                await asyncio.sleep(chance.uniform(0, 2 * pause))


async def together(url: str, query: str, pause: float) -> tuple[Seen, float]:
    """Run all readers at once; return what they saw and the seconds in total."""
    seen = Seen()
    began = time.perf_counter()
    each = VIEWS // SESSIONS
    await asyncio.gather(
        *(reader(url, query, each, pause, SEED + n, seen) for n in range(SESSIONS))
    )
    return seen, time.perf_counter() - began


async def alone(url: str, query: str, page: str) -> float:
    """Seconds until a page is complete for a new visitor of an otherwise idle server."""
    began = time.perf_counter()
    async with opened(url) as one_page:
        await view(one_page, query, page)
    return time.perf_counter() - began


@contextmanager
def served(home: Path) -> Iterator[tuple[str, int]]:
    """Run the app on its own port: its address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    environ = {"JUDGEPANEL_HOME": str(home), "JUDGEPANEL_ACCESS": "local"}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environ}, stdin=quiet, stdout=quiet, stderr=quiet
    ) as process:
        url = f"http://localhost:{port}"
        try:
            _wait_for(f"{url}/_stcore/health", process)
            yield url, process.pid
        finally:
            process.terminate()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                raise
            time.sleep(0.1)


def resident(pid: int) -> float:
    """Resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def run() -> Report:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        with closing(SqlWorkspace(home=home)) as space:
            votes = load_votes(sample_bytes(SAMPLE), name=f"{SAMPLE}_votes.csv")
            made = space.create(votes, Settings(splits=SPLITS), "shared")
            query = f"share={space.share(made.id)}"
        with served(home) as (url, _):
            say("computing all pages")
            asyncio.run(warm(url, query))
        with served(home) as (url, pid):  # A new server has nothing in memory.
            return _measured(url, pid, query)


def _measured(url: str, pid: int, query: str) -> Report:
    cold = asyncio.run(alone(url, query, "panel_curve"))
    single = [asyncio.run(alone(url, query, page)) for page in PAGES for _ in range(3)]
    memory = [resident(pid)]
    say(f"{SESSIONS} readers, {VIEWS} pages, a pause of {PAUSE:.0f} s between them")
    paced, _ = asyncio.run(together(url, query, PAUSE))
    memory.append(resident(pid))
    say("the same without pauses")
    rushed, seconds = asyncio.run(together(url, query, 0.0))
    memory.append(resident(pid))
    errors = [*paced.errors, *rushed.errors]
    median, idle = statistics.median(paced.later), statistics.median(single)
    return Report(
        title="Many readers of one shared analysis",
        question=__doc__ or "",
        verdicts=(
            f"Errors in {2 * VIEWS} page views: {len(errors)} (target 0)"
            + (f": {', '.join(sorted(set(errors)))}." if errors else "."),
            f"{SESSIONS} readers at once, a page every {PAUSE:.0f} s each: median {median:.2f} s "
            f"after the first page ({_verdict(median)}).",
            f"A stored analysis for a new visitor of an idle server: median {idle:.2f} s "
            f"({_verdict(idle)}); {cold:.2f} s for the first page of a server that has just "
            "started.",
            f"Without pauses {VIEWS / seconds:.1f} pages a second on {cores()} cores.",
        ),
        tables=(
            Table(
                "Seconds a page",
                ("", "views", "first, median", "later, median", "later, 95 %", "later, longest"),
                [
                    _row(f"{SESSIONS} readers, pauses of {PAUSE:.0f} s", paced),
                    _row(f"{SESSIONS} readers, no pauses", rushed),
                    ("one reader, idle server", str(len(single)), f"{idle:.2f}", "", "", ""),
                ],
                "From the question to the last byte of the page, over loopback; every first page "
                "opens a session of its own.",
            ),
            Table(
                "Memory of the server, MiB",
                ("page views", "resident"),
                [
                    (str(views), f"{size:.0f}")
                    for views, size in zip(
                        (len(single) + 1 + n * VIEWS for n in range(3)), memory, strict=True
                    )
                ],
                "The server alone, without its workers.",
            ),
        ),
    )


def _verdict(seconds: float) -> str:
    return f"target {TARGET:.0f} s: {'met' if seconds < TARGET else 'missed'}"


def _row(name: str, seen: Seen) -> tuple[str, ...]:
    later = sorted(seen.later)
    return (
        name,
        str(len(seen.first) + len(later)),
        f"{statistics.median(seen.first):.2f}",
        f"{statistics.median(later):.2f}",
        f"{quantile(later, 0.95):.2f}",
        f"{later[-1]:.2f}",
    )


def quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]
