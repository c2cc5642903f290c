"""Reading large files: until the columns can be shown, and until votes can be analysed.

A preview is what Start asks for: a process of its own reads the file, guesses every column's role,
and builds and checks the votes. Loading reads it in this process, as the library and the command
line do.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from benchmarks.process import MIB, answer, job_text, measured, peak_bytes
from benchmarks.report import Report, Table, cores, say
from judgepanel.intake.answer import Ask
from judgepanel.intake.process import read_apart
from judgepanel.votes.load import load_votes

ROUNDS = 3
PREVIEW_SECONDS, PREVIEW_MIB, LONG_SECONDS = 3.0, 1024.0, 15.0
_JUDGES = 136
_RATERS = [a + b for a in "abcdefghijklmnop" for b in "0123456789"]
_WORDS = np.array([f"word{number} " for number in range(1000)])


@dataclass(frozen=True, slots=True)
class Job:
    """Read ``file``: only as far as its columns are shown (``preview``), or whole."""

    file: str
    preview: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall-clock and CPU seconds, peak memory (MiB) here and in the process that read."""

    seconds: float
    cpu: float
    peak: float
    reader: float
    shape: tuple[int, int]


def here(job: Job) -> Cost:
    """Run a job in this process."""
    path = Path(job.file)
    data = path.read_bytes() if job.preview else b""
    started, cpu = time.perf_counter(), _cpu()
    if job.preview:
        preview = read_apart(Ask(path.name, len(data), need_labels=False), data).preview
        shape = (0, 0) if preview is None else (preview.n_rows, preview.n_columns)
    else:
        votes = load_votes(path, task="pairwise").votes
        shape = (votes.n_items, votes.n_judges)
    seconds, used = time.perf_counter() - started, _cpu() - cpu
    reader = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Cost(seconds, used, peak_bytes() / MIB, reader, shape)


def _cpu() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def run(megabytes: int = 200, rows: int = 16_000_000, rounds: int = ROUNDS) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("votes.csv", "texts.csv", "long.csv")]
        for path, write, size in zip(
            files,
            (_votes, _texts, _long),
            (megabytes * 10**6, megabytes * 7 * 10**5, rows),
            strict=True,
        ):
            say(f"writing {path.name}")
            with path.open("wb") as file:
                write(file, size)
        costs = [
            _median(Job(str(path), preview), rounds)
            for path, preview in zip(files, (True, True, False), strict=True)
        ]
        sizes = [path.stat().st_size / 1e6 for path in files]
    what = ("preview, all votes", "preview, mostly texts", "load, one row per vote")
    lines = [
        _line(f"Preview of {sizes[0]:.0f} MB of votes", costs[0], PREVIEW_SECONDS),
        f"Memory of a preview: {max(costs[0].peak, costs[0].reader):.0f} MiB (at most "
        f"{PREVIEW_MIB:.0f}: {_met(max(costs[0].peak, costs[0].reader) <= PREVIEW_MIB)}).",
        _line(f"Loading {rows:,} rows of one vote", costs[2], LONG_SECONDS),
    ]
    table = Table(
        "Time and memory",
        ("file", "MB", "rows x columns", "seconds", "CPU seconds", "MiB, reader", "MiB, here"),
        [
            (
                name,
                f"{size:.0f}",
                f"{cost.shape[0]:,} x {cost.shape[1]:,}",
                f"{cost.seconds:.1f}",
                f"{cost.cpu:.1f}",
                f"{cost.reader:.0f}" if cost.reader else "",
                f"{cost.peak:.0f}",
            )
            for name, size, cost in zip(what, sizes, costs, strict=True)
        ],
        f"Medians of {rounds}, each in a new process; start-up and reading the disk are not "
        "counted, starting the reader is. A loaded file counts items x judges. Mean load of the "
        f"machine over the last 5 minutes: {os.getloadavg()[1]:.0f} on {cores()} cores; where it "
        "is above the number of cores, only CPU seconds can be compared.",
    )
    title, question = "Reading large files", "How long until a large upload can be looked at?"
    return Report(title, question, [table], lines)


def _line(what: str, cost: Cost, target: float) -> str:
    met = _met(cost.seconds <= target)
    return f"{what}: {cost.seconds:.1f} s, CPU {cost.cpu:.1f} s (at most {target:.0f} s: {met})."


def _met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def _median(job: Job, rounds: int) -> Cost:
    costs = [Cost(**measured("benchmarks.reading", job_text(job))) for _ in range(rounds)]
    for cost in costs:
        say(f"{Path(job.file).name}: {cost.seconds:.1f} s, CPU {cost.cpu:.1f} s")
    return sorted(costs, key=lambda cost: cost.seconds)[len(costs) // 2]


def _votes(file: BinaryIO, size: int) -> None:
    """One row per item, a column per judge."""
    rng = np.random.default_rng(0)
    names = ",".join(f"judge{number:03d}" for number in range(_JUDGES))
    file.write(f"item_id,label,{names}\n".encode())
    block, item = np.full((10_000, 2 * _JUDGES), ord(","), np.uint8), 0
    block[:, -1] = ord("\n")
    while file.tell() < size:
        block[:, ::2] = ord("0") + rng.integers(0, 2, (len(block), _JUDGES))
        labels = rng.integers(0, 2, len(block)).tolist()
        heads = (b"%d,%d," % (item + row, label) for row, label in enumerate(labels))
        file.write(b"".join(map(bytes.__add__, heads, map(bytes, block))))
        item += len(block)


def _texts(file: BinaryIO, size: int) -> None:
    """One row per item with a text of about a thousand characters, and twenty judges."""
    rng = np.random.default_rng(1)
    file.write(f"item_id,label,prompt,{','.join(f'judge{n}' for n in range(20))}\n".encode())
    item = 0
    while file.tell() < size:
        text = "".join(rng.choice(_WORDS, 140))
        votes = ",".join(map(str, rng.integers(0, 2, 20)))
        file.write(f'{item},{item % 2},"{text}",{votes}\n'.encode())
        item += 1


def _long(file: BinaryIO, rows: int) -> None:
    """One row per vote."""
    rng = np.random.default_rng(2)
    file.write(b"item,judge,verdict,label\n")
    for item in range(rows // len(_RATERS)):
        votes = rng.integers(0, 2, len(_RATERS)).tolist()
        lines = [f"{item},{j},{v},{item % 2}\n" for j, v in zip(_RATERS, votes, strict=True)]
        file.write("".join(lines).encode())


if __name__ == "__main__":
    answer(here(Job(**json.loads(sys.argv[1]))))
