"""Many readers while the server, its workers and its database are killed: is anything lost?

Sessions speak Streamlit's own protocol over its websocket, as in `load`, against a team's server on
PostgreSQL. Each reads one of a few shared analyses whose studies are being computed. One of the
server's worker processes, the server and the database are killed (SIGKILL) in turn and restarted,
at even intervals of page views. A session whose connection breaks opens it again, as a browser
does. Every page view must end without an error of ours. Every stored result must stay unchanged,
and every result at the end must equal that of an undisturbed run.
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
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import psycopg
from websockets.exceptions import WebSocketException

from benchmarks.load import PAGES, ROOT, SAMPLE, opened, quantile, resident, view, warm
from benchmarks.report import Report, Table, cores, say
from judgepanel.present.registry import STUDIES
from judgepanel.service.sql import SqlWorkspace
from judgepanel.studies.codec import from_plain, to_plain
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run as run_study
from judgepanel.votes import VoteMatrix, load_votes
from judgepanel.votes.simulate import sample_bytes
from tests.service.postgres import programs, user

SESSIONS, VIEWS, KILLS = 40, 2000, 9
ANALYSES, SPLITS = 2, 20
SEED = 0
KINDS = ("worker", "server", "database")
_PATIENCE = 600.0
_VIEW_SECONDS = 180.0
_PAUSE = 2.0
_QUIET = subprocess.DEVNULL
Contents = dict[tuple[str, str, str], bytes]
"""Stored results by votes, study and spec."""


class Database:
    """A PostgreSQL of this benchmark, which can be killed and restarted."""

    def __init__(self, folder: Path) -> None:
        place = programs()
        if place is None:
            raise RuntimeError("this bench needs PostgreSQL; `./run test` installs one as root")
        self._programs, self._folder, self._who = place, folder, user()
        self._process: subprocess.Popen[bytes] | None = None
        if self._who is not None:
            shutil.chown(folder, self._who)
        made = ("-D", str(folder / "data"), "-U", "judgepanel", "-A", "trust")
        command = [str(place / "initdb"), *made]
        subprocess.run(command, cwd=folder, user=self._who, stdout=_QUIET, check=True)

    @property
    def url(self) -> str:
        return f"postgresql://judgepanel@/postgres?host={self._folder}"

    def start(self) -> None:
        """Start the database, retrying until the remains of a killed one are gone."""
        places = ("-D", str(self._folder / "data"), "-k", str(self._folder))
        options = ("-c", "listen_addresses=", "-c", "max_connections=200")
        command = [str(self._programs / "postgres"), *places, *options]
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                with (self._folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        command,
                        cwd=self._folder,
                        user=self._who,
                        stdin=_QUIET,
                        stdout=log,
                        stderr=log,
                    )
            with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=5):
                return
            time.sleep(0.2)
        raise RuntimeError("the database does not start")

    def kill(self) -> None:
        """SIGKILL for the first process; the others end when they notice."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End the database at once, with all its processes."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def contents(self) -> Contents:
        """All stored results."""
        wanted = "SELECT votes_sha256, study, spec_sha256, content FROM results"
        with psycopg.connect(self.url, connect_timeout=5) as connection:
            return {(v, s, spec): bytes(c) for v, s, spec, c in connection.execute(wanted)}


class Dashboard:
    """The app on its own port, which can be killed and restarted."""

    def __init__(self, home: Path, database_url: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        named = {"JUDGEPANEL_HOME": str(home), "JUDGEPANEL_DATABASE_URL": database_url}
        self._environ = {**os.environ, **named, "JUDGEPANEL_ACCESS": "local"}
        self._environ["STREAMLIT_CLIENT_SHOW_ERROR_DETAILS"] = "full"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://localhost:{self._port}"

    @property
    def pid(self) -> int:
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the app and wait until it answers; retry if its port is still taken."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                command = ["-m", "streamlit", "run", "app.py", f"--server.port={self._port}"]
                self._process = subprocess.Popen(
                    [sys.executable, *command],
                    cwd=ROOT,
                    env=self._environ,
                    stdin=_QUIET,
                    stdout=_QUIET,
                    stderr=_QUIET,
                )
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5):  # noqa: S310
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise RuntimeError("the server does not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def kill_worker(self) -> bool:
        """Kill one of its worker processes; False if it has none."""
        for child in self._children():
            # It may end by itself at any time.
            with suppress(OSError):
                command = Path(f"/proc/{child}/cmdline").read_bytes()
                if b"popen_loky" in command:
                    os.kill(child, signal.SIGKILL)
                    return True
        return False

    def _children(self) -> list[int]:
        children: list[int] = []
        for task in Path(f"/proc/{self.pid}/task").glob("*/children"):
            with suppress(OSError):
                children += map(int, task.read_text().split())
        return children


@dataclass(slots=True)
class Seen:
    """What the readers saw.

    ``seconds`` per page view; ``errors`` by the page's text; ``broken`` connections; ``put_off``:
    pages that said what was missing and were requested again; ``kills`` by kind; ``memory``: MiB of
    the server by page views; ``digests`` of all results ever stored; ``changed``: results that
    later disappeared or differed.
    """

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    put_off: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[int, float]] = field(default_factory=list)
    digests: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    changed: set[tuple[str, str, str]] = field(default_factory=set)

    def note(self, contents: Contents) -> None:
        """Compare what is stored now with everything ever stored."""
        now = {key: sha256(content).digest() for key, content in contents.items()}
        self.changed |= {key for key, digest in self.digests.items() if now.get(key) != digest}
        self.digests |= now


async def reader(url: str, query: str, views: int, seed: int, seen: Seen) -> None:
    """One visitor, who opens the page again when the connection breaks."""
    chance = random.Random(seed)  # noqa: S311
    left = views
    deadline = time.monotonic() + _PATIENCE * 6
    while left and time.monotonic() < deadline:
        try:
            async with opened(url) as connection:
                while left:
                    asked = view(connection, query, chance.choice(PAGES))
                    page = await asyncio.wait_for(asked, _VIEW_SECONDS)
                    if page.error == "a problem was told":
                        seen.put_off += 1
                    else:
                        left -= 1
                        seen.seconds.append(page.seconds)
                        seen.errors.update([page.error] if page.error else [])
                    await asyncio.sleep(chance.uniform(0, _PAUSE))
        except TimeoutError:
            seen.errors[f"no answer within {_VIEW_SECONDS:.0f} s"] += 1
        except (OSError, WebSocketException):
            seen.broken += 1
            await asyncio.sleep(chance.uniform(0, 1))
    if left:
        seen.errors["page views that never came"] += left


async def kill_in_turn(
    server: Dashboard, database: Database, views: int, count: int, seen: Seen
) -> None:
    """Kill this many times, after equal numbers of page views."""
    for number in range(count):
        while len(seen.seconds) < views * (number + 1) / (count + 1):
            await asyncio.sleep(_PAUSE / 4)
        kind = KINDS[number % len(KINDS)]
        if kind == "worker":
            while not server.kill_worker():
                await asyncio.sleep(_PAUSE / 4)
        elif kind == "server":
            server.kill()
            await asyncio.to_thread(server.start)
        else:
            database.kill()
            await asyncio.sleep(1)
            await asyncio.to_thread(database.start)
        seen.kills[kind] += 1
        say(f"killed after {len(seen.seconds)} page views: {kind}")


async def watch(server: Dashboard, database: Database, seen: Seen) -> None:
    """Record the server's memory and the stored results until cancelled."""
    while True:
        with suppress(OSError):
            seen.memory.append((len(seen.seconds), resident(server.pid)))
        with suppress(psycopg.OperationalError):
            seen.note(await asyncio.to_thread(database.contents))
        await asyncio.sleep(_PAUSE)


async def stress(
    server: Dashboard,
    database: Database,
    queries: list[str],
    sizes: tuple[int, int, int],
    seen: Seen,
) -> None:
    """Run all sessions at once, with kills in between."""
    sessions, views, count = sizes
    each = [views // sessions + (n < views % sessions) for n in range(sessions)]
    watching = asyncio.create_task(watch(server, database, seen))
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(kill_in_turn(server, database, views, count, seen))
            for i, n in enumerate(each):
                query = queries[i % len(queries)]
                tasks.create_task(reader(server.url, query, n, SEED + i, seen))
    finally:
        watching.cancel()
    seen.note(database.contents())


@contextmanager
def _running() -> Iterator[tuple[Dashboard, Database]]:
    with tempfile.TemporaryDirectory(prefix="judgepanel-faults-") as folder:
        Path(folder).chmod(0o755)
        place, home = Path(folder) / "pg", Path(folder) / "home"
        place.mkdir()
        home.mkdir()
        database = Database(place)
        server = Dashboard(home, database.url)
        try:
            database.start()
            server.start()
            yield server, database
        finally:
            server.kill()
            database.stop()


def _shared(database: Database) -> tuple[VoteMatrix, list[str]]:
    """The votes, and links to analyses of them that differ in their seed."""
    with closing(SqlWorkspace(database.url)) as space:
        loaded = load_votes(sample_bytes(SAMPLE), name=f"{SAMPLE}_votes.csv")
        settings = [Settings(splits=SPLITS, seed=seed) for seed in range(ANALYSES)]
        made = [space.create(loaded, each, f"shared {each.seed}") for each in settings]
        return loaded.votes, [f"share={space.share(analysis.id)}" for analysis in made]


def unlike(contents: Contents, votes: VoteMatrix) -> set[tuple[str, str, str]]:
    """Results that differ from those of an undisturbed run."""
    different = set()
    for number, (key, packed) in enumerate(sorted(contents.items())):
        say(f"computed again: {number + 1} of {len(contents)}, {key[1]}")
        content = json.loads(zlib.decompress(packed))
        study = STUDIES[content["study"]]
        spec = from_plain(study.spec, content["spec"])
        if to_plain(run_study(study, votes, spec, jobs=cores())) != content["result"]:
            different.add(key)
            say("it is not the same")
    return different


def slope(points: list[tuple[int, float]]) -> float:
    """Growth in MiB per 1,000 page views, over the second half."""
    later = points[len(points) // 2 :]
    if len({views for views, _ in later}) < 2:
        return float("nan")
    return 1000 * statistics.linear_regression(*zip(*later, strict=True)).slope


def run(sessions: int = SESSIONS, views: int = VIEWS, kills: int = KILLS) -> Report:
    disturbed, calm = Seen(), Seen()
    with _running() as (server, database):
        votes, queries = _shared(database)
        say(f"{sessions} sessions, {views} page views, {kills} kills")
        asyncio.run(stress(server, database, queries, (sessions, views, kills), disturbed))
        say("what is left is computed")
        for query in queries:
            asyncio.run(warm(server.url, query))
        calm.digests |= disturbed.digests
        say("half as many page views without kills")
        asyncio.run(stress(server, database, queries, (sessions, views // 2, 0), calm))
        contents = database.contents()
    for name, seen in (("kills", disturbed), ("no kills", calm)):
        errors, changed = dict(seen.errors), len(seen.changed)
        say(f"{name}: errors {errors}, results lost or changed {changed}, {_row(name, seen)[1:]}")
    return _report(sessions, disturbed, calm, unlike(contents, votes), len(contents))


def _report(
    sessions: int,
    disturbed: Seen,
    calm: Seen,
    different: set[tuple[str, str, str]],
    results: int,
) -> Report:
    errors = disturbed.errors + calm.errors
    named = ", ".join(f"{what} ({n})" for what, n in sorted(errors.items()))
    killed = ", ".join(f"{kind} {n}" for kind, n in sorted(disturbed.kills.items()))
    lost = disturbed.changed | calm.changed
    return Report(
        title="Many readers while parts are killed",
        question=__doc__ or "",
        verdicts=(
            f"Errors in {len(disturbed.seconds) + len(calm.seconds)} page views: {errors.total()} "
            "(target 0)" + (f": {named}." if named else "."),
            f"Results lost or changed once they were stored: {len(lost)} of {results} (target 0); "
            f"results unlike those of an undisturbed run: {len(different)} (target 0)"
            + _studies(lost | different),
            f"Killed: {killed or 'nothing'}. 95 % of the pages came within "
            f"{_quantile(disturbed, 0.95)} s meanwhile, and within {_quantile(calm, 0.95)} s "
            "without kills.",
            f"Without kills the server grew by {slope(calm.memory):.1f} MiB per 1,000 page views, "
            f"in the second half of them; {cores()} cores for server, database and readers.",
        ),
        tables=(
            Table(
                "Seconds a page",
                ("", "views", "median", "95 %", "longest", "broken", "put off", "server MiB, last"),
                [
                    _row(f"{sessions} sessions, kills", disturbed),
                    _row(f"{sessions} sessions, no kills", calm),
                ],
                "From the question to the last byte of the page. *Broken* are connections that "
                "were opened again, their views asked again; *put off* are pages that said what "
                "was away or busy, asked again after a pause. Neither wait is in the seconds.",
            ),
        ),
    )


def _studies(keys: set[tuple[str, str, str]]) -> str:
    return f": {', '.join(sorted({study for _, study, _ in keys}))}." if keys else "."


def _quantile(seen: Seen, share: float) -> str:
    return f"{quantile(sorted(seen.seconds), share):.2f}" if seen.seconds else "-"


def _row(name: str, seen: Seen) -> tuple[str, ...]:
    last = f"{seen.memory[-1][1]:.0f}" if seen.memory else "-"
    quantiles = [_quantile(seen, share) for share in (0.5, 0.95, 1)]
    return (name, f"{len(seen.seconds):,}", *quantiles, str(seen.broken), str(seen.put_off), last)
