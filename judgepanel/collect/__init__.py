"""Collecting votes: judges are asked about pairs, and finished calls go into a journal."""

from judgepanel.collect.estimate import SECONDS_A_CALL, Estimate, dollars, estimate
from judgepanel.collect.journal import Journal
from judgepanel.collect.judges import Judge, Plan, read_judges
from judgepanel.collect.pairs import Pairs, read_pairs
from judgepanel.collect.results import judge_rows, votes_of
from judgepanel.collect.runner import Outcome, collect, finished

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
