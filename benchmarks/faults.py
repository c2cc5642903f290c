"""Many readers while the server, its workers and its database are killed: is anything lost?

Sessions speak Streamlit's own protocol over its websocket, as `load` does, on a team's PostgreSQL.
Meanwhile their studies are computed, and in turn one of the server's worker processes, the server
and the database are killed with SIGKILL and started again. A session whose connection breaks opens
it anew, as a browser does. Every page view must come to an end without an error of ours; every
result must be there at the end, equal to the one of a run that nothing disturbed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from websockets.exceptions import WebSocketException

from benchmarks.load import PAGES, ROOT, SAMPLE, opened, quantile, resident, view, warm
from benchmarks.report import Report, Table, cores, say
from judgepanel.present.registry import STUDIES
from judgepanel.service import SqlWorkspace
from judgepanel.studies.runner import run as run_study
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix, load_votes
from judgepanel.votes.samples import sample_bytes
from tests.service.postgres import programs, user

SESSIONS, VIEWS, KILLS = 40, 2000, 9
WORK = ("panel_curve",)
SEED = 0
_PATIENCE = 600.0
_PAUSE = 2.0


class Database:
    """A PostgreSQL of the bench's own, which can be killed and started again."""

    def __init__(self, programs_: Path, folder: Path) -> None:
        self._programs, self._folder, self._who = programs_, folder, user()
        if self._who is not None:
            shutil.chown(folder, self._who)
        self._call("initdb", "-D", self._data, "-U", "judgepanel", "-A", "trust", "--no-sync")

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    @property
    def url(self) -> str:
        return f"postgresql://judgepanel@/postgres?host={self._folder}"

    def _call(self, name: str, *arguments: str) -> None:
        command = [str(self._programs / name), *arguments]
        quiet = subprocess.DEVNULL
        subprocess.run(
            command, cwd=self._folder, user=self._who, stdin=quiet, stdout=quiet, check=True
        )

    def start(self) -> None:
        options = f"-k {self._folder} -c listen_addresses='' -c max_connections=200"
        log = str(self._folder / "log")
        self._call("pg_ctl", "-D", self._data, "-w", "-t", "300", "-l", log, "-o", options, "start")

    def kill(self) -> None:
        """SIGKILL for the first process; the others end when they see it gone."""
        os.kill(int((Path(self._data) / "postmaster.pid").read_text().splitlines()[0]), 9)

    def stop(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self._call("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")


class Dashboard:
    """The app on a port of its own, started again after it was killed."""

    def __init__(self, home: Path, database_url: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        named = {"JUDGEPANEL_HOME": str(home), "JUDGEPANEL_DATABASE_URL": database_url}
        self._environ = {**os.environ, **named, "JUDGEPANEL_ACCESS": "local"}
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://localhost:{self._port}"

    @property
    def pid(self) -> int:
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        self._spawn()
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5):  # noqa: S310
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
            if self._process is None or self._process.poll() is not None:
                self._spawn()  # The port was still taken.
        raise RuntimeError("the server does not start")

    def _spawn(self) -> None:
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={self._port}"],
            cwd=ROOT,
            env=self._environ,
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def kill_worker(self) -> bool:
        """Kill one of its worker processes, if it has one."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/children")
        children = [child for task in tasks for child in task.read_text().split()]
        workers = [
            int(child)
            for child in children
            if b"loky" in Path(f"/proc/{child}/cmdline").read_bytes()
            and b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        for worker in workers[:1]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        return bool(workers)


@dataclass(slots=True)
class Seen:
    """Seconds of page views, errors by what a page said, connections that broke."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    told: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[int, float]] = field(default_factory=list)


async def reader(url: str, query: str, views: int, seed: int, seen: Seen) -> None:
    """One visitor, who opens the page again when the connection breaks."""
    chance = random.Random(seed)  # noqa: S311
    left = views
    deadline = time.monotonic() + _PATIENCE * 4
    while left and time.monotonic() < deadline:
        try:
            async with opened(url) as one:
                while left:
                    found = await asyncio.wait_for(view(one, query, chance.choice(PAGES)), 120)
                    if found.error == "a problem was told":
                        seen.told += (
                            1  # The database is away: the page says so, and is asked again.
                        )
                        await asyncio.sleep(chance.uniform(0, _PAUSE))
                        continue
                    left -= 1
                    seen.seconds.append(found.seconds)
                    if found.error:
                        seen.errors[found.error] += 1
                    await asyncio.sleep(chance.uniform(0, _PAUSE))
        except (OSError, WebSocketException, TimeoutError):
            seen.broken += 1
            await asyncio.sleep(chance.uniform(0, 1))
    if left:
        seen.errors["page views that never came"] += left


async def kills(server: Dashboard, database: Database, count: int, seen: Seen) -> None:
    """Kill one after the other, with time between for what comes back."""
    for number in range(count):
        await asyncio.sleep(_PAUSE * 3)
        kind = ("worker", "server", "database")[number % 3]
        if kind == "worker":
            if not server.kill_worker():
                continue
        elif kind == "server":
            server.kill()
            await asyncio.to_thread(server.start)
        else:
            database.kill()
            await asyncio.sleep(1)
            await asyncio.to_thread(database.start)
        seen.killed[kind] += 1
        say(f"killed: {kind}")


async def watch_memory(server: Dashboard, seen: Seen) -> None:
    while True:
        with suppress(OSError):
            seen.memory.append((len(seen.seconds), resident(server.pid)))
        await asyncio.sleep(_PAUSE)


async def stress(
    server: Dashboard, database: Database, query: str, sizes: tuple[int, int, int], seen: Seen
) -> None:
    sessions, views, count = sizes
    watching = asyncio.create_task(watch_memory(server, seen))
    killing = asyncio.create_task(kills(server, database, count, seen))
    each = [views // sessions + (n < views % sessions) for n in range(sessions)]
    await asyncio.gather(
        *(reader(server.url, query, n, SEED + i, seen) for i, n in enumerate(each))
    )
    await killing
    watching.cancel()


@contextmanager
def _running() -> Iterator[tuple[Dashboard, Database]]:
    found = programs()
    if found is None:
        raise RuntimeError("this bench needs PostgreSQL; `./run test` installs one as root")
    with tempfile.TemporaryDirectory(prefix="judgepanel-faults-") as folder:
        Path(folder).chmod(0o755)
        place = Path(folder) / "pg"
        place.mkdir()
        database = Database(found, place)
        database.start()
        home = Path(folder) / "home"
        home.mkdir()
        server = Dashboard(home, database.url)
        try:
            server.start()
            yield server, database
        finally:
            server.kill()
            database.stop()


def lost(space: SqlWorkspace, votes: VoteMatrix, settings: Settings) -> tuple[int, int]:
    """Results that are missing or differ from an undisturbed run, and how many were looked at."""
    bad = 0
    for name in WORK:
        study = STUDIES[name]
        spec = study.spec(settings=settings)
        stored = space.result(study, votes.sha256, spec)
        wanted = json.dumps(run_study(study, votes, spec).summary(), sort_keys=True)
        bad += stored is None or json.dumps(stored.result.summary(), sort_keys=True) != wanted
    return bad, len(WORK)


def slope(points: list[tuple[int, float]]) -> float:
    """MiB per 1,000 page views in the second half, when the server was last started."""
    later = points[len(points) // 2 :]
    if len({views for views, _ in later}) < 2:
        return float("nan")
    return 1000 * statistics.linear_regression(*zip(*later, strict=True)).slope


def run(sessions: int = SESSIONS, views: int = VIEWS, kills: int = KILLS) -> Report:
    settings = Settings(splits=100)
    seen, after = Seen(), Seen()
    with _running() as (server, database):
        with closing(SqlWorkspace(database.url)) as space:
            votes = load_votes(sample_bytes(SAMPLE), name=f"{SAMPLE}_votes.csv")
            made = space.create(votes, settings, "shared")
            query = f"share={space.share(made.id)}"
        say(f"{sessions} sessions, {views} page views, {kills} kills")
        asyncio.run(stress(server, database, query, (sessions, views, kills), seen))
        say("what is left is computed")
        asyncio.run(warm(server.url, query))
        say("the same without kills")
        asyncio.run(stress(server, database, query, (sessions, views, 0), after))
        with closing(SqlWorkspace(database.url)) as space:
            missing, looked_at = lost(space, votes, settings)
    return _report(sessions, seen, after, missing, looked_at)


def _report(sessions: int, seen: Seen, after: Seen, missing: int, looked_at: int) -> Report:
    errors = seen.errors + after.errors
    named = ", ".join(f"{what} ({n})" for what, n in sorted(errors.items()))
    killed = ", ".join(f"{kind} {n}" for kind, n in sorted(seen.killed.items()))
    growth = slope(after.memory)
    return Report(
        title="Many readers while parts are killed",
        question=__doc__ or "",
        verdicts=(
            f"Errors in {len(seen.seconds) + len(after.seconds)} page views: {errors.total()} "
            "(target 0)" + (f": {named}." if named else "."),
            f"Results lost or changed: {missing} of {looked_at} (target 0).",
            f"Killed: {killed or 'nothing'}. Connections that broke and were opened anew: "
            f"{seen.broken}; pages that said what was away and were asked again: {seen.told}.",
            f"Without kills the server grew by {growth:.1f} MiB per 1,000 page views; "
            f"{cores()} cores for server, database and readers.",
        ),
        tables=(
            Table(
                "Seconds a page",
                ("", "views", "median", "95 %", "longest", "broken", "server MiB, last"),
                [
                    _row(f"{sessions} sessions, kills", seen),
                    _row(f"{sessions} sessions, no kills", after),
                ],
                "From the question to the last byte of the page; the time until a killed server or "
                "database is back is not in it, the views that it cut short are asked again.",
            ),
        ),
    )


def _row(name: str, seen: Seen) -> tuple[str, ...]:
    seconds = sorted(seen.seconds)
    quantiles = [f"{quantile(seconds, share):.2f}" if seconds else "-" for share in (0.5, 0.95, 1)]
    last = f"{seen.memory[-1][1]:.0f}" if seen.memory else "-"
    return (name, str(len(seconds)), *quantiles, str(seen.broken), last)
