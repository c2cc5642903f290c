"""Seconds and memory of an estimate, and of drawing items to label, each in its own process."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from benchmarks.process import GIB, answer, measured, peak_bytes
from benchmarks.real import real_votes
from benchmarks.report import Table, say
from judgepanel.studies.decide.estimate import ESTIMATE, EstimateSpec, items_to_label
from judgepanel.studies.runner import run
from judgepanel.votes import MISSING, VoteMatrix

N_ITEMS, N_JUDGES, N_SYSTEMS, N_LABELS = 100_000, 30, 10, 2_000
N_DRAWN = 1_000


@dataclass(frozen=True, slots=True)
class Target:
    """What is measured on which votes, and what is wanted: seconds, and peak memory in GiB."""

    what: str
    seconds: float
    gib: float = np.inf


TARGETS = {
    "llmbar": Target("LLMBar by subset", 3.0),
    "large": Target(
        f"{N_ITEMS:,} items x {N_JUDGES} judges x {N_SYSTEMS} systems, {N_LABELS:,} labels",
        *(30.0, 2.0),
    ),
}
DRAWING = 2.0
"""Seconds wanted for drawing from the large votes."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the estimate, of drawing items to label, and peak memory in GiB."""

    estimate: float
    drawing: float
    gib: float


def large() -> VoteMatrix:
    """Votes of judges who are right in 60 to 90 %, about systems of rising quality."""
    rng = np.random.default_rng(0)
    system = rng.integers(0, N_SYSTEMS, N_ITEMS)
    truth = (rng.random(N_ITEMS) < 0.5 + 0.03 * system).astype(np.int8)
    right = rng.random((N_ITEMS, N_JUDGES)) < np.linspace(0.6, 0.9, N_JUDGES)
    shown = rng.permutation(N_ITEMS) < N_LABELS
    return VoteMatrix(
        votes=np.where(right, truth[:, None], 1 - truth[:, None]).astype(np.int8),
        labels=np.where(shown, truth, MISSING).astype(np.int8),
        item_ids=tuple(map(str, range(N_ITEMS))),
        judges=tuple(f"judge {number}" for number in range(N_JUDGES)),
        task="pointwise",
        features=pd.DataFrame({"system": [f"system {code}" for code in system]}),
    )


def here(name: str) -> Cost:
    """Measure in this process."""
    is_large = name == "large"
    votes = large() if is_large else real_votes(name)
    spec = EstimateSpec(by="system" if is_large else "subset")
    times = [time.perf_counter()]
    result = run(ESTIMATE, votes, spec, jobs=1)
    times.append(time.perf_counter())
    if is_large:
        items_to_label(votes, spec, result, N_DRAWN)
    times.append(time.perf_counter())
    return Cost(*np.diff(times).tolist(), peak_bytes() / GIB)


def speed_table() -> tuple[Table, list[str]]:
    """What estimates cost, and whether that is as wanted."""
    rows, slow = [], []
    for name, target in TARGETS.items():
        cost = Cost(**measured("benchmarks.estimate_speed", name))
        say(f"{name}: {asdict(cost)}")
        is_large = name == "large"
        drawing = f"{cost.drawing:.2f}" if is_large else ""
        rows.append((target.what, f"{cost.estimate:.1f}", drawing, f"{cost.gib:.2f}"))
        if cost.estimate > target.seconds or cost.gib > target.gib or cost.drawing > DRAWING:
            slow.append(target.what)
    wanted = "; ".join(
        f"{target.what} {target.seconds:g} s"
        + (f" and {target.gib:g} GiB" if np.isfinite(target.gib) else "")
        for target in TARGETS.values()
    )
    return (
        Table(
            "Time and memory",
            ("votes", "estimate, s", f"drawing {N_DRAWN:,} items, s", "peak memory, GiB"),
            rows,
            f"One process. Wanted at most: {wanted}; drawing {DRAWING:g} s.",
        ),
        [f"Time and memory: {'met' if not slow else 'MISSED by ' + ', '.join(slow)}."],
    )


if __name__ == "__main__":
    answer(here(sys.argv[1]))
