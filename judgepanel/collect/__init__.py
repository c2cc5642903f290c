"""Collecting votes: judges are asked about pairs, and finished calls go into a journal."""

from judgepanel.collect.judges import Judge, Plan, read_judges
from judgepanel.collect.pairs import SECONDS_A_CALL, Estimate, Pairs, dollars, estimate, read_pairs
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
