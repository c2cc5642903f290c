"""What users bring: the vote matrix, its readers, orientation, checks and the simulator."""

from judgepanel.votes.errors import InputError
from judgepanel.votes.matrix import MISSING, TASKS, Task, VoteMatrix

__all__ = ["MISSING", "TASKS", "InputError", "Task", "VoteMatrix"]
