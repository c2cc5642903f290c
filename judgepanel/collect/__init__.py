"""Collecting votes: judges are asked about pairs, and finished calls go into a journal."""

from judgepanel.collect.judges import (
    SECONDS_A_CALL,
    Estimate,
    Judge,
    Pairs,
    Plan,
    dollars,
    estimate,
    read_judges,
    read_pairs,
)
from judgepanel.collect.runner import Journal, Outcome, collect, finished, judge_rows, votes_of

__all__ = [
    "SECONDS_A_CALL",
    "Estimate",
    "Journal",
    "Judge",
    "Outcome",
    "Pairs",
    "Plan",
    "collect",
    "dollars",
    "estimate",
    "finished",
    "judge_rows",
    "read_judges",
    "read_pairs",
    "votes_of",
]
