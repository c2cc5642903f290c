"""judgepanel: which judges to keep, and how sure to be, on a team's own votes."""

__version__ = "0.1.0"

ENGINE = 7
"""Raised whenever golden figures change; stored results of an older engine are marked."""
