"""What people wait for: commands, large files, a Dask cluster and pages, against the targets.

Commands run as a user runs them, imports included. Files that are not real are simulated. Memory is
the peak of the command's own process; large votes are computed in one process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.process import GIB, answer, job_text, measured
from benchmarks.real import real_path
from benchmarks.report import Report, Table, cores, say
from judgepanel.votes import VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, simulate
from tests.browser.conftest import CHROMIUM_OPTIONS, PATIENCE, ROOT, serving
from tests.browser.driver import upload
from tests.dask_cluster import DaskCluster

SPLITS, DASK_SPLITS = 100, 300
SCORED = 400
CHOOSING_SECONDS = 4.0
"""How long a visitor takes to choose a file."""
_ARE_SHOWN = """([selector, text, count]) => [...document.querySelectorAll(selector)]
  .filter(each => each.checkVisibility() && each.textContent.includes(text)).length >= count
"""
_IS_AT_REST = """() => !document.querySelector("[data-testid=stProgress]")
  && document.querySelector("[data-testid=stApp]").dataset.testScriptState === "notRunning"
"""
_CAN_ANALYSE = """() => [...document.querySelectorAll("button:not([disabled])")]
  .some(each => each.textContent.includes("Analyse"))
"""
_BARE = """import streamlit as st

st.file_uploader("Votes")
"""
"""The least that Streamlit does for a page with an uploader."""
_AGAINST_BARE = (("server up", 1.6), ("first page of a cold server", 1.6), ("reload", 1.5))
"""What is waited for on both, and at most how many times as long on ours."""
POLL_MILLISECONDS = 50
"""Playwright's own waits look twice a second; asking at every frame would keep a core busy."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds (or a ratio of times) that something took, and at most should have taken."""

    work: str
    measured: float
    target: float
    unit: str = "s"
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    def row(self) -> tuple[str, ...]:
        bound = "at least" if self.at_least else "at most"
        target = f"{bound} {self.target:g} {self.unit}"
        return (
            self.work,
            f"{self.measured:.2f} {self.unit}",
            target,
            "met" if self.met else "MISSED",
        )


@dataclass(frozen=True, slots=True)
class Ran:
    """Seconds and peak memory (GiB) of a command."""

    seconds: float
    peak: float


@dataclass(frozen=True, slots=True)
class Votes:
    """Simulated votes, and the file that they are written to."""

    path: str
    n_items: int
    n_judges: int
    votes_per_item: int | None = None


def run(rounds: int = 5, servers: int = 3) -> Report:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # Users' modules are compiled once.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        short = _short(folder, rounds)
        against_bare, of_both = _against_a_bare_page(folder, rounds)
        recommendations, at_once = _recommendations(folder)
        waits = [
            *short,
            *against_bare,
            *recommendations,
            *_large(folder),
            *_on_dask(folder),
            *_in_the_browser(folder, servers),
        ]
    missed = [wait.work for wait in waits if not wait.met]
    met = f"{len(waits) - len(missed)} of {len(waits)} targets met"
    return Report(
        "Waits: what people wait for",
        f"The first three commands are medians of {rounds} rounds, pages those of {servers} "
        "servers that were just started, whose visitor takes "
        f"{CHOOSING_SECONDS:.0f} s to choose a file; the others ran once, all imports included.",
        [
            Table(
                "Against the targets",
                ("work", "measured", "target", ""),
                [wait.row() for wait in waits],
                "Peaks are those of the command's own process. Files that are not named are "
                "simulated. Browser: a Chromium without a window on the same machine.",
            )
        ],
        (f"{met}; missed: {', '.join(missed)}." if missed else f"{met}.", of_both, at_once),
    )


def command(*words: object) -> Ran:
    """Run the command line in a process of its own."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "judgepanel", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    with process.stderr as stream:
        error = stream.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(error.decode())
    unit = 1 if sys.platform == "darwin" else 1024
    result = Ran(time.perf_counter() - started, usage.ru_maxrss * unit / GIB)
    say(f"{words[0]} {result.seconds:.2f} s, {result.peak:.2f} GiB")
    return result


def _short(folder: Path, rounds: int) -> list[Wait]:
    votes, panel, some = real_path("llmbar"), folder / "panel.json", folder / "some.csv"
    lines = votes.read_text("utf-8").splitlines(keepends=True)
    some.write_text("".join(lines[: SCORED + 1]), "utf-8")
    command("recommend", votes, "--splits", 2, "--out", panel)
    works = (
        ("`--help`", ("--help",), 0.3),
        ("`inspect`, LLMBar", ("inspect", votes), 0.9),
        (f"`score`, {SCORED} items", ("score", panel, some, "--out", folder / "scores.csv"), 0.7),
    )
    return [
        Wait(work, statistics.median(command(*words).seconds for _ in range(rounds)), target)
        for work, words, target in works
    ]


def _recommendations(folder: Path) -> tuple[list[Wait], str]:
    """The waits, and what this machine's cores do at once when they share nothing."""
    llmbar, rewardbench = real_path("llmbar"), real_path("rewardbench")
    crowd = _written(Votes(str(folder / "crowd.parquet"), 4_157, 176, votes_per_item=4))
    work = f"`recommend`, {SPLITS} splits"
    one_worker = ("recommend", llmbar, "--splits", SPLITS, "--jobs", 1)
    alone = command(*one_worker).seconds
    with ThreadPoolExecutor(cores()) as pool:
        together = list(pool.map(lambda _: command(*one_worker).seconds, range(cores())))
    both = command("recommend", llmbar, "--splits", SPLITS).seconds
    waits = [
        Wait(f"{work}, LLMBar", both, 12.0),
        Wait(f"{work}, LLMBar: 1 worker over {cores()}", alone / both, 1.8, "times", at_least=True),
        Wait("`recommend`, LLMBar", command("recommend", llmbar).seconds, 7.0),
        Wait("`recommend`, rewardbench", command("recommend", rewardbench).seconds, 22.0),
        Wait(
            "`recommend`, 4,157 x 176, 4 votes per item", command("recommend", crowd).seconds, 25.0
        ),
        Wait("`study method_grid`, LLMBar", command("study", "method_grid", llmbar).seconds, 6.0),
    ]
    return waits, (
        f"{cores()} such commands at once on LLMBar, each with 1 worker, did "
        f"{cores() * alone / max(together):.2f} times the work of one in the same time: what the "
        "cores of this machine give where nothing is shared."
    )


def _large(folder: Path) -> list[Wait]:
    wide = _written(Votes(str(folder / "wide.parquet"), 30_000, 1_800, votes_per_item=18))
    text = _written(Votes(str(folder / "million.csv"), 1_000_000, 20))
    table = _written(Votes(str(folder / "million.parquet"), 1_000_000, 20))
    waits = []
    for name, file, verb, splits, seconds, gib in (
        ("30,000 x 1,800, 18 votes an item", wide, "curve", 20, 25.0, 2.0),
        ("30,000 x 1,800, 18 votes an item", wide, "recommend", 4, 180.0, 2.0),
        ("1,000,000 x 20", table, "curve", "auto", 25.0, 3.0),
        ("1,000,000 x 20", table, "recommend", "auto", 240.0, 3.0),
    ):
        ran = command(verb, file, "--splits", splits)
        work = f"`{verb}`, {name}, {splits} splits"
        waits += [
            Wait(work, ran.seconds, seconds),
            Wait(f"{work}: peak", ran.peak, gib, "GiB"),
        ]
    return [*waits, Wait("`inspect`, 1,000,000 x 20, CSV", command("inspect", text).seconds, 5.0)]


def _on_dask(folder: Path) -> list[Wait]:
    """Two workers of a cluster on this machine against two processes."""
    votes = real_path("llmbar")
    cluster = DaskCluster(folder, OPENBLAS_NUM_THREADS="1")
    words = ("recommend", votes, "--splits", DASK_SPLITS)
    try:
        cluster.start(workers=2)
        there = command(*words, "--backend", "dask", "--scheduler", cluster.address).seconds
    finally:
        cluster.stop()
    here = command(*words, "--backend", "loky", "--jobs", 2).seconds
    work = f"`recommend`, {DASK_SPLITS} splits, LLMBar: 2 Dask workers over 2 processes"
    return [Wait(work, there / here, 1.15, "times")]


def _against_a_bare_page(folder: Path, rounds: int) -> tuple[list[Wait], str]:
    """Our page over one with an uploader only, served in turn; and the seconds of both."""
    bare = folder / "bare.py"
    bare.write_text(_BARE, "utf-8")
    seconds: dict[Path, list[tuple[float, ...]]] = {bare: [], ROOT / "app.py": []}
    with _chromium() as browser:
        for number in range(rounds):
            for app, visits in seconds.items():
                home = folder / f"{app.stem}-{number}"
                home.mkdir()
                visits.append(_first_visit(browser, home, app))
                say(f"{app.name}: " + ", ".join(f"{took:.2f} s" for took in visits[-1]))
    of_bare, ours = (
        [statistics.median(each) for each in zip(*visits, strict=True)]
        for visits in seconds.values()
    )
    waits = [
        Wait(f"{work}: Start over a bare page", here / there, target, "times")
        for (work, target), here, there in zip(_AGAINST_BARE, ours, of_bare, strict=True)
    ]
    both = (
        f"{work} {here:.2f} s and {there:.2f} s"
        for (work, _), here, there in zip(_AGAINST_BARE, ours, of_bare, strict=True)
    )
    return waits, (
        f"Start and a bare page, medians of {rounds} servers each, in turn: {'; '.join(both)}."
    )


def _first_visit(browser: Browser, home: Path, app: Path) -> tuple[float, float, float]:
    """Seconds until a server is up, until a new visitor has its page, and until it is reloaded."""

    def ready() -> None:
        page.wait_for_function(
            _ARE_SHOWN, arg=["[data-testid=stFileUploader]", "", 1], polling=POLL_MILLISECONDS
        )
        page.wait_for_function(_IS_AT_REST, polling=POLL_MILLISECONDS)

    started = time.perf_counter()
    with serving(home, app, {}) as server:
        up = time.perf_counter() - started
        with browser.new_context(viewport={"width": 1440, "height": 900}) as visitor:
            page = visitor.new_page()
            page.set_default_timeout(PATIENCE)
            opening = time.perf_counter()
            page.goto(server.url)
            ready()
            opened = time.perf_counter()
            page.reload()
            ready()
            return up, opened - opening, time.perf_counter() - opened


@contextmanager
def _chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("JUDGEPANEL_CHROMIUM"), args=CHROMIUM_OPTIONS
        )
        yield browser
        browser.close()


def _in_the_browser(folder: Path, servers: int) -> list[Wait]:
    """Waits on LLMBar of the first visitor of a server."""
    seconds: dict[str, list[float]] = {}
    targets: dict[str, float] = {}
    with _chromium() as browser:
        for number in range(servers):
            home = folder / f"server-{number}"
            home.mkdir()
            with serving(home, ROOT / "app.py", {}) as server:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.set_default_timeout(PATIENCE)
                for work, target, took in _visit(page, server.url):
                    say(f"{work}: {took:.2f} s")
                    targets[work] = target
                    seconds.setdefault(work, []).append(took)
                page.close()
    return [Wait(work, statistics.median(seconds[work]), targets[work]) for work in targets]


def _visit(  # noqa: PLR0915 - the steps of one visit
    page: Page, url: str
) -> list[tuple[str, float, float]]:
    """Open, upload, analyse, and read the first pages: what was waited for, target, seconds."""
    steps: list[tuple[str, float, float]] = []

    def timed(work: str, target: float, wait: Callable[[], object], since: float = 0.0) -> float:
        start = since or time.perf_counter()
        wait()
        steps.append((f"browser: {work}", target, time.perf_counter() - start))
        return start

    def until(selector: str, text: str = "", count: int = 1) -> None:
        page.wait_for_function(_ARE_SHOWN, arg=[selector, text, count], polling=POLL_MILLISECONDS)

    def rest() -> None:
        page.wait_for_function(_IS_AT_REST, polling=10 * POLL_MILLISECONDS)

    def go(name: str) -> None:
        page.get_by_test_id("stSidebar").get_by_role("link", name=name).click()
        until("h1", name)

    def first_page() -> None:
        page.goto(url)
        until("button", "A hard panel")

    def uploaded() -> None:
        upload(page, real_path("llmbar"))
        page.get_by_text("Pairwise: which of two").click()  # The file does not say.
        page.wait_for_function(_CAN_ANALYSE, polling=POLL_MILLISECONDS)

    def overview() -> None:
        page.get_by_role("button", name="Analyse").click()
        until("h1", "Overview")
        until('[data-stale="false"] .jp-answer')

    def decision() -> None:
        until("a", "Download this panel, or choose another")

    def whole() -> None:
        until("summary", "How this was computed")

    def curve() -> None:
        go("Panel curve")
        until("button", "Download CSV")

    def first_words(name: str) -> Callable[[], None]:
        def wait() -> None:
            go(name)
            until('[data-stale="false"] .jp-answer')

        return wait

    def final_panel() -> None:
        until("button", "Download panel.json")

    def all_of(name: str, answers: int) -> Callable[[], None]:
        def wait() -> None:
            go(name)
            until('[data-stale="false"] .jp-answer', "", answers)
            rest()

        return wait

    def judges() -> None:
        go("Judges")
        until("button", "Download CSV")

    timed("first page of a cold server", 2.0, first_page)
    page.wait_for_timeout(1_000.0 * CHOOSING_SECONDS)
    timed("upload, until ready", 1.0, uploaded)
    rest()
    clicked = timed("Analyse, until Overview has its first words", 2.0, overview)
    timed("Analyse, until the final decision", 7.0, decision, clicked)
    timed("Analyse, until all of Overview is there", 8.0, whole, clicked)
    timed("Panel curve", 2.0, curve)
    opened = timed("Recommended panel, first words", 3.0, first_words("Recommended panel"))
    timed("Recommended panel, final", 7.0, final_panel, opened)
    rest()
    timed("Judges", 2.0, judges)
    rest()
    opened = timed("Methods, first answer", 1.0, first_words("Methods"))
    timed("Methods, final", 8.0, rest, opened)
    timed("Label budget, final", 8.0, all_of("Label budget", 1))
    opened = timed("Confidence, first answer", 1.0, first_words("Confidence"))

    def sections() -> None:
        page.goto(page.url + "&selective=true&conformal=true&items=true")
        until("button", "Download CSV", 4)
        rest()

    timed("Confidence, all sections", 15.0, sections, opened)
    return steps


def _written(votes: Votes) -> Path:
    """Write simulated votes in a process of its own, whose memory is not a command's."""
    return Path(measured("benchmarks.waits", job_text(votes)))


def write(votes: Votes) -> str:
    """Write one row per item, or one per vote where few judges vote on each; return the path."""
    path, per_item = Path(votes.path), votes.votes_per_item
    simulated = simulate(
        SimulationSpec(
            n_items=votes.n_items, n_judges=votes.n_judges, votes_per_item=per_item, costs=False
        )
    )
    frame = _by_item(simulated) if per_item is None else _by_vote(simulated)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return votes.path


def _by_vote(votes: VoteMatrix) -> pd.DataFrame:
    rows, judges = np.nonzero(votes.votes >= 0)
    return pd.DataFrame(
        {
            "item": np.array(votes.item_ids)[rows],
            "judge": np.array(votes.judges)[judges],
            "verdict": votes.votes[rows, judges],
            "label": votes.labels[rows],
        }
    )


def _by_item(votes: VoteMatrix) -> pd.DataFrame:
    frame = pd.DataFrame(votes.votes, columns=list(votes.judges))
    frame.insert(0, "label", votes.labels)
    frame.insert(0, "item_id", votes.item_ids)
    return frame


if __name__ == "__main__":
    answer(write(Votes(**json.loads(sys.argv[1]))))
