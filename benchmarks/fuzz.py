"""Every reader of untrusted bytes, fuzzed for longer than in the tests."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings

from benchmarks.report import Report, Table, say
from tests.hostile.targets import TARGETS, Target, is_read, mutated

SECONDS = float(os.environ.get("JUDGEPANEL_FUZZ_SECONDS", "30"))
"""For each reader, in rounds with different inputs."""
ROUND = 500


@dataclass(slots=True)
class Tried:
    """Inputs given to a reader: their number, hashes of distinct ones, number refused."""

    total: int = 0
    inputs: set[int] = field(default_factory=set)
    refused: int = 0


def run() -> Report:
    """Run the benchmark; the first fault ends it with the input that caused it."""
    rows = []
    for name, target in TARGETS.items():
        say(f"{name}, for {SECONDS:.0f} s")
        tried = _tried(target)
        rows.append((name, f"{tried.total:,}", f"{len(tried.inputs):,}", f"{tried.refused:,}", "0"))
    headings = ("reader", "inputs", "different", "refused", "faults")
    return Report(
        title="Fuzzing the readers",
        question="Does any input make a reader fail other than by a refusal in one line?",
        tables=(Table("Readers", headings, rows, f"{SECONDS:.0f} s for each reader."),),
    )


def _tried(target: Target) -> Tried:
    tried = Tried()

    # With the CI profile hypothesis would draw the same inputs in every round.
    @settings(
        max_examples=ROUND,
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(mutated(target.seeds))
    def fuzz(data: bytes) -> None:
        tried.total += 1
        tried.inputs.add(hash(data))
        tried.refused += not is_read(target, data)

    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        fuzz()
    return tried
