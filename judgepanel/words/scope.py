"""The outcome of a check, and its counts, in words."""

from __future__ import annotations

from judgepanel.votes.checks import Check

CHECK_MARKS = {
    "pass": "passes",
    "review": "look",
    "fail": "fails",
    "not applicable": "does not apply",
}
"""Outcomes of checks, following 'P0 Item order:'."""


def check_sentences(check: Check) -> str:
    """Return a check's outcome, the reason, and what to do."""
    return f"{check.title}: {CHECK_MARKS[check.outcome]}. {check.why} {check.advice}"


def check_numbers(check: Check) -> str:
    """Return the counts of a check."""
    return "; ".join(
        f"{name}: {f'{value:,}' if isinstance(value, int) else value}"
        for name, value in check.numbers.items()
    )
