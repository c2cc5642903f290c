"""Collecting votes: judges are asked about pairs, and finished calls go into a journal."""

from judgepanel.collect.judges import SECONDS_A_CALL as SECONDS_A_CALL
from judgepanel.collect.judges import Estimate as Estimate
from judgepanel.collect.judges import Judge as Judge
from judgepanel.collect.judges import Pairs as Pairs
from judgepanel.collect.judges import Plan as Plan
from judgepanel.collect.judges import dollars as dollars
from judgepanel.collect.judges import estimate as estimate
from judgepanel.collect.judges import read_judges as read_judges
from judgepanel.collect.judges import read_pairs as read_pairs
from judgepanel.collect.runner import Journal as Journal
from judgepanel.collect.runner import Outcome as Outcome
from judgepanel.collect.runner import collect as collect
from judgepanel.collect.runner import finished as finished
from judgepanel.collect.runner import judge_rows as judge_rows
from judgepanel.collect.runner import votes_of as votes_of
