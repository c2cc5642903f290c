"""Every reader of untrusted bytes, fuzzed for longer than tests do."""

from __future__ import annotations

import os
import time

from hypothesis import HealthCheck, given, settings

from benchmarks.report import Report, Table, say
from tests.hostile.targets import TARGETS, Target, mutated, refused_in_one_line

SECONDS = float(os.environ.get("JUDGEPANEL_FUZZ_SECONDS", "30"))
"""For each reader; hypothesis ends a round of its own accord, and another one follows."""
ROUND = 500


def run() -> Report:
    """The bench; the first fault ends it with the input that causes it."""
    rows = []
    for name, target in TARGETS.items():
        say(f"{name}, for {SECONDS:.0f} s")
        rows.append((name, f"{_tries(target):,}", "0"))
    return Report(
        title="Fuzzing the readers",
        question="Does any input make a reader fail other than by a refusal in one line?",
        tables=(Table("Readers", ("reader", "inputs", "faults"), rows),),
    )


def _tries(target: Target) -> int:
    tries = 0

    @settings(max_examples=ROUND, database=None, suppress_health_check=list(HealthCheck))
    @given(mutated(target.seeds))
    def fuzz(data: bytes) -> None:
        nonlocal tries
        tries += 1
        refused_in_one_line(target, data)

    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        fuzz()
    return tries
