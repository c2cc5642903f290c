"""What users bring: the vote matrix, its readers, orientation, checks and the simulator."""

from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.cells import csv_safe
from judgepanel.votes.columns import Mapping, guess_mapping
from judgepanel.votes.errors import InputError
from judgepanel.votes.files import RawTable, read_table
from judgepanel.votes.limits import MAX_UPLOAD_MB
from judgepanel.votes.load import load_votes, open_table
from judgepanel.votes.matrix import MISSING, TASKS, Task, VoteMatrix
from judgepanel.votes.write import write_judges, write_votes

__all__ = [
    "MAX_UPLOAD_MB",
    "MISSING",
    "TASKS",
    "InputError",
    "Loaded",
    "Mapping",
    "RawTable",
    "Task",
    "VoteMatrix",
    "build_votes",
    "csv_safe",
    "guess_mapping",
    "load_votes",
    "open_table",
    "read_table",
    "write_judges",
    "write_votes",
]
