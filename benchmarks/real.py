"""Real vote matrices, from a folder that the user names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from judgepanel.votes import VoteMatrix
from judgepanel.votes.load import load_votes

FOLDER = "JUDGEPANEL_REAL_VOTES"


def real_path(name: str) -> Path:
    """The file `NAME_votes.csv`; exits with one sentence if it is not available."""
    folder = os.environ.get(FOLDER)
    if not folder:
        sys.exit(f"Set {FOLDER} to the folder of real vote matrices: this bench runs on them.")
    path = Path(folder) / f"{name}_votes.csv"
    if not path.is_file():
        sys.exit(f"The folder that {FOLDER} names holds no {path.name}: this bench runs on it.")
    return path


def real_votes(name: str) -> VoteMatrix:
    return load_votes(real_path(name)).votes
