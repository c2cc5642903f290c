"""User input: the vote matrix, its readers, orientation, checks and the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgepanel import lazy_names

if TYPE_CHECKING:
    from judgepanel.votes.companions import write_votes as write_votes
    from judgepanel.votes.errors import InputError as InputError
    from judgepanel.votes.load import Loaded as Loaded
    from judgepanel.votes.load import load_votes as load_votes
    from judgepanel.votes.matrix import MISSING as MISSING
    from judgepanel.votes.matrix import TASKS as TASKS
    from judgepanel.votes.matrix import Task as Task
    from judgepanel.votes.matrix import VoteMatrix as VoteMatrix

_NAMES = {
    "errors": ("InputError",),
    "load": ("Loaded", "load_votes"),
    "matrix": ("MISSING", "TASKS", "Task", "VoteMatrix"),
    "companions": ("write_votes",),
}
__all__ = [name for names in _NAMES.values() for name in names]
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
