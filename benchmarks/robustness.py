"""Guarantees of the Robustness studies, by simulation."""

from __future__ import annotations

from benchmarks import robustness_transfer
from benchmarks.report import Report


def run() -> Report:
    """Permuted labels, transfer between kinds of items, importance weights."""
    return Report(
        title="Robustness",
        question="Do the robustness studies hold the levels they state, and find what is there?",
        tables=robustness_transfer.tables(),
    )
